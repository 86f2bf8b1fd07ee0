"""Classifies the facts of an iteration into one outcome."""

from enum import StrEnum

import msgspec

from spool.domain.agent.stream import ErrorKind, Failure, Usage
from spool.domain.judging.promise import PromiseKind, PromiseReading
from spool.domain.loop.budget import Exceeded
from spool.domain.text.plain_text import one_line
from spool.domain.text.sizes import sized
from spool.errors import Hint


class OutcomeKind(StrEnum):
    """The ways in which an iteration can end."""

    COMPLETED = "completed"
    FAILED = "failed"
    NO_PROMISE = "no promise"
    HARNESS_ERROR = "harness error"
    TIMEOUT = "timeout"
    IDLE = "idle"
    RATE_LIMITED = "rate limited"
    PERMISSION_DENIED = "permission denied"
    INTERRUPTED = "interrupted"
    OUTPUT_LIMIT = "output limit"
    MEMORY_LIMIT = "memory limit"
    OVER_BUDGET = "over budget"


class StopCause(StrEnum):
    """Why the runner stopped the agent."""

    PERSON = "person"
    WALL = "wall"
    IDLE = "idle"
    OUTPUT = "output"
    MEMORY = "memory"
    PROMISED = "promised"
    BUDGET = "budget"


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """The engine's observations of one iteration."""

    exit_code: int | None
    reading: PromiseReading = PromiseReading()
    stopped: StopCause | None = None
    stopped_by: str = ""
    """The source of a person's request."""
    memory_limit: int = 0
    exceeded: Exceeded | None = None
    """The budget that was used up while the agent ran, if it was stopped for that."""
    failure: Failure | None = None
    rate_limited_retry_s: float | None = None
    """Set if the agent was waiting for a rate limit when it ended."""
    denied: tuple[str, ...] = ()
    allow_all: bool = False
    """Whether all tools were allowed, as far as that is ours to say."""
    changed_files: int | None = None
    usage: Usage = Usage()
    session: str = ""
    stderr_tail: str = ""
    duration_s: float = 0.0
    left: tuple[int, ...] = ()
    """The leftover processes that cannot be ended."""


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """A promise in the agent's last message that did not count."""

    claim: PromiseKind
    quote: str
    why: str


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The kind of an iteration's end, and the reason."""

    kind: OutcomeKind
    reason: str = ""
    exit_code: int | None = None
    retry_after_s: float | None = None
    resets_at: float | None = None
    note: str = ""
    refused: Refusal | None = None
    hopeless: bool = False
    """Whether only a person can mend it: the next iteration would end the same."""
    exceeded: Exceeded | None = None

    @property
    def is_error(self) -> bool:
        """Whether this counts towards the error threshold: the agent could not do its work."""
        return self.kind in _ERRORS


_ERRORS = {
    OutcomeKind.HARNESS_ERROR,
    OutcomeKind.TIMEOUT,
    OutcomeKind.IDLE,
    OutcomeKind.PERMISSION_DENIED,
    OutcomeKind.OUTPUT_LIMIT,
    OutcomeKind.MEMORY_LIMIT,
}

_STOPPED = {
    StopCause.PERSON: (OutcomeKind.INTERRUPTED, "stopped on request"),
    StopCause.WALL: (OutcomeKind.TIMEOUT, "ran longer than iteration_timeout"),
    StopCause.IDLE: (OutcomeKind.IDLE, "no output within idle_timeout"),
    StopCause.OUTPUT: (OutcomeKind.OUTPUT_LIMIT, "printed more than output_limit_mb"),
    StopCause.MEMORY: (OutcomeKind.MEMORY_LIMIT, "used more than the memory limit"),
}


def classify(facts: Facts) -> Outcome:
    """Return the outcome of the facts. The exit code is least reliable, so it is checked last."""
    if facts.exceeded is not None:
        return Outcome(
            kind=OutcomeKind.OVER_BUDGET,
            reason=facts.exceeded.reason,
            exit_code=facts.exit_code,
            exceeded=facts.exceeded,
        )
    if facts.stopped in (StopCause.WALL, StopCause.IDLE) and facts.rate_limited_retry_s is not None:
        waited = Failure(message="was still waiting for a rate limit", retry_after_s=facts.rate_limited_retry_s)
        return _rate_limited(facts, waited)
    if facts.stopped in _STOPPED:
        kind, reason = _STOPPED[facts.stopped]
        if facts.stopped is StopCause.PERSON and facts.stopped_by:
            reason = stopped_words(facts.stopped_by)
        if facts.stopped is StopCause.MEMORY:
            reason = f"used more than {sized(facts.memory_limit)} of memory"
        return Outcome(kind=kind, reason=reason, exit_code=facts.exit_code)
    if facts.failure is not None and facts.failure.error is ErrorKind.RATE_LIMIT:
        return _rate_limited(facts, facts.failure)
    if facts.denied and not facts.changed_files:
        return Outcome(
            kind=OutcomeKind.PERMISSION_DENIED,
            reason=f"was denied {_listed(facts.denied)}",
            exit_code=facts.exit_code,
            note=Hint.ALLOW_ALL,
            hopeless=not facts.allow_all,
        )
    if facts.failure is not None:
        return Outcome(
            kind=OutcomeKind.HARNESS_ERROR,
            reason=one_line(facts.failure.message, 400),
            exit_code=facts.exit_code,
            note=facts.failure.hint,
            hopeless=facts.failure.error in (ErrorKind.AUTH, ErrorKind.CONFIG),
        )
    return _judge_promise(facts)


def stopped_words(by: str) -> str:
    """Describe a stop: `stopped with q`, `stopped by Ctrl-C`."""
    return f"stopped with {by}" if by == "q" else f"stopped by {by}"


def _judge_promise(facts: Facts) -> Outcome:
    kept = facts.reading.kept
    note = "" if facts.stopped is None else "did not exit after its promise and was stopped"
    if kept is not None and kept.claim is PromiseKind.COMPLETE:
        return Outcome(kind=OutcomeKind.COMPLETED, exit_code=facts.exit_code, note=note)
    if kept is not None:
        return Outcome(kind=OutcomeKind.FAILED, reason=kept.reason, exit_code=facts.exit_code, note=note)
    if facts.exit_code != 0:
        return Outcome(kind=OutcomeKind.HARNESS_ERROR, reason=_exit_words(facts), exit_code=facts.exit_code)
    refused = facts.reading.refused
    return Outcome(
        kind=OutcomeKind.NO_PROMISE,
        reason=_veto_words(facts),
        exit_code=facts.exit_code,
        refused=Refusal(claim=refused.promise.claim, quote=refused.quote, why=refused.why) if refused else None,
    )


def _rate_limited(facts: Facts, failure: Failure) -> Outcome:
    return Outcome(
        kind=OutcomeKind.RATE_LIMITED,
        reason=one_line(failure.message, 400),
        exit_code=facts.exit_code,
        retry_after_s=failure.retry_after_s,
        resets_at=failure.resets_at,
    )


def _exit_words(facts: Facts) -> str:
    detail = f": {facts.stderr_tail}" if facts.stderr_tail else ""
    code = facts.exit_code
    if code is not None and code < 0:
        return f"was killed by {_signal_name(-code)}{detail}"
    return f"exited with code {code}{detail}"


def _signal_name(number: int) -> str:
    import signal  # only for an agent that was killed

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _veto_words(facts: Facts) -> str:
    if not facts.reading.vetoes:
        return ""
    return f"a promise did not count: {facts.reading.vetoes[-1].why}"


def _listed(tools: tuple[str, ...]) -> str:
    names = list(dict.fromkeys(tools))
    return ", ".join(names[:5]) + (" and more" if len(names) > 5 else "")
