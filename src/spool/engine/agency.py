"""The agent of a loop, as a value."""

from dataclasses import dataclass

from spool.domain.prices import Price
from spool.engine.ports import Harness
from spool.engine.watch import Patience


@dataclass(frozen=True, kw_only=True)
class Agency:
    """The agent of a loop and its options."""

    harness: Harness
    directory: str
    patience: Patience
    model: str | None = None
    allow_all: bool = False
    in_sandbox: bool = False
    auto_commit: bool = False
    resume: bool = False
    """Whether the agent continues its conversation instead of starting a new one."""
    session: str = ""
    """The conversation of an earlier run."""
    price: Price | None = None
    """The price of the model, for an agent that reports no cost."""
