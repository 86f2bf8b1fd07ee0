"""The words and figures of a report, the same for every format."""

import shlex
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from spool.app.reporting.loop_reports import LoopReports
from spool.domain.account.account import LoopAccount
from spool.domain.account.history import LoopHistory
from spool.domain.account.landing_order import GOOD, MENDABLE
from spool.domain.account.story_history import WHOLE, IterationFigures, StoryHistory, StoryStanding, is_trouble
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


def title(account: LoopAccount) -> str:
    """Name the loop: its change, project and branch."""
    loop = account.loop
    where = f" in {one_line(loop.name, 60)}" if loop.project else ""
    return f"{one_line(loop.change, 120)}{where}{f' on {one_line(account.branch, 80)}' if account.branch else ''}"


def period(report: LoopReports) -> str:
    """Return the period of the report."""
    return f"since {report.since.astimezone():%Y-%m-%d %H:%M}" if report.since else "from the start of the loop"


def when(history: LoopHistory) -> str:
    """Return the loop's start and end."""
    if history.began_at is None:
        return "it has not run in this time"
    began = words.moment(history.began_at)
    if history.status is Status.RUNNING:
        return f"{began} until now, still running"
    ended = history.ended_at or history.began_at
    same_day = ended.astimezone().date() == history.began_at.astimezone().date()
    return f"{began} to {words.clock(ended) if same_day else words.moment(ended)}"


def verdict(history: LoopHistory) -> str:
    """Return how the loop ended and its evidence."""
    if history.status is Status.RUNNING:
        return "running"
    said = with_reason(history.word, history.cause)
    return one_line(f"{said}; {words.rests_on(history.proof, history.evidence)}" if history.proof else said, 400)


def standings(history: LoopHistory) -> str:
    """Count the stories by their verdicts."""
    return " · ".join(f"{number} {standing}" for standing, number in history.standings.items())


def story_head(history: LoopHistory) -> tuple[str, ...]:
    """Return the headings of the stories' columns, the sign first."""
    return ("", "story", "verdict", "iterations" if history.whole else "tries", "agent", "gates", "tokens", "cost")


def story_rows(history: LoopHistory) -> list[StoryRow]:
    """Return a row per story."""
    return [_row(story, history) for story in history.stories]


def _row(story: StoryHistory, history: LoopHistory) -> StoryRow:
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
        notes=list(_notes(story, history.of_story(story.id), kept=bool(history.kept) and history.kept == story.id)),
    )


def _notes(story: StoryHistory, tried: list[IterationFigures], *, kept: bool) -> Iterator[str]:
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
        why = f", {one.why}" if one.why else ""
        yield one_line(f"iteration {one.iteration}: {one.outcome}{why}", 400)
        if one.discarded:
            yield f"{_REVERTED}{words.restore(one.discarded)}"
    if kept:
        yield "its last attempt is in the working tree"


def split_command(note: str) -> tuple[str, str]:
    """Return a note and the command at its end, if it has one."""
    return (_REVERTED.rstrip(), note.removeprefix(_REVERTED)) if note.startswith(_REVERTED) else (note, "")


def figures(account: LoopAccount) -> list[tuple[str, str]]:
    """Return the figures of a loop, each with its label."""
    history = account.history
    receipt, found = history.receipt, [("Iterations", _iterations(history))]
    found.append(("Agent", one_line(f"{history.agent or 'none'}, {history.sandbox}", 200)))
    found += [("Time", time_words(receipt)), ("Elapsed", _elapsed(history))]
    found.append(("Tokens", token_words(receipt).removeprefix("tokens ").removesuffix(" tokens")))
    found.append(("Cost", cost_words(receipt).removeprefix("cost ")))
    if not history.whole:
        found.append(("Per proved story", _per_proved(history)))
    if history.boxes:
        first, last = history.boxes[0], history.boxes[-1]
        found.append(("Boxes", f"{last.done} of {last.total} ticked, {first.done} at the start"))
    found.append(("Commits", words.commits(history.commits).partition(" ")[2] if history.commits else "none"))
    if failed := history.failed_commits:
        found.append(("Failed commits", one_line(f"{len(failed)}, the last: {failed[-1]}", 300)))
    if history.reverts:
        kept = counted(len(history.discarded), "discarded attempt")
        found.append(("Reverts", f"{history.reverts}; {kept} can be restored"))
    if history.waits:
        found.append(("Waits", _waits(history)))
    if history.refused_claims:
        found.append(("Refused claims", str(history.refused_claims)))
    if history.refused_promises:
        found.append(("Uncounted promises", str(history.refused_promises)))
    if account.landing:
        found.append(("Landing", fate_words(account.landing)))
    return found + [("Warning", one_line(message, 200)) for message in history.warnings]


def _iterations(history: LoopHistory) -> str:
    outcomes = Counter(one.outcome or "running" for one in history.attempts)
    listed = ", ".join(f"{number} {name}" for name, number in outcomes.most_common())
    runs = f", in {counted(len(history.runs), 'run')}" if len(history.runs) > 1 else ""
    return f"{len(history.attempts)}{f' ({listed})' if listed else ''}{runs}"


def _waits(history: LoopHistory) -> str:
    """Count the waits, with their time and the reason of the longest."""
    longest = max(history.waits, key=lambda one: one.seconds)
    longest_s = f"; the longest {words.duration(longest.seconds)}" if len(history.waits) > 1 else ""
    taken = words.duration(history.receipt.waits_s)
    return one_line(f"{len(history.waits)}, {taken}{longest_s}, {longest.label}", 200)


def _elapsed(history: LoopHistory) -> str:
    """Format the time of the runs by the clock."""
    before = f", {words.duration(history.baseline_s)} of it for gates before the first agent"
    return f"{words.duration(history.elapsed_s)}{before if history.baseline_s else ''}"


def _per_proved(history: LoopHistory) -> str:
    rate = history.receipt.per_proved_story
    if rate is None:
        return "no story is proved"
    cost = "cost unknown" if rate.cost_usd is None else f"${rate.cost_usd:.2f}"
    return f"{cost}, {words.duration(rate.seconds)}, failed attempts included"


def steps(account: LoopAccount) -> list[NextStep]:
    """Return what to type next: to review the work, to get discarded work back, to continue, or to land it."""
    history, loop = account.history, account.loop
    git = ["git", "-C", loop.worktree or loop.root]
    found, in_clone = [], loop.workspace is not None and loop.workspace.kind is Kind.CLONE
    if loop.workspace is not None:
        span = f"{loop.workspace.base[:12]}..{loop.workspace.branch}"
        found.append(NextStep("Review with", shlex.join(["git", "-C", loop.project, "log", "-p", "--reverse", span])))
    elif history.commits:
        span = f"{history.commits[0][:12]}^..{history.commits[-1][:12]}"
        found.append(NextStep("Review with", shlex.join([*git, "log", "-p", "--reverse", span])))
    if not in_clone and (not found or history.kept):  # a clone's own git settings are the agent's
        # `git diff HEAD` hides new files, and fails before the first commit.
        found.append(NextStep("Review with" if not found else "and", shlex.join([*git, "status", "-vv"])))
    found += [NextStep("Get back with", words.restore(one.name)) for one in history.discarded[-_RESTORED:]]
    if len(history.discarded) > _RESTORED:
        found.append(NextStep("or one of the others", "spool checkpoint list"))
    if history.status is Status.DONE:
        found += _landing(account, git)
    elif history.status is not Status.RUNNING and account.again:
        again = continue_command(account.again, loop) if loop.limit or history.kept else account.again
        found.append(NextStep(CONTINUE, again))
    if history.status in (Status.STUCK, Status.STOPPED) and loop.memory.begun:
        found.append(NextStep("Undo with", f"spool undo {loop.id}"))
    return [NextStep(label, one_line(command, 2_000)) for label, command in found]


def _landing(account: LoopAccount, git: list[str]) -> list[NextStep]:
    loop, history, landing = account.loop, account.history, account.landing
    if landing and landing.fate in GOOD:
        return []
    if loop.workspace is not None and loop.memory.proof in VERIFIED:
        repair = " --repair" if landing and landing.fate in MENDABLE else ""
        return [NextStep("Land with", f"spool land {loop.change}{repair}")]
    apart = account.branch and account.base_branch and account.branch != account.base_branch
    found = []
    if not history.commits and loop.door is not LoopKind.WORKTREE and loop.workspace is None:
        add, commit = shlex.join([*git, "add", "--all"]), shlex.join([*git, "commit", "-m", loop.change])
        found.append(NextStep("Land with", f"{add} && {commit}"))
    if apart:
        merge = shlex.join(["git", "-C", loop.project, "merge", account.branch])
        found.append(NextStep("and" if found else "Land with", merge))
    elif history.commits:
        found.append(NextStep("Land with", shlex.join([*git, "push"])))
    return found


def iteration_rows(history: LoopHistory) -> list[tuple[str, ...]]:
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
            one_line(one.why, 200),
        )
        for one in history.attempts
    ]


ITERATION_HEAD = ("#", "at", "outcome", "story", "agent", "gates", "tokens", "cost", "reason")
