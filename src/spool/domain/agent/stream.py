"""The stream events that the output of every agent is decoded into."""

from enum import StrEnum
from typing import TypeVar

import msgspec

_Number = TypeVar("_Number", int, float)


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The usage that an agent reported; None if it did not. `tokens_in` excludes cached tokens."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    cost_usd: float | None = None
    turns: int | None = None

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(**{name: _add(getattr(self, name), getattr(other, name)) for name in self.__struct_fields__})

    @property
    def tokens(self) -> int | None:
        """All tokens not read from a cache."""
        return _add(self.tokens_in, self.tokens_out)


def _add(left: _Number | None, right: _Number | None) -> _Number | None:
    if left is None or right is None:
        return right if left is None else left
    return left + right


class ErrorKind(StrEnum):
    """The kind of an agent's error; the loop handles each differently."""

    API = "api"
    AUTH = "auth"
    CONFIG = "config"
    RATE_LIMIT = "rate_limit"
    INCOMPLETE = "incomplete"


class _StreamEvent(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    """Base of the stream events: a shared wire format without behaviour."""


class Message(_StreamEvent, frozen=True, kw_only=True, tag="message"):
    """Text by the assistant itself. A partial message continues in the next event."""

    text: str
    partial: bool = False
    subagent: bool = False
    stray: bool = False
    """Whether it is plain text between JSON events: shown as the agent's, but a hook or a tool may have printed it."""


class ToolUse(_StreamEvent, frozen=True, kw_only=True, tag="tool_use"):
    """The agent calls a tool."""

    tool: str
    summary: str = ""
    call_id: str = ""
    subagent: bool = False


class ToolResult(_StreamEvent, frozen=True, kw_only=True, tag="tool_result"):
    """A tool returned."""

    output: str = ""
    call_id: str = ""
    is_error: bool = False


class AgentRetry(_StreamEvent, frozen=True, kw_only=True, tag="retry"):
    """The agent itself waits and retries, because of a rate limit or another transient error."""

    message: str = ""
    attempt: int | None = None
    delay_s: float | None = None
    rate_limited: bool = False


class Denied(_StreamEvent, frozen=True, kw_only=True, tag="denied"):
    """The agent was denied a tool, because no person was there to allow it."""

    tool: str
    summary: str = ""
    withheld: bool = False
    """Whether it is a guess: no editing tool was used, and this agent has none unless all tools are allowed."""


class Failure(_StreamEvent, frozen=True, kw_only=True, tag="error"):
    """The agent could not continue, in its own words."""

    message: str
    error: ErrorKind = ErrorKind.API
    status: int | None = None
    retry_after_s: float | None = None
    resets_at: float | None = None
    hint: str = ""
    """The next step for a person."""


class UsageSoFar(_StreamEvent, frozen=True, kw_only=True, tag="usage"):
    """The usage of the running agent up to now, for agents that report it before their end."""

    usage: Usage


class Done(_StreamEvent, frozen=True, kw_only=True, tag="done"):
    """The agent's final answer and usage."""

    content: str = ""
    usage: Usage = Usage()
    session: str = ""


StreamEvent = Message | ToolUse | ToolResult | AgentRetry | Denied | Failure | UsageSoFar | Done
