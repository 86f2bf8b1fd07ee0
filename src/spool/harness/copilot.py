"""GitHub Copilot CLI: `copilot --output-format json`, with its usage in a separate file."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from spool.decoders import decoded
from spool.domain.agent.sign_in import Kept, SignIn, doubts, each
from spool.domain.agent.stream import (
    AgentRetry,
    Denied,
    Done,
    ErrorKind,
    Message,
    StreamEvent,
    ToolResult,
    ToolUse,
    Usage,
)
from spool.harness.decoding import Ending, JsonTranslator, LineDecoder, summarise, uncached
from spool.harness.program import Program
from spool.harness.trouble import failure, incomplete

_LOGIN = "run 'copilot' and '/login', or set COPILOT_GITHUB_TOKEN, GH_TOKEN or the COPILOT_PROVIDER_* variables"
_NO_LOGIN = "No authentication information found"
_KINDS = {
    "rate_limit": ErrorKind.RATE_LIMIT,
    "quota": ErrorKind.RATE_LIMIT,
    "authentication": ErrorKind.AUTH,
    "authorization": ErrorKind.AUTH,
}
# Two events per few characters of an answer or of a tool's arguments; the whole message follows anyway.
_DELTAS = (b'{"type":"assistant.message_delta"', b'{"type":"assistant.tool_call_delta"')

_SIGN_IN = SignIn(
    login=_LOGIN,
    folders=(("COPILOT_HOME", ".copilot"), ("GH_CONFIG_DIR", ".config/gh")),
    ways=(
        *each("COPILOT_PROVIDER_BASE_URL", "COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"),
        *(
            (Kept("$COPILOT_HOME/config.json", key),)
            for key in ("loggedInUsers", "logged_in_users", "copilotTokens", "copilot_tokens")
        ),
    ),
    doubts=(
        *doubts("copilot can use GitHub's own program, gh, which may be signed in", Kept("$GH_CONFIG_DIR/hosts.yml")),
        *doubts("copilot was used here, and its token may be in the system's keyring", Kept("$COPILOT_HOME")),
    ),
)

HARNESS = Program(
    name="copilot",
    provider="github",
    sign_in=_SIGN_IN,
    install="npm install -g @github/copilot",
    argv=("copilot", "--no-auto-update", "--output-format", "json"),
    side=("--usage-output-file", "{side_file}"),
    model=("--model", "{model}"),
    allow_all=("--allow-all",),
    resume=("--resume={session}",),
    decoder=lambda: LineDecoder(JsonTranslator(_CopilotEvent, _CopilotEvents(), skip=_DELTAS)),
    tokens=True,
    question_tool="ask_user",
    settings=(".copilot/mcp-config.json", ".copilot/settings.json"),
    credentials=(".copilot/config.json",),
    env_names=("COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN"),
)


class _CopilotResult(msgspec.Struct):
    content: str = ""


class _CopilotError(msgspec.Struct):
    message: str = ""
    code: str = ""


class _Data(msgspec.Struct):
    content: str = ""
    toolCallId: str = ""
    toolName: str = ""
    arguments: Any = None
    parentToolCallId: str | None = None
    success: bool = True
    result: _CopilotResult | None = None
    error: _CopilotError | None = None
    errorType: str = ""
    message: str = ""
    statusCode: int | None = None
    reason: str = ""


class _CopilotEvent(msgspec.Struct):
    type: str
    data: _Data | None = None
    sessionId: str = ""
    exitCode: int | None = None


class _CopilotUsage(msgspec.Struct):
    inputTokens: int = 0
    outputTokens: int = 0
    cacheReadTokens: int = 0


class _Requests(msgspec.Struct):
    count: int = 0


class _CopilotMetrics(msgspec.Struct):
    usage: _CopilotUsage = msgspec.field(default_factory=_CopilotUsage)
    requests: _Requests = msgspec.field(default_factory=_Requests)


class _UsageFile(msgspec.Struct):
    modelMetrics: dict[str, _CopilotMetrics] = {}


class _CopilotEvents:
    def __init__(self) -> None:
        self._tools: dict[str, ToolUse] = {}
        self._text = self._session = ""
        self._error: _Data | None = None
        self._exit_code: int | None = None

    def take(self, event: _CopilotEvent) -> Iterable[StreamEvent]:
        data = event.data or _Data()
        match event.type:
            case "assistant.message" if data.content:
                subagent = data.parentToolCallId is not None
                self._text = self._text if subagent else data.content
                yield Message(text=data.content, subagent=subagent)
            case "tool.execution_start":
                use = ToolUse(
                    tool=data.toolName,
                    summary=summarise(data.arguments),
                    call_id=data.toolCallId,
                    subagent=data.parentToolCallId is not None,
                )
                self._tools[data.toolCallId] = use
                yield use
            case "tool.execution_complete":
                yield from self._tool_over(data)
            case "assistant.turn_retry":
                yield AgentRetry(message=data.reason.replace("_", " "), rate_limited=data.reason == "rate_limit")
            case "session.error":
                self._error = data
            case "result":
                self._session, self._exit_code = event.sessionId, event.exitCode or 0

    def end(self, ending: Ending) -> Iterable[StreamEvent]:
        if self._error is not None and self._exit_code != 0:
            error = self._error
            kind = _KINDS.get(error.errorType)
            yield failure(error.message, status=error.statusCode, login=_LOGIN, kind=kind)
        elif ending.json and self._exit_code is None:
            yield incomplete("a result event")
        elif not ending.json and _NO_LOGIN in ending.stderr:
            yield failure(f"{_NO_LOGIN}.", login=_LOGIN, kind=ErrorKind.AUTH)
        if ending.json:
            yield Done(content=self._text, usage=_usage(ending.side), session=self._session)

    def _tool_over(self, data: _Data) -> Iterator[StreamEvent]:
        use = self._tools.pop(data.toolCallId, ToolUse(tool="a tool"))
        output = data.error.message if data.error else data.result.content if data.result else ""
        yield ToolResult(output=output, call_id=data.toolCallId, is_error=not data.success)
        if data.error is not None and data.error.code in ("denied", "rejected"):
            yield Denied(tool=use.tool, summary=use.summary)


def _usage(side: str) -> Usage:
    try:
        report = decoded(side.encode(), _UsageFile)
    except msgspec.MsgspecError:
        return Usage()  # an agent that was stopped writes no usage file
    usage = Usage()
    for model in report.modelMetrics.values():
        usage += Usage(
            tokens_in=uncached(model.usage.inputTokens, model.usage.cacheReadTokens),
            tokens_out=model.usage.outputTokens,
            tokens_cached=model.usage.cacheReadTokens,
            turns=model.requests.count,
        )
    return usage
