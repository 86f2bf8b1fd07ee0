"""Narrates the events of a run. The plain view and the live view print the same lines, each in its own way."""

from typing import NamedTuple

from spool.domain import events
from spool.domain.gates.values import Proof
from spool.domain.outcome import OutcomeKind
from spool.domain.verdict import Status
from spool.views import words
from spool.views.receipt import receipt_lines

_OUTCOMES = {OutcomeKind.COMPLETED: "bold green", OutcomeKind.NO_PROMISE: "bold", OutcomeKind.INTERRUPTED: "bold"}
PROOFS = {
    Proof.PROVED: "bold bright_green",
    Proof.UNBROKEN: "green",
    Proof.WORD: "yellow",
    Proof.REFUSED: "bold red",
    Proof.UNVERIFIABLE: "bold magenta",
}
"""How each word of the gates looks; only what is proved is bright green."""
_STORIES = {events.StoryDone: "bold green", events.Retrying: "bold yellow"}


class Told(NamedTuple):
    """A line: its mark in plain output, its text, and its style on a terminal, which is bold for a heading."""

    mark: str
    text: str
    style: str


def narrate(event: events.Event, *, verbose: bool) -> list[Told]:
    """Return the lines for an event of the loop itself; most have one."""
    match event:
        case events.IterationStarted():
            return [Told("--- ", words.started(event), "bold cyan")]
        case events.StoryProgress() | events.StoryDone() | events.Retrying() | events.Reverted() | events.TreeKept():
            return [Told("=== ", words.story(event), _STORIES.get(type(event), "bold magenta"))]
        case events.Error() if event.kept:
            return [Told("--- ", words.kept(event), "yellow")]
        case events.IterationEnded(record=record):
            style = "bold red" if record.rejected else _OUTCOMES.get(record.outcome, "bold red")
            head = Told("--- ", words.ended(record), style)
            details = [words.why(record), *(words.vetoed(record) if verbose else ())]
            return [head, *(Told("    ", detail, "dim") for detail in details if detail)]
        case events.GateStarted():
            return [Told("--- ", words.checking(event), "cyan")]
        case events.Complete(proof=proof) if proof is not None:
            return [Told("--- ", words.proof(event), PROOFS[proof])]
        case events.Waiting():
            return [Told("--- ", words.waiting(event), "bold yellow")]
        case events.Warned():
            return [Told("--- ", f"warning: {words.warning(event)}", "yellow")]
        case events.NotStarted():
            return [Told("--- ", f"not started: {event.reason}", "bold red")]
        case events.RunEnded():
            taken = receipt_lines(event.receipt) if event.receipt else ()
            over = Told("--- ", words.over(event), "bold green" if event.status is Status.DONE else "bold red")
            return [*(Told("--- ", line, "bold") for line in taken), over]
        case _:
            return []
