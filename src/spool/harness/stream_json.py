"""The event format that Claude Code calls stream-json; Qwen Code prints it too."""

from typing import Any

import msgspec

from spool.domain.agent.stream import Usage


class ContentBlock(msgspec.Struct):
    """A part of a message: text, a tool call or a tool result."""

    type: str = ""
    text: str = ""
    name: str = ""
    id: str = ""
    input: Any = None
    content: Any = None
    tool_use_id: str = ""
    is_error: bool | None = None


class Content(msgspec.Struct):
    """A message from the model, or the results of its tools."""

    content: list[ContentBlock] | str = ""
    id: str = ""
    usage: "StreamJsonTokens | None" = None


class StreamJsonTokens(msgspec.Struct):
    """Token counts."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None

    def as_usage(self) -> Usage:
        """Return the counts; tokens written to a cache are input like any other."""
        written = self.cache_creation_input_tokens
        return Usage(
            tokens_in=self.input_tokens if written is None else (self.input_tokens or 0) + written,
            tokens_out=self.output_tokens,
            tokens_cached=self.cache_read_input_tokens,
        )


class UsageSum:
    """Adds up the usage of messages. Each part of a message repeats the counts of the whole, which may have grown."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, int, int]] = {}
        self._total = [0, 0, 0]

    def add(self, message: "Content") -> Usage | None:
        """Add a message and return the total; None if the message changes nothing."""
        usage = message.usage.as_usage() if message.usage else Usage()
        new = (usage.tokens_in or 0, usage.tokens_out or 0, usage.tokens_cached or 0)
        old = self._last.get(message.id, (0, 0, 0))
        if new == old:
            return None
        self._last[message.id] = new
        self._total = [total + now - before for total, now, before in zip(self._total, new, old, strict=True)]
        tokens_in, tokens_out, tokens_cached = self._total
        return Usage(tokens_in=tokens_in, tokens_out=tokens_out, tokens_cached=tokens_cached)


class Denial(msgspec.Struct):
    """A refused tool call."""

    tool_name: str = "a tool"
    tool_input: Any = None


class ReportedLimit(msgspec.Struct, rename={"resets_at": "resetsAt"}):
    """The rate limit status of an account."""

    status: str = ""
    resets_at: float | None = None


class ErrorInfo(msgspec.Struct):
    """An error in Qwen's format."""

    message: str = ""


class StreamJsonEvent(msgspec.Struct):
    """One line of output."""

    type: str
    subtype: str = ""
    message: Content | None = None
    parent_tool_use_id: str | None = None
    error: str | ErrorInfo | None = None
    attempt: int | None = None
    retry_delay_ms: float | None = None
    error_status: int | None = None
    rate_limit_info: ReportedLimit | None = None
    result: str = ""
    is_error: bool = False
    api_error_status: int | None = None
    num_turns: int | None = None
    total_cost_usd: float | None = None
    usage: StreamJsonTokens | None = None
    permission_denials: list[Denial] = []
    session_id: str = ""
    tools: list[str] | None = None

    @property
    def error_name(self) -> str:
        """Claude's error: one of a few names."""
        return self.error if isinstance(self.error, str) else ""

    @property
    def error_message(self) -> str:
        """Qwen's error: a sentence."""
        return self.error.message if isinstance(self.error, ErrorInfo) else ""

    def blocks(self) -> list[ContentBlock]:
        """Return the parts of the message."""
        content = self.message.content if self.message is not None else []
        return [ContentBlock(type="text", text=content)] if isinstance(content, str) else content
