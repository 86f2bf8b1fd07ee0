"""Narrates the events of a run; all faces show the same lines, each in its own way."""

from typing import NamedTuple

from spool.domain.account.progress import LoopProgress
from spool.domain.judging.gates.gate import Proof
from spool.domain.loop import events
from spool.domain.loop.outcome import OutcomeKind
from spool.domain.loop.verdict import Status
from spool.domain.text.plain_text import counted
from spool.views import words
from spool.views.look import PROOFS, Role
from spool.views.receipt_lines import receipt_lines

_LISTED = 3
_OUTCOMES = {OutcomeKind.COMPLETED: Role.GOOD, OutcomeKind.NO_PROMISE: Role.PLAIN, OutcomeKind.INTERRUPTED: Role.PLAIN}


class NarrationLine(NamedTuple):
    """A line: its mark in plain output, its text, its colour on a terminal, and whether it is a heading."""

    mark: str
    text: str
    role: Role
    heading: bool = False

    @property
    def style(self) -> str:
        """Its style on a terminal; only a heading is bold."""
        return f"{'bold ' if self.heading else ''}{self.role.style.removeprefix('bold ')}".strip()


def narrate(event: events.Event, *, verbose: bool) -> list[NarrationLine]:
    """Return the lines for an event of the loop itself; most have one."""
    match event:
        case events.RunStarted():
            start = NarrationLine("--- ", words.start_line(event), Role.PLAIN)
            unchecked = words.unchecked(event.checks)
            return [start, *([NarrationLine("--- ", unchecked, PROOFS[Proof.WORD])] if unchecked else [])]
        case events.IterationStarted():
            return [NarrationLine("--- ", words.started(event), Role.RUNNING, heading=True)]
        case events.StoryDone():
            return [NarrationLine("=== ", words.story(event), PROOFS[event.proof or Proof.WORD], heading=True)]
        case events.StoryProgress() | events.Retrying() | events.Reverted() | events.TreeKept():
            role = Role.PLAIN if isinstance(event, events.StoryProgress) else Role.WARN
            return [NarrationLine("=== ", words.story(event), role, heading=True)]
        case events.Error() if event.kept:
            return [NarrationLine("--- ", words.kept(event), Role.WARN)]
        case events.IterationEnded(record=record):
            role = Role.BAD if record.rejected else _OUTCOMES.get(record.outcome, Role.BAD)
            head = NarrationLine("--- ", words.ended(record), role, heading=True)
            details = [words.why(record), *(words.vetoed(record) if verbose else ())]
            return [head, *(NarrationLine("    ", detail, Role.DIM) for detail in details if detail)]
        case events.Working(share=0.0):
            return [NarrationLine("--- ", words.working(event), Role.RUNNING)]
        case events.GateStarted():
            return [NarrationLine("--- ", words.checking(event), Role.ODD)]
        case events.Complete(proof=proof) if proof is not None:
            return [NarrationLine("--- ", words.proof(event), PROOFS[proof], heading=True)]
        case events.Waiting():
            return [NarrationLine("--- ", words.waiting(event), Role.WARN, heading=True)]
        case events.StopRequested():
            return [NarrationLine("--- ", words.stopping(event), Role.WARN)]
        case events.CheckpointSaved() if verbose:
            return [NarrationLine("--- ", "saved the working tree; a failed attempt reverts to it", Role.DIM)]
        case events.Warned():
            return [NarrationLine("--- ", f"warning: {words.warning(event)}", Role.WARN)]
        case events.NotStarted():
            return [NarrationLine("--- ", f"not started: {event.reason}", Role.BAD, heading=True)]
        case events.RunEnded():
            taken = receipt_lines(event.receipt) if event.receipt else ()
            role = Role.GOOD if event.status is Status.DONE else Role.BAD
            over = NarrationLine("--- ", words.over(event), role, heading=True)
            undo = (
                [NarrationLine("--- ", words.undo(event), Role.PLAIN)]
                if event.begun and event.status is not Status.DONE
                else []
            )
            return [*(NarrationLine("--- ", line, Role.PLAIN, heading=True) for line in taken), *undo, over]
        case _:
            return []


def closing_lines(progress: LoopProgress, event: events.RunEnded) -> list[NarrationLine]:
    """Return the lines that close a run: totals, commits, discarded attempts; the last one says how it ended."""
    *totals, over = narrate(event, verbose=False)
    if event.status is Status.DONE and progress.complete:  # an end on the agent's word looks like one
        over = over._replace(role=PROOFS[progress.complete.proof or Proof.WORD])
    return [*totals, *(NarrationLine("--- ", text, Role.PLAIN) for text in _left_by(progress)), over]


def _left_by(progress: LoopProgress) -> list[str]:
    history = progress.history
    commits, failed, discarded = history.commits, len(history.failed_commits), history.discarded
    lines = [f"{counted(len(commits), 'commit')}: {words.commits(commits).partition(' ')[2]}"] if commits else []
    lines += [f"{counted(failed, 'commit')} failed"] if failed else []
    if discarded:
        older = f", {len(discarded) - _LISTED} of them older than these" if len(discarded) > _LISTED else ""
        one = "it" if len(discarded) == 1 else "one"
        lines.append(f"{counted(len(discarded), 'attempt')} discarded{older}; get {one} back with:")
        lines += [f"  {words.restore(one.name)}" for one in discarded[-_LISTED:]]
    return lines
