"""The account of a loop: its summary, its history, and what its project says of it."""

import msgspec

from spool.domain.account.history import LoopHistory
from spool.domain.account.landing_order import Landing
from spool.domain.loop.summary import LoopSummary


class LoopAccount(msgspec.Struct, frozen=True, kw_only=True):
    """Where a loop stands and what it took, for every view that reads its journal."""

    loop: LoopSummary
    history: LoopHistory = msgspec.field(name="account")
    title: str = ""
    """The title that the plan gives itself."""
    branch: str = ""
    base_branch: str = ""
    """The branch of the repository's main directory."""
    again: str = ""
    """The command that continues it."""
    landing: Landing | None = None
    """The last attempt to land the change."""
    gone: bool = False
    """Whether its journal is gone; the history is then empty, and only the receipt of the registry is known."""
