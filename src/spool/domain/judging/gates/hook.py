"""The result of running the gates by hand or from an agent's stop hook, and what the hook answers."""

from datetime import datetime

import msgspec

from spool.domain.judging.gates.gate import GateResult, Proof, refusal

MOST_BLOCKS = 5
"""Blocks in a row after which a stop is released. Claude Code itself overrides a hook after 8."""


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """A stop that the hook let pass although a gate refused it."""

    at: datetime
    session: str
    why: str
    """Why the hook gave up."""
    refused: str
    """The gates' refusal."""


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """The gates' verdict on the working tree."""

    root: str
    change: str = ""
    since: str = ""
    """The baseline in words; empty if there was nothing to compare with."""
    baseline: str = ""
    """The tree it was compared with."""
    tree: str = ""
    """The tree that was checked."""
    proof: Proof
    gates: tuple[GateResult, ...]
    left: tuple[str, ...] = ()
    """Files that the gates left in the working tree."""
    seconds: float = 0.0
    released: Release | None = None
    """The last stop that was released although it was refused, until the gates are green again."""

    @property
    def refused(self) -> GateResult | None:
        """The gate that refused, if any."""
        return refusal(self.gates)


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """The hook's memory of one conversation."""

    base: str = ""
    """The tree in which it began; empty if the hook did not see the start."""
    blocks: int = 0
    """Stops that were blocked in a row."""
    blocked: str = ""
    """The tree of the last stop that was blocked."""
    passed: str = ""
    """The tree of the last stop that passed."""


def give_up(session: Session, tree: str, *, active: bool | None) -> str:
    """Return why a refused stop is released; empty if it is blocked.

    `active` is the agent's word that it continues because of a stop hook; None if it does not say.
    """
    if tree and tree == session.blocked:
        return "the agent stopped again without a change"
    if active is not False and session.blocks >= MOST_BLOCKS:
        return f"the agent was sent back {MOST_BLOCKS} times"
    return ""


def after_block(session: Session, tree: str, *, active: bool | None) -> Session:
    """Return the session after one more block; a new turn counts from the start."""
    blocks = 0 if active is False else session.blocks
    return msgspec.structs.replace(session, blocks=blocks + 1, blocked=tree)
