"""The agent of a loop, as a value."""

from dataclasses import dataclass, replace

import msgspec

from spool.domain.agent.invocation import AgentRequest
from spool.domain.agent.prices import Price
from spool.engine.agent_limits import Patience
from spool.engine.ports import Harness


@dataclass(frozen=True, kw_only=True)
class AgentOptions:
    """The agent of a loop and its options."""

    harness: Harness
    request: AgentRequest
    """What each of its runs has in common."""
    patience: Patience
    auto_commit: bool = False
    resume: bool = False
    """Whether the agent continues its conversation instead of starting a new one."""
    price: Price | None = None
    """The price of the model, for an agent that reports no cost."""

    def continuing(self, session: str) -> "AgentOptions":
        """Return the options of the next run, in the same conversation if that is wanted."""
        if not self.resume or not session:
            return self
        return replace(self, request=msgspec.structs.replace(self.request, session=session))
