"""Narrates the events of a run. The plain view and the live view print the same lines, each in its own way."""

from typing import NamedTuple

from spool.domain import events
from spool.domain.outcome import OutcomeKind
from spool.domain.verdict import Status
from spool.views import words
from spool.views.look import PROOFS, Role
from spool.views.receipt import receipt_lines

_OUTCOMES = {OutcomeKind.COMPLETED: Role.GOOD, OutcomeKind.NO_PROMISE: Role.PLAIN, OutcomeKind.INTERRUPTED: Role.PLAIN}
_STORIES = {events.StoryProgress: Role.PLAIN, events.StoryDone: Role.GOOD}


class Told(NamedTuple):
    """A line: its mark in plain output, its text, its colour on a terminal, and whether it is a heading."""

    mark: str
    text: str
    role: Role
    heading: bool = False

    @property
    def style(self) -> str:
        """Its style on a terminal; only a heading is bold."""
        return f"{'bold ' if self.heading else ''}{self.role.style.removeprefix('bold ')}".strip()


def narrate(event: events.Event, *, verbose: bool) -> list[Told]:
    """Return the lines for an event of the loop itself; most have one."""
    match event:
        case events.IterationStarted():
            return [Told("--- ", words.started(event), Role.RUNNING, heading=True)]
        case events.StoryProgress() | events.StoryDone() | events.Retrying() | events.Reverted() | events.TreeKept():
            return [Told("=== ", words.story(event), _STORIES.get(type(event), Role.WARN), heading=True)]
        case events.Error() if event.kept:
            return [Told("--- ", words.kept(event), Role.WARN)]
        case events.IterationEnded(record=record):
            role = Role.BAD if record.rejected else _OUTCOMES.get(record.outcome, Role.BAD)
            head = Told("--- ", words.ended(record), role, heading=True)
            details = [words.why(record), *(words.vetoed(record) if verbose else ())]
            return [head, *(Told("    ", detail, Role.DIM) for detail in details if detail)]
        case events.Working(share=0.0):
            return [Told("--- ", words.working(event), Role.RUNNING)]
        case events.GateStarted():
            return [Told("--- ", words.checking(event), Role.ODD)]
        case events.Complete(proof=proof) if proof is not None:
            return [Told("--- ", words.proof(event), PROOFS[proof], heading=True)]
        case events.Waiting():
            return [Told("--- ", words.waiting(event), Role.WARN, heading=True)]
        case events.Warned():
            return [Told("--- ", f"warning: {words.warning(event)}", Role.WARN)]
        case events.NotStarted():
            return [Told("--- ", f"not started: {event.reason}", Role.BAD, heading=True)]
        case events.RunEnded():
            taken = receipt_lines(event.receipt) if event.receipt else ()
            role = Role.GOOD if event.status is Status.DONE else Role.BAD
            over = Told("--- ", words.over(event), role, heading=True)
            return [*(Told("--- ", line, Role.PLAIN, heading=True) for line in taken), over]
        case _:
            return []
