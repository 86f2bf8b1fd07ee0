"""Claude Code: `claude -p`, stream-json."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from spool.domain.invocation import AgentRequest, Invocation, Traits
from spool.domain.stream import (
    Denied,
    Done,
    ErrorKind,
    Failure,
    Message,
    Retry,
    StreamEvent,
    ToolResult,
    ToolUse,
    Usage,
)
from spool.engine.ports import Decoder
from spool.harness.decoding import LineDecoder, as_text, is_event, summarise

_BUSY = {429, 529}
_REFUSED = {401, 403}
_RESET_EPOCH = re.compile(r"limit reached\|(\d{10})\b")


class Claude:
    """The harness for Claude Code."""

    name = "claude"
    traits = Traits(
        program="claude",
        install="npm install -g @anthropic-ai/claude-code",
        json=True,
        cost=True,
        question_tool="AskUserQuestion",
    )

    def invoke(self, request: AgentRequest) -> Invocation:
        """Say what to run; the prompt goes by standard input, `-p` stays."""
        argv = ["claude", "-p", "--output-format", "stream-json", "--verbose"]
        if request.model:
            argv += ["--model", request.model]
        env = {}
        if request.allow_all:
            argv.append("--dangerously-skip-permissions")
            if request.is_root:  # claude refuses to skip permissions as root outside a sandbox
                env["IS_SANDBOX"] = "1"
        return Invocation(argv=tuple(argv), env=env)

    def decoder(self) -> Decoder:
        """Return a fresh decoder."""
        return LineDecoder(_Translator())


class _Block(msgspec.Struct):
    type: str = ""
    text: str = ""
    name: str = ""
    id: str = ""
    input: Any = None
    content: Any = None
    tool_use_id: str = ""
    is_error: bool | None = None


class _Message(msgspec.Struct):
    content: list[_Block] | str = ""


class _Tokens(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class _Denial(msgspec.Struct):
    tool_name: str = "a tool"
    tool_input: Any = None


class _RateLimit(msgspec.Struct, rename={"resets_at": "resetsAt"}):
    status: str = ""
    resets_at: float | None = None


class _Event(msgspec.Struct):
    type: str
    subtype: str = ""
    message: _Message | None = None
    parent_tool_use_id: str | None = None
    error: str | None = None
    attempt: int | None = None
    retry_delay_ms: float | None = None
    error_status: int | None = None
    rate_limit_info: _RateLimit | None = None
    result: str = ""
    is_error: bool = False
    api_error_status: int | None = None
    num_turns: int | None = None
    total_cost_usd: float | None = None
    usage: _Tokens | None = None
    permission_denials: list[_Denial] = []
    session_id: str = ""


_DECODE = msgspec.json.Decoder(_Event)


class _Translator:
    def __init__(self) -> None:
        self._saw_json = self._saw_result = False
        self._resets_at: float | None = None

    def event(self, line: bytes) -> Iterable[StreamEvent] | None:
        try:
            event = _DECODE.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            if not is_event(line):
                return None
            self._saw_json = True
            return ()
        self._saw_json = True
        match event.type:
            case "assistant":
                return list(self._assistant(event))
            case "user":
                return list(_tool_results(event))
            case "system" if event.subtype == "api_retry":
                return [_retry(event)]
            case "rate_limit_event" if event.rate_limit_info and event.rate_limit_info.status == "rejected":
                self._resets_at = event.rate_limit_info.resets_at
            case "result":
                self._saw_result = True
                return list(self._result(event))
        return ()

    def end(self, stderr: str) -> Iterable[StreamEvent]:  # noqa: ARG002 - the protocol's signature
        if self._saw_json and not self._saw_result:
            yield Failure(message="the output ended without a result event", error=ErrorKind.INCOMPLETE)

    def _assistant(self, event: _Event) -> Iterator[StreamEvent]:
        if event.error is not None or event.message is None:
            return  # a synthetic message that repeats an API error; the result event tells it too
        subagent = event.parent_tool_use_id is not None
        content = event.message.content
        for block in [_Block(type="text", text=content)] if isinstance(content, str) else content:
            if block.type == "text" and block.text:
                yield Message(text=block.text, subagent=subagent)
            elif block.type in ("tool_use", "server_tool_use"):
                yield ToolUse(tool=block.name, summary=summarise(block.input), call_id=block.id, subagent=subagent)

    def _result(self, event: _Event) -> Iterator[StreamEvent]:
        for denial in event.permission_denials:
            yield Denied(tool=denial.tool_name, summary=summarise(denial.tool_input))
        # `subtype` stays "success" on an API error; error_max_turns and its kin are told by it alone.
        if event.is_error or event.subtype.startswith("error"):
            yield self._failure(event)
        tokens = event.usage or _Tokens()
        yield Done(
            content=event.result,
            usage=Usage(
                tokens_in=tokens.input_tokens,
                tokens_out=tokens.output_tokens,
                tokens_cached=tokens.cache_read_input_tokens,
                cost_usd=event.total_cost_usd,
                turns=event.num_turns,
            ),
            session=event.session_id,
        )

    def _failure(self, event: _Event) -> Failure:
        status = event.api_error_status
        reset = _RESET_EPOCH.search(event.result)
        kind = ErrorKind.API
        if status in _BUSY or reset or self._resets_at:
            kind = ErrorKind.RATE_LIMIT
        elif status in _REFUSED or "Invalid API key" in event.result or "Please run /login" in event.result:
            kind = ErrorKind.AUTH
        return Failure(
            message=event.result or event.subtype,
            error=kind,
            status=status,
            resets_at=float(reset[1]) if reset else self._resets_at,
        )


def _tool_results(event: _Event) -> Iterator[StreamEvent]:
    if event.message is None or isinstance(event.message.content, str):
        return
    for block in event.message.content:
        if block.type == "tool_result":
            yield ToolResult(output=as_text(block.content), call_id=block.tool_use_id, is_error=bool(block.is_error))


def _retry(event: _Event) -> Retry:
    return Retry(
        message=f"{event.error or 'error'} {event.error_status or ''}".strip(),
        attempt=event.attempt,
        delay_s=None if event.retry_delay_ms is None else event.retry_delay_ms / 1_000,
        rate_limited=event.error_status in _BUSY,
    )
