"""opencode: `opencode run --format json`."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from spool.domain.agent.sign_in import Kept, SignIn, each
from spool.domain.agent.stream import (
    Denied,
    Done,
    ErrorKind,
    Failure,
    Message,
    StreamEvent,
    ToolResult,
    ToolUse,
    Usage,
    UsageSoFar,
)
from spool.harness.decoding import Ending, JsonTranslator, LineDecoder, summarise
from spool.harness.program import KEYS, PROVIDERS, Program
from spool.harness.trouble import failure, incomplete

_LOGIN = "sign in with 'opencode auth login', and list the models with 'opencode models'"
_REJECTED_STDERR = re.compile(r"permission requested: ([\w-]+)[^\n]*auto-reject", re.IGNORECASE)
# A refused tool is an error with opencode's own text: no user to ask, or a rule of the user's.
_REJECTED_TOOL = ("The user rejected permission", "The user has specified a rule which prevents")

_SIGN_IN = SignIn(
    login="opencode auth login",
    folders=(("XDG_DATA_HOME", ".local/share"),),
    ways=(
        (Kept("$XDG_DATA_HOME/opencode/auth.json"),),
        *each("OPENCODE_AUTH_CONTENT", "OPENCODE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "AZURE_API_KEY", *KEYS),
    ),
    keyless="no key was found, but its free models, and those in its settings, need none",
)

HARNESS = Program(
    name="opencode",
    sign_in=_SIGN_IN,
    install="npm install -g opencode-ai",
    argv=("opencode", "run", "--format", "json"),
    model=("-m", "{model}"),
    allow_all=("--auto",),
    resume=("-s", "{session}"),
    decoder=lambda: LineDecoder(JsonTranslator(_OpencodeEvent, _OpencodeEvents())),
    tokens=True,
    cost=True,
    usage_so_far=True,
    question_tool="question",
    folder=".opencode",
    settings=(".config/opencode",),
    credentials=(".local/share/opencode/auth.json",),
    env_names=("OPENCODE_*", *PROVIDERS),
)


class _Cache(msgspec.Struct):
    read: int = 0
    write: int = 0


class _OpencodeTokens(msgspec.Struct):
    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache: _Cache = msgspec.field(default_factory=_Cache)


class _ToolState(msgspec.Struct):
    status: str = ""
    input: Any = None
    output: str = ""
    error: str = ""


class _OpencodePart(msgspec.Struct):
    text: str = ""
    tool: str = ""
    callID: str = ""
    state: _ToolState | None = None
    tokens: _OpencodeTokens | None = None
    cost: float | None = None


class _ErrorData(msgspec.Struct):
    message: str = ""
    statusCode: int | None = None
    responseHeaders: dict[str, str] = {}


class _OpencodeError(msgspec.Struct):
    name: str = "error"
    data: _ErrorData = msgspec.field(default_factory=_ErrorData)


class _OpencodeEvent(msgspec.Struct):
    type: str
    part: _OpencodePart | None = None
    error: _OpencodeError | None = None
    sessionID: str = ""


class _OpencodeEvents:
    def __init__(self) -> None:
        self._usage = Usage(turns=0)
        self._text = self._session = ""
        self._denied = self._in_step = False
        self._held: list[StreamEvent] = []

    def take(self, event: _OpencodeEvent) -> Iterable[StreamEvent]:
        self._session = event.sessionID or self._session
        # A tool is reported when it has ended. Until then a promise in the same step looks like an agent that hangs.
        held, self._held = self._held, []
        events = list(self._translate(event))
        if event.type == "text" and self._in_step and "</promise>" in self._text:
            self._held, events = events, []
        return [*held, *events]

    def end(self, ending: Ending) -> Iterable[StreamEvent]:
        yield from self._held
        for tool in _REJECTED_STDERR.findall(ending.stderr) if not self._denied else ():
            yield Denied(tool=tool)
        if self._in_step:
            yield incomplete("the end of a step")
        if ending.json:
            yield Done(content=self._text, usage=self._usage, session=self._session)

    def _translate(self, event: _OpencodeEvent) -> Iterator[StreamEvent]:
        part = event.part or _OpencodePart()
        match event.type:
            case "step_start":
                self._in_step = True
            case "text" if part.text:
                self._text = part.text
                yield Message(text=part.text)
            case "tool_use":
                yield from self._tool(part)
            case "step_finish":
                self._in_step = False
                self._count(part)
                if part.tokens is not None:
                    yield UsageSoFar(usage=self._usage)
            case "error":
                self._in_step = False
                yield _failure(event.error or _OpencodeError())

    def _tool(self, part: _OpencodePart) -> Iterator[StreamEvent]:
        """Yield a tool's use and its result, which opencode reports in one event."""
        state = part.state or _ToolState()
        failed = state.status == "error"
        summary = summarise(state.input)
        yield ToolUse(tool=part.tool, summary=summary, call_id=part.callID)
        yield ToolResult(output=state.error if failed else state.output, call_id=part.callID, is_error=failed)
        if failed and state.error.startswith(_REJECTED_TOOL):
            self._denied = True
            yield Denied(tool=part.tool, summary=summary)

    def _count(self, part: _OpencodePart) -> None:
        tokens = part.tokens or _OpencodeTokens()
        self._usage += Usage(
            tokens_in=tokens.input + tokens.cache.write,
            tokens_out=tokens.output + tokens.reasoning,
            tokens_cached=tokens.cache.read,
            cost_usd=part.cost,
            turns=1,
        )


def _failure(error: _OpencodeError) -> Failure:
    data = error.data
    unknown = error.name in ("ProviderAuthError", "ProviderModelNotFoundError", "UnknownError")
    return failure(
        data.message or error.name,
        status=data.statusCode,
        # opencode's own server reports an unknown provider or model as an UnknownError without a status.
        kind=ErrorKind.AUTH if unknown and data.statusCode is None else None,
        login=_LOGIN,
        retry_after_s=_seconds(data.responseHeaders.get("retry-after")),
    )


def _seconds(header: str | None) -> float | None:
    return float(header) if header is not None and header.isdigit() else None
