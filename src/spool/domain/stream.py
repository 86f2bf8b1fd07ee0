"""The small set of events that every agent's output is translated into."""

from enum import StrEnum
from typing import TypeVar

import msgspec

_Number = TypeVar("_Number", int, float)


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an agent says it used; None where it does not tell. Cached tokens are not part of `tokens_in`."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    cost_usd: float | None = None
    turns: int | None = None

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            tokens_in=_add(self.tokens_in, other.tokens_in),
            tokens_out=_add(self.tokens_out, other.tokens_out),
            tokens_cached=_add(self.tokens_cached, other.tokens_cached),
            cost_usd=_add(self.cost_usd, other.cost_usd),
            turns=_add(self.turns, other.turns),
        )

    @property
    def tokens(self) -> int | None:
        """All tokens that were not read from a cache."""
        return _add(self.tokens_in, self.tokens_out)


def _add(left: _Number | None, right: _Number | None) -> _Number | None:
    if left is None or right is None:
        return right if left is None else left
    return left + right


class ErrorKind(StrEnum):
    """What an agent's error is about; the loop treats each kind in its own way."""

    API = "api"
    AUTH = "auth"
    CONFIG = "config"
    RATE_LIMIT = "rate_limit"
    INCOMPLETE = "incomplete"


class _StreamEvent(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    """Base of the stream events: only a shared wire format, no behaviour."""


class Message(_StreamEvent, frozen=True, kw_only=True, tag="message"):
    """Text that the assistant itself wrote. A partial one goes on in the next event."""

    text: str
    partial: bool = False
    subagent: bool = False


class ToolUse(_StreamEvent, frozen=True, kw_only=True, tag="tool_use"):
    """The agent calls a tool."""

    tool: str
    summary: str = ""
    call_id: str = ""
    subagent: bool = False


class ToolResult(_StreamEvent, frozen=True, kw_only=True, tag="tool_result"):
    """A tool answered."""

    output: str = ""
    call_id: str = ""
    is_error: bool = False


class Retry(_StreamEvent, frozen=True, kw_only=True, tag="retry"):
    """The agent itself waits and tries again, because of a rate limit or another passing fault."""

    message: str = ""
    attempt: int | None = None
    delay_s: float | None = None
    rate_limited: bool = False


class Denied(_StreamEvent, frozen=True, kw_only=True, tag="denied"):
    """The agent was refused a tool because nobody was there to allow it."""

    tool: str
    summary: str = ""
    withheld: bool = False
    """Guessed: no tool that edits was used, and this agent gets none unless all is allowed."""


class Failure(_StreamEvent, frozen=True, kw_only=True, tag="error"):
    """The agent could not go on, in its own words."""

    message: str
    error: ErrorKind = ErrorKind.API
    status: int | None = None
    retry_after_s: float | None = None
    resets_at: float | None = None
    hint: str = ""
    """What a person can do about it."""


class Done(_StreamEvent, frozen=True, kw_only=True, tag="done"):
    """The agent's final answer, with what it used."""

    content: str = ""
    usage: Usage = Usage()
    session: str = ""


StreamEvent = Message | ToolUse | ToolResult | Retry | Denied | Failure | Done
