"""Spool's look: the colours, signs and words for states, the same on the terminal, the screen and in reports.

docs/watching.md describes it. A sign and a word always stand beside a colour, so everything is readable without colour.
"""

from enum import Enum
from typing import NamedTuple

from spool.domain.account.history import Activity
from spool.domain.account.story_history import StoryMark, StoryStanding
from spool.domain.judging.gates.gate import VERIFIED, Proof
from spool.domain.loop.summary import LoopSummary
from spool.domain.loop.verdict import Status


class Tint(NamedTuple):
    """A colour: its style on a terminal, and its values on a dark and on a light page."""

    style: str
    dark: str
    light: str


class Role(Enum):
    """A colour's meaning. Only what is proved is bright green."""

    PROVED = Tint("bold bright_green", "#6ee7a0", "#0a6b2d")
    GOOD = Tint("green", "#57b97c", "#1a7f37")
    RUNNING = Tint("bold cyan", "#5cc3e8", "#0b6a8f")
    WARN = Tint("yellow", "#e0b040", "#855600")
    BAD = Tint("bold red", "#ff8078", "#b3261e")
    ODD = Tint("bold magenta", "#d2a0f5", "#8430a3")
    DIM = Tint("dim", "#98a2ae", "#59626d")
    PLAIN = Tint("", "#e4e7eb", "#1c2127")

    @property
    def style(self) -> str:
        """The style on a terminal, as rich writes it."""
        return self.value.style

    @property
    def colour(self) -> str | None:
        """The colour on a terminal, as click writes it; None for the terminal's own."""
        return self.value.style.removeprefix("bold ").removeprefix("dim") or None


class Sign(NamedTuple):
    """A state's sign and colour."""

    sign: str
    role: Role


DONE, RUNNING, WAITING, FAILED, UNSURE, OPEN = "✓", "►", "·", "!", "~", "○"
PROMISE = "⚑"
"""Stands for the tags of a promise that ends a message; whether it counts is said below it."""
STATUSES = {
    Status.RUNNING: Sign(RUNNING, Role.RUNNING),
    Status.DONE: Sign(DONE, Role.GOOD),
    Status.STUCK: Sign(FAILED, Role.BAD),
    Status.STOPPED: Sign(WAITING, Role.WARN),
}
PROOFS = {
    Proof.PROVED: Role.PROVED,
    Proof.UNBROKEN: Role.GOOD,
    Proof.WORD: Role.WARN,
    Proof.REFUSED: Role.BAD,
    Proof.UNVERIFIABLE: Role.ODD,
}
MARKS = {
    StoryMark.DONE: Sign(DONE, Role.GOOD),
    StoryMark.RUNNING: Sign(RUNNING, Role.RUNNING),
    StoryMark.FAILED: Sign(FAILED, Role.BAD),
    StoryMark.WAITING: Sign(WAITING, Role.DIM),
}
STANDINGS = {
    StoryStanding.PROVED: Sign(DONE, Role.PROVED),
    StoryStanding.UNBROKEN: Sign(DONE, Role.GOOD),
    StoryStanding.WORD: Sign(UNSURE, Role.WARN),
    StoryStanding.EARLIER: Sign(DONE, Role.DIM),
    StoryStanding.RUNNING: Sign(RUNNING, Role.RUNNING),
    StoryStanding.REFUSED: Sign(FAILED, Role.BAD),
    StoryStanding.FAILED: Sign(FAILED, Role.BAD),
    StoryStanding.UNFINISHED: Sign(WAITING, Role.WARN),
    StoryStanding.OPEN: Sign(WAITING, Role.DIM),
}


def status_sign(status: Status, proof: Proof | None) -> Sign:
    """Return the sign of a loop; one that ended on the agent's word does not look like one that was checked."""
    return Sign(UNSURE, PROOFS[Proof.WORD]) if status is Status.DONE and proof not in VERIFIED else STATUSES[status]


def loop_sign(loop: LoopSummary) -> Sign:
    """Return the sign of a loop by its summary."""
    return status_sign(loop.status, loop.memory.proof)


STORIES = {"done": Role.GOOD, "next": Role.RUNNING, "open": Role.PLAIN}
"""The words for the state of a story."""
ACTIVITIES = {Activity.AGENT: Role.RUNNING, Activity.GATES: Role.ODD, Activity.WAIT: Role.WARN}
FULL, EMPTY = "█", "░"


def bar_text(share: float, width: int) -> tuple[str, str]:
    """Return the full and the empty part of a progress bar."""
    filled = max(0, min(width, int(round(width * share, 6))))
    return FULL * filled, EMPTY * (width - filled)
