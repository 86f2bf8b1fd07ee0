"""The words and figures of a report, the same for every format."""

import shlex
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from spool.app.reporting.loop_reports import LoopReports, Reported
from spool.domain.account.history import LoopHistory, StoryAccount
from spool.domain.account.landing_order import GOOD, MENDABLE
from spool.domain.account.story_history import WHOLE, IterationFigures, StoryStanding, is_trouble
from spool.domain.change.workspaces import Kind
from spool.domain.judging.gates.gate import VERIFIED
from spool.domain.loop.summary import LoopKind
from spool.domain.loop.verdict import Status
from spool.domain.text.plain_text import counted, one_line, with_reason
from spool.views import words
from spool.views.continuing import continue_command
from spool.views.landing_view import fate_words
from spool.views.look import STANDINGS, Role
from spool.views.receipt_lines import cost_words, time_words, token_words

CONTINUE = "Continue with"
_FAILED = 5
_RESTORED = 3
_REVERTED = "reverted; get it back with: "


class StoryRow(NamedTuple):
    """One story as every format shows it."""

    sign: str
    role: Role
    name: str
    standing: str
    tries: str
    time: str
    gates: str
    tokens: str
    cost: str
    notes: list[str]
    id: str


class NextStep(NamedTuple):
    """A command to type next."""

    label: str
    command: str


def title(reported: Reported) -> str:
    """Name the loop: its change, project and branch."""
    loop = reported.loop
    where = f" in {one_line(loop.name, 60)}" if loop.project else ""
    return f"{one_line(loop.change, 120)}{where}{f' on {one_line(reported.branch, 80)}' if reported.branch else ''}"


def period(report: LoopReports) -> str:
    """Return the period of the report."""
    return f"since {report.since.astimezone():%Y-%m-%d %H:%M}" if report.since else "from the start of the loop"


def when(account: LoopHistory) -> str:
    """Return the loop's start and end."""
    if account.began_at is None:
        return "it has not run in this time"
    began = words.moment(account.began_at)
    if account.status is Status.RUNNING:
        return f"{began} until now, still running"
    ended = account.ended_at or account.began_at
    same_day = ended.astimezone().date() == account.began_at.astimezone().date()
    return f"{began} to {words.clock(ended) if same_day else words.moment(ended)}"


def verdict(account: LoopHistory) -> str:
    """Return how the loop ended and its evidence."""
    if account.status is Status.RUNNING:
        return "running"
    said = with_reason(account.status, account.reason)
    return one_line(f"{said}; {words.rests_on(account.proof, account.evidence)}" if account.proof else said, 400)


def standings(account: LoopHistory) -> str:
    """Count the stories by their verdicts."""
    return " · ".join(f"{number} {standing}" for standing, number in account.standings.items())


def story_head(account: LoopHistory) -> tuple[str, ...]:
    """Return the headings of the stories' columns, the sign first."""
    return ("", "story", "verdict", "iterations" if account.whole else "tries", "agent", "gates", "tokens", "cost")


def story_rows(account: LoopHistory) -> list[StoryRow]:
    """Return a row per story."""
    return [_row(story, account) for story in account.stories]


def _row(story: StoryAccount, account: LoopHistory) -> StoryRow:
    tried = [one for one in account.attempts if one.story_id == story.id]
    sign, role = STANDINGS[story.standing]
    begun = story.attempts > 0
    return StoryRow(
        id=story.id,
        sign=sign,
        role=role,
        name=one_line(story.title if story.id == WHOLE else f"{story.id} {story.title}", 120),
        standing=str(story.standing),
        tries=str(story.attempts) if begun else "-",
        time=words.duration(story.seconds) if begun else "-",
        gates=words.duration(story.gates_s) if story.gates_s else "-",
        tokens="-" if story.usage.tokens is None else words.tokens(story.usage.tokens),
        cost="-" if story.usage.cost_usd is None else f"${story.usage.cost_usd:.2f}",
        notes=list(_notes(story, tried, kept=bool(account.kept) and account.kept == story.id)),
    )


def _notes(story: StoryAccount, tried: list[IterationFigures], *, kept: bool) -> Iterator[str]:
    """Yield what the verdict rests on, what failed on the way, and where the work is."""
    if story.standing in (StoryStanding.PROVED, StoryStanding.UNBROKEN, StoryStanding.WORD):
        yield one_line(story.evidence, 400) or "nothing was checked"
    if story.commits:
        yield words.commits(story.commits)
    failed = [
        one for one in tried if is_trouble(one.outcome) or (one.outcome and story.standing is StoryStanding.FAILED)
    ]
    if len(failed) > _FAILED:
        yield f"{counted(len(failed) - _FAILED, 'earlier attempt')} also failed"
    for one in failed[-_FAILED:]:
        why = f", {one.reason}" if one.reason else ""
        yield one_line(f"iteration {one.iteration}: {one.outcome}{why}", 400)
        if one.discarded:
            yield f"{_REVERTED}{words.restore(one.discarded)}"
    if kept:
        yield "its last attempt is in the working tree"


def split_command(note: str) -> tuple[str, str]:
    """Return a note and the command at its end, if it has one."""
    return (_REVERTED.rstrip(), note.removeprefix(_REVERTED)) if note.startswith(_REVERTED) else (note, "")


def figures(reported: Reported) -> list[tuple[str, str]]:
    """Return the figures of a loop, each with its label."""
    account = reported.account
    receipt, found = account.receipt, [("Iterations", _iterations(account))]
    found.append(("Agent", one_line(f"{account.agent or 'none'}, {account.sandbox}", 200)))
    found += [("Time", time_words(receipt)), ("Elapsed", _elapsed(account))]
    found.append(("Tokens", token_words(receipt).removeprefix("tokens ").removesuffix(" tokens")))
    found.append(("Cost", cost_words(receipt).removeprefix("cost ")))
    if not account.whole:
        found.append(("Per proved story", _per_proved(account)))
    if account.boxes:
        first, last = account.boxes[0], account.boxes[-1]
        found.append(("Boxes", f"{last.done} of {last.total} ticked, {first.done} at the start"))
    found.append(("Commits", words.commits(account.commits).partition(" ")[2] if account.commits else "none"))
    if failed := account.failed_commits:
        found.append(("Failed commits", one_line(f"{len(failed)}, the last: {failed[-1]}", 300)))
    if account.reverts:
        kept = counted(len(account.discarded), "discarded attempt")
        found.append(("Reverts", f"{account.reverts}; {kept} can be restored"))
    if account.waits:
        found.append(("Waits", _waits(account)))
    if account.refused_claims:
        found.append(("Refused claims", str(account.refused_claims)))
    if account.refused_promises:
        found.append(("Uncounted promises", str(account.refused_promises)))
    if reported.landing:
        found.append(("Landing", fate_words(reported.landing)))
    return found + [("Warning", one_line(message, 200)) for message in account.warnings]


def _iterations(account: LoopHistory) -> str:
    outcomes = Counter(one.outcome or "running" for one in account.attempts)
    listed = ", ".join(f"{number} {name}" for name, number in outcomes.most_common())
    runs = f", in {counted(len(account.runs), 'run')}" if len(account.runs) > 1 else ""
    return f"{len(account.attempts)}{f' ({listed})' if listed else ''}{runs}"


def _waits(account: LoopHistory) -> str:
    """Count the waits, with their time and the reason of the longest."""
    longest = max(account.waits, key=lambda one: one.seconds)
    longest_s = f"; the longest {words.duration(longest.seconds)}" if len(account.waits) > 1 else ""
    taken = words.duration(account.receipt.waits_s)
    return one_line(f"{len(account.waits)}, {taken}{longest_s}, {longest.label}", 200)


def _elapsed(account: LoopHistory) -> str:
    """Format the time of the runs by the clock."""
    before = f", {words.duration(account.baseline_s)} of it for gates before the first agent"
    return f"{words.duration(account.elapsed_s)}{before if account.baseline_s else ''}"


def _per_proved(account: LoopHistory) -> str:
    rate = account.receipt.per_proved_story
    if rate is None:
        return "no story is proved"
    cost = "cost unknown" if rate.cost_usd is None else f"${rate.cost_usd:.2f}"
    return f"{cost}, {words.duration(rate.seconds)}, failed attempts included"


def steps(reported: Reported) -> list[NextStep]:
    """Return what to type next: to review the work, to get discarded work back, to continue, or to land it."""
    account, loop = reported.account, reported.loop
    git = ["git", "-C", loop.worktree or loop.root]
    found, in_clone = [], loop.workspace is not None and loop.workspace.kind is Kind.CLONE
    if loop.workspace is not None:
        span = f"{loop.workspace.base[:12]}..{loop.workspace.branch}"
        found.append(NextStep("Review with", shlex.join(["git", "-C", loop.project, "log", "-p", "--reverse", span])))
    elif account.commits:
        span = f"{account.commits[0][:12]}^..{account.commits[-1][:12]}"
        found.append(NextStep("Review with", shlex.join([*git, "log", "-p", "--reverse", span])))
    if not in_clone and (not found or account.kept):  # a clone's own git settings are the agent's
        # `git diff HEAD` hides new files, and fails before the first commit.
        found.append(NextStep("Review with" if not found else "and", shlex.join([*git, "status", "-vv"])))
    found += [NextStep("Get back with", words.restore(one.name)) for one in account.discarded[-_RESTORED:]]
    if len(account.discarded) > _RESTORED:
        found.append(NextStep("or one of the others", "spool checkpoint list"))
    if account.status is Status.DONE:
        found += _landing(reported, git)
    elif account.status is not Status.RUNNING and reported.again:
        again = continue_command(reported.again, loop) if loop.limit or account.kept else reported.again
        found.append(NextStep(CONTINUE, again))
    if account.status in (Status.STUCK, Status.STOPPED) and loop.memory.begun:
        found.append(NextStep("Undo with", f"spool undo {loop.id}"))
    return [NextStep(label, one_line(command, 2_000)) for label, command in found]


def _landing(reported: Reported, git: list[str]) -> list[NextStep]:
    loop, account, landing = reported.loop, reported.account, reported.landing
    if landing and landing.fate in GOOD:
        return []
    if loop.workspace is not None and loop.memory.proof in VERIFIED:
        repair = " --repair" if landing and landing.fate in MENDABLE else ""
        return [NextStep("Land with", f"spool land {loop.change}{repair}")]
    apart = reported.branch and reported.base_branch and reported.branch != reported.base_branch
    found = []
    if not account.commits and loop.door is not LoopKind.WORKTREE and loop.workspace is None:
        add, commit = shlex.join([*git, "add", "--all"]), shlex.join([*git, "commit", "-m", loop.change])
        found.append(NextStep("Land with", f"{add} && {commit}"))
    if apart:
        merge = shlex.join(["git", "-C", loop.project, "merge", reported.branch])
        found.append(NextStep("and" if found else "Land with", merge))
    elif account.commits:
        found.append(NextStep("Land with", shlex.join([*git, "push"])))
    return found


def iteration_rows(account: LoopHistory) -> list[tuple[str, ...]]:
    """Return a row per iteration: number, time of day, outcome, agent, gates, tokens, cost, reason."""
    return [
        (
            str(one.iteration),
            words.clock(one.began_at) if one.began_at else "-",
            one.outcome or "running",
            one.story_id or "-",
            words.duration(one.seconds) if one.outcome else "-",
            words.duration(one.gates_s) if one.gates_s else "-",
            "-" if one.usage.tokens is None else words.tokens(one.usage.tokens),
            "-" if one.usage.cost_usd is None else f"${one.usage.cost_usd:.2f}",
            one_line(one.reason, 200),
        )
        for one in account.attempts
    ]


ITERATION_HEAD = ("#", "at", "outcome", "story", "agent", "gates", "tokens", "cost", "reason")
