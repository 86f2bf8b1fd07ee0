"""opencode: `opencode run --format json`."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from spool.domain.invocation import AgentRequest, Invocation, Traits
from spool.domain.stream import Denied, Done, ErrorKind, Failure, Message, StreamEvent, ToolResult, ToolUse, Usage
from spool.engine.ports import Decoder
from spool.harness.decoding import LineDecoder, is_event, summarise

_REJECTED = re.compile(r"permission requested: ([\w-]+)[^\n]*auto-reject", re.IGNORECASE)


class OpenCode:
    """The harness for opencode."""

    name = "opencode"
    traits = Traits(
        program="opencode", install="npm install -g opencode-ai", json=True, cost=True, question_tool="question"
    )

    def invoke(self, request: AgentRequest) -> Invocation:
        """Say what to run; the prompt goes by standard input."""
        argv = ["opencode", "run", "--format", "json"]
        if request.model:
            argv += ["-m", request.model]
        if request.allow_all:
            argv.append("--auto")
        return Invocation(argv=tuple(argv))

    def decoder(self) -> Decoder:
        """Return a fresh decoder."""
        return LineDecoder(_Translator())


class _Cache(msgspec.Struct):
    read: int = 0


class _Tokens(msgspec.Struct):
    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache: _Cache = msgspec.field(default_factory=_Cache)


class _ToolState(msgspec.Struct):
    status: str = ""
    input: Any = None
    output: str = ""
    error: str = ""


class _Part(msgspec.Struct):
    text: str = ""
    tool: str = ""
    callID: str = ""
    state: _ToolState | None = None
    tokens: _Tokens | None = None
    cost: float | None = None


class _ErrorData(msgspec.Struct):
    message: str = ""
    statusCode: int | None = None
    responseHeaders: dict[str, str] = {}


class _Error(msgspec.Struct):
    name: str = "error"
    data: _ErrorData = msgspec.field(default_factory=_ErrorData)


class _Event(msgspec.Struct):
    type: str
    part: _Part | None = None
    error: _Error | None = None
    sessionID: str = ""


_DECODE = msgspec.json.Decoder(_Event)


class _Translator:
    def __init__(self) -> None:
        self._usage = Usage()
        self._turns = 0
        self._text = self._session = ""
        self._saw_json = self._in_step = False
        self._held: list[StreamEvent] = []

    def event(self, line: bytes) -> Iterable[StreamEvent] | None:
        try:
            event = _DECODE.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return () if is_event(line) else None
        self._saw_json = True
        self._session = event.sessionID or self._session
        # A tool is told when it is over. Until then a promise in the same step looks like an agent that will not exit.
        held, self._held = self._held, []
        events = self._translate(event)
        if event.type == "text" and self._in_step and "</promise>" in self._text:
            self._held, events = events, []
        return [*held, *events]

    def end(self, stderr: str) -> Iterable[StreamEvent]:
        yield from self._held
        for tool in _REJECTED.findall(stderr):
            yield Denied(tool=tool)
        if self._in_step:
            yield Failure(message="the output ended in the middle of a step", error=ErrorKind.INCOMPLETE)
        if self._saw_json:
            usage = msgspec.structs.replace(self._usage, turns=self._turns)
            yield Done(content=self._text, usage=usage, session=self._session)

    def _translate(self, event: _Event) -> list[StreamEvent]:
        part = event.part or _Part()
        match event.type:
            case "step_start":
                self._in_step = True
            case "text" if part.text:
                self._text = part.text
                return [Message(text=part.text)]
            case "tool_use":
                return list(_tool(part))
            case "step_finish":
                self._in_step = False
                self._count(part)
            case "error":
                self._in_step = False
                return [_failure(event.error or _Error())]
        return []

    def _count(self, part: _Part) -> None:
        self._turns += 1
        tokens = part.tokens or _Tokens()
        self._usage += Usage(
            tokens_in=tokens.input,
            tokens_out=tokens.output + tokens.reasoning,
            tokens_cached=tokens.cache.read,
            cost_usd=part.cost,
        )


def _tool(part: _Part) -> Iterator[StreamEvent]:
    """A tool is told once, when it is over: its use and its result in one event."""
    state = part.state or _ToolState()
    yield ToolUse(tool=part.tool, summary=summarise(state.input), call_id=part.callID)
    failed = state.status == "error"
    yield ToolResult(output=state.error if failed else state.output, call_id=part.callID, is_error=failed)


def _failure(error: _Error) -> Failure:
    data = error.data
    kind = ErrorKind.API
    if data.statusCode in (429, 529):
        kind = ErrorKind.RATE_LIMIT
    elif data.statusCode in (401, 403) or error.name == "ProviderAuthError":
        kind = ErrorKind.AUTH
    return Failure(
        message=data.message or error.name,
        error=kind,
        status=data.statusCode,
        retry_after_s=_seconds(data.responseHeaders.get("retry-after")),
    )


def _seconds(header: str | None) -> float | None:
    return float(header) if header is not None and header.isdigit() else None
