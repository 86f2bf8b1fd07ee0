"""Decides what follows an iteration. Pure: each scenario of the specification is one row of a table test."""

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import IntEnum, StrEnum

import msgspec

from spool.domain.agent.stream import Usage
from spool.domain.judging.gates.gate import GateResult, PersonNeeded, Proof, refusal
from spool.domain.judging.promise import PromiseKind
from spool.domain.loop.budget import Budgets, Exceeded, Limit, exceeded
from spool.domain.loop.outcome import Outcome, OutcomeKind, Refusal
from spool.domain.loop.pacing import error_pause_s, rate_limit_wait_s
from spool.domain.text.plain_text import counted, quoted, with_reason
from spool.errors import Hint


class Status(StrEnum):
    """The status of a loop."""

    RUNNING = "running"
    DONE = "done"
    STUCK = "stuck"
    STOPPED = "stopped"


class ExitCode(IntEnum):
    """The exit codes of the commands."""

    COMPLETE = 0
    FAILED = 1
    USAGE = 2
    EXHAUSTED = 3
    STUCK = 4
    UNCOMMITTED = 5
    NEEDS_YOU = 6
    """Only a person can decide what is left."""
    POSTPONED = 75
    """Try again later, here or elsewhere: `EX_TEMPFAIL`."""
    INTERRUPTED = 130


_ENDS: dict[int, str] = {ExitCode.FAILED: "failed", ExitCode.EXHAUSTED: "unfinished", ExitCode.NEEDS_YOU: "needs you"}


def end_word(status: Status, exit_code: int | None) -> str:
    """Return the word for a status; a stuck loop whose exit code is not that of stuck is named by it."""
    return _ENDS.get(exit_code or 0, str(status)) if status is Status.STUCK else str(status)


class Limits(Budgets, frozen=True, kw_only=True):
    """The limits at which a loop ends unfinished. Iterations and errors count per run, budgets per loop."""

    min_iterations: int = 1
    max_iterations: int | None = 50
    error_threshold: int = 10
    error_pause_s: float = 1.0
    rate_limit_pause_s: float = 30.0
    """The first wait for a rate limit without a known end; it doubles each time. 0 ends the loop instead."""
    fail_fast: bool = False
    ends_hopeless: bool = True
    """Whether an error that only a person can mend ends the loop at once."""
    stall: int = 0
    """Consecutive iterations without progress; 0 disables this limit."""


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of this run, including the iteration that just ended."""

    run_iterations: int
    errors_in_row: int = 0
    waits_in_row: int = 0


class Continue(msgspec.Struct, frozen=True):
    """Continue with the next iteration, after a pause."""

    pause_s: float = 0.0


class Wait(msgspec.Struct, frozen=True):
    """Wait for a rate limit; the iteration does not count."""

    seconds: float
    reason: str


class Finish(msgspec.Struct, frozen=True):
    """End the loop."""

    status: Status
    reason: str
    """The cause, in the agent's or the gate's words, if there is one."""
    exit_code: ExitCode
    limit: Limit | None = None
    """The limit that ended it, if raising it lets the loop continue."""
    hint: str = ""
    """The next step: a value of `errors.Hint`, or text."""
    retry_at: datetime | None = None
    """When to start the loop again, if it ends only because it waits elsewhere for a rate limit."""
    bound: str = ""
    """Why the loop does not try again, if the reason is that of its last attempt."""

    def said(self, story_id: str = "") -> str:
        """Return the whole reason: the story that it concerns, the cause, and why there is no other attempt."""
        story = f"story {story_id}: " if story_id and self.bound else ""
        return f"{story}{self.reason}{f'; {self.bound}' if self.bound else ''}"


def postponed(reason: str, retry_at: datetime) -> Finish:
    """Return the end of a loop that is to be started again later."""
    return Finish(Status.STOPPED, reason, ExitCode.POSTPONED, retry_at=retry_at)


def with_failed_commits(finish: Finish, failed: int) -> Finish:
    """Return the end of a loop that is done but could not commit all of its work."""
    if finish.status is not Status.DONE or not failed:
        return finish
    reason = f"{finish.reason}, but {counted(failed, 'commit')} failed"
    return Finish(finish.status, reason, ExitCode.UNCOMMITTED)


def undelivered(finish: Finish) -> Finish:
    """Return the end of a loop whose work did not reach its branch."""
    if finish.status is not Status.DONE:
        return finish
    also = "and" if finish.exit_code is ExitCode.UNCOMMITTED else "but"
    return Finish(finish.status, f"{finish.reason}, {also} its branch was not updated", ExitCode.UNCOMMITTED)


class NextStory(msgspec.Struct, frozen=True):
    """Drop the checkpoint of a finished story and continue with the next."""


class Retry(msgspec.Struct, frozen=True):
    """Retry the story, from its checkpoint or, with `keep`, from the tree as it is."""

    because: str
    own_words: str = ""
    refusal: str = ""
    keep: bool = False
    retry: int = 1
    max_retries: int = 0


Verdict = Continue | Wait | Finish | NextStory | Retry
UNSEEN = (OutcomeKind.INTERRUPTED, OutcomeKind.RATE_LIMITED)
"""Outcomes that are not checked, because the agent could not do its work."""


def advance(tally: Tally, outcome: Outcome) -> Tally:
    """Count an iteration that just ended. A rate limit counts as none and does not reset the errors."""
    if outcome.kind is OutcomeKind.RATE_LIMITED:
        return msgspec.structs.replace(tally, waits_in_row=tally.waits_in_row + 1)
    errors = tally.errors_in_row + 1 if outcome.is_error else 0
    return Tally(run_iterations=tally.run_iterations + 1, errors_in_row=errors)


def judge_prompt(
    outcome: Outcome,
    tally: Tally,
    limits: Limits,
    *,
    refused: GateResult | None = None,
    used: Usage = Usage(),  # noqa: B008 - a frozen value
    done: str,
    certain: bool = False,
    idle: int,
    now: float,
    jitter: Callable[[], float],
) -> Verdict:
    """Decide what follows an iteration of `spool ralph` or `wt-loop`.

    `refused` is the gate that rejected its claim, and `used` the usage of the whole loop. `done` is the reason why the
    work is done, or empty; `certain` means that a criterion says so, whatever became of the agent; `idle` counts
    consecutive iterations without progress.
    """
    if outcome.kind is OutcomeKind.INTERRUPTED:
        return Finish(Status.STOPPED, outcome.reason, ExitCode.INTERRUPTED)
    if outcome.kind is OutcomeKind.RATE_LIMITED:
        return _wait(outcome, tally, limits, now=now, jitter=jitter)
    finished = Finish(Status.DONE, done, ExitCode.COMPLETE)
    if done and certain:
        return finished
    if outcome.exceeded is not None:
        return out_of_budget(outcome.exceeded)
    if limits.fail_fast and (outcome.is_error or outcome.exit_code not in (0, None)):
        return Finish(Status.STUCK, f"fail-fast: {_words(outcome)}", ExitCode.FAILED)
    if done and tally.run_iterations >= limits.min_iterations:
        return finished
    if outcome.hopeless and limits.ends_hopeless:
        return _hopeless(outcome)
    if limits.error_threshold and tally.errors_in_row >= limits.error_threshold:
        bound = f"{counted(tally.errors_in_row, 'failed iteration')} in a row"
        return Finish(Status.STUCK, _words(outcome), ExitCode.STUCK, bound=bound)
    if limits.max_iterations is not None and tally.run_iterations >= limits.max_iterations:
        bound = f"the limit of {counted(limits.max_iterations, 'iteration')} is reached"
        finish = Finish(Status.STUCK, bound, ExitCode.EXHAUSTED, hint=refused.hint if refused else "")
        return _caused_by(refused, finish)
    if spent := exceeded(limits, used):
        return out_of_budget(spent)
    if limits.stall and idle >= limits.stall and tally.run_iterations >= limits.min_iterations:
        reason = f"no progress in {counted(idle, 'iteration')} in a row"
        return _caused_by(refused, Finish(Status.STUCK, reason, ExitCode.STUCK, Limit.STALL))
    return Continue(error_pause_s(tally.errors_in_row, base_s=limits.error_pause_s))


def judge_story(
    outcome: Outcome,
    tally: Tally,
    limits: Limits,
    *,
    retries: int,
    max_retries: int,
    refused: GateResult | None,
    now: float,
    jitter: Callable[[], float],
) -> Verdict:
    """Decide what follows an attempt at a story of `spool run`; `refused` is the gate that rejected its COMPLETE."""
    if outcome.kind is OutcomeKind.INTERRUPTED:
        return Finish(Status.STOPPED, outcome.reason, ExitCode.INTERRUPTED)
    if outcome.kind is OutcomeKind.RATE_LIMITED:
        return _wait(outcome, tally, limits, now=now, jitter=jitter)
    if outcome.exceeded is not None:  # the attempt stays in the tree, and counts as none
        return out_of_budget(outcome.exceeded)
    claimed = outcome.kind is OutcomeKind.COMPLETED
    if claimed and refused is None:
        return NextStory()
    if outcome.hopeless and limits.ends_hopeless:
        return _hopeless(outcome)
    because = f"said COMPLETE, but {refused.name}: {refused.why}" if claimed and refused else _words(outcome)
    if retries >= max_retries:
        limit = counted(max_retries, "retry", "retries")
        bound = f"the limit of {limit} is reached, the last attempt was number {retries + 1}"
        hint = refused.hint if claimed and refused else ""
        return Finish(Status.STUCK, because, ExitCode.FAILED, hint=hint, bound=bound)
    retry = Retry(because, retry=retries + 1, max_retries=max_retries)
    if claimed and refused:
        return msgspec.structs.replace(retry, refusal=refused.tell_agent, keep=True)
    # Pass on only the agent's own words; retry a crash or silence without additional context.
    if outcome.kind is OutcomeKind.FAILED:
        return msgspec.structs.replace(retry, own_words=outcome.reason)
    if outcome.refused is None:
        return retry
    if outcome.refused.claim is PromiseKind.FAILED:
        return msgspec.structs.replace(retry, own_words=outcome.refused.quote)
    return msgspec.structs.replace(retry, refusal=refusal_words(outcome.refused), keep=True)


def _caused_by(refused: GateResult | None, finish: Finish) -> Finish:
    """Return the end of a loop with the gate that refused its last claim, if one did, as the cause."""
    if refused is None:
        return finish
    return msgspec.structs.replace(finish, reason=f"{refused.name}: {refused.why}", bound=finish.reason)


def unverifiable(proof: Proof | None, gates: Sequence[GateResult], times: int) -> Finish | None:
    """End the loop at the second claim in a row that cannot be checked."""
    if proof is not Proof.UNVERIFIABLE or times < 2:
        return None
    refused = refusal(gates)
    why = f"{refused.name}: {refused.why}" if refused else "a gate cannot be started"
    return Finish(Status.STUCK, f"the work cannot be verified: {why}", ExitCode.STUCK)


def needs_person(gates: Sequence[GateResult], times: int) -> Finish | None:
    """End the loop at the second claim in a row whose only objection is for a person to decide."""
    refused = refusal(gates)
    if refused is None or refused.needs is None or times < 2:
        return None
    hint = Hint.ACCEPT if refused.needs is PersonNeeded.REWRITTEN else Hint.ACCEPT_OR_KNOWN
    return Finish(Status.STUCK, f"needs you: {refused.name}: {refused.why}", ExitCode.NEEDS_YOU, hint=hint)


def refusal_words(refused: Refusal) -> str:
    """Return the refusal for the agent; the prompt says how to write a promise."""
    return f"Your last message held this, and it did not count as a promise ({refused.why}):\n\n{quoted(refused.quote)}"


def out_of_budget(spent: Exceeded) -> Finish:
    """Return the end of a loop whose budget is used up."""
    return Finish(Status.STUCK, spent.reason, ExitCode.STUCK, spent.limit)


def _wait(outcome: Outcome, tally: Tally, limits: Limits, *, now: float, jitter: Callable[[], float]) -> Wait | Finish:
    if not limits.rate_limit_pause_s:
        return Finish(Status.STUCK, f"rate limited: {outcome.reason}", ExitCode.STUCK)
    seconds = rate_limit_wait_s(
        tally.waits_in_row - 1,
        now=now,
        retry_after_s=outcome.retry_after_s,
        resets_at=outcome.resets_at,
        jitter=jitter,
        base_s=limits.rate_limit_pause_s,
    )
    return Wait(seconds, outcome.reason)


def _hopeless(outcome: Outcome) -> Finish:
    return Finish(Status.STUCK, _words(outcome), ExitCode.STUCK, hint=outcome.note or Hint.RUN_AGENT)


def _words(outcome: Outcome) -> str:
    text = with_reason(outcome.kind, outcome.reason)
    return text if outcome.is_error or outcome.exit_code in (0, None) else f"{text} (exit code {outcome.exit_code})"
