"""pi: `pi -p --mode json`."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from spool.domain.agent.sign_in import Kept, SignIn, Variable, doubts, each
from spool.domain.agent.stream import (
    AgentRetry,
    Done,
    ErrorKind,
    Message,
    StreamEvent,
    ToolResult,
    ToolUse,
    Usage,
    UsageSoFar,
)
from spool.domain.text.plain_text import one_line
from spool.harness.decoding import Ending, JsonTranslator, LineDecoder, as_text, summarise
from spool.harness.program import KEYS, PROVIDERS, Program
from spool.harness.trouble import BUSY, failure, incomplete, status_in

_LOGIN = "run 'pi' and '/login', or set the API key of your provider; 'pi --list-models' lists the models"
_STATUS = re.compile(r"\A(\d{3})\b")
_NO_LOGIN = re.compile(r"^(?:Error: )?(No API key found|Model .* not found|No models available)", re.MULTILINE)
# Each update repeats the whole message so far, twice: an answer of 3 MB made 2.26 GB. The others repeat the end of a
# message or a tool, and the last one the whole conversation.
_REPEATS = tuple(
    b'{"type":"%s"' % kind
    for kind in (b"message_update", b"tool_execution_update", b"message_start", b"turn_end", b"agent_end")
)

_SIGN_IN = SignIn(
    login=_LOGIN,
    folders=(("PI_CODING_AGENT_DIR", ".pi/agent"),),
    ways=(
        (Kept("$PI_CODING_AGENT_DIR/auth.json"),),
        (Kept("$PI_CODING_AGENT_DIR/models.json", "providers.*.apiKey"),),
        *each("ANTHROPIC_OAUTH_TOKEN", "OPENCODE_API_KEY", "AI_GATEWAY_API_KEY", "GOOGLE_CLOUD_API_KEY", *KEYS),
        *each("ZAI_API_KEY", "MINIMAX_API_KEY", "MINIMAX_CN_API_KEY", "MOONSHOT_API_KEY", "KIMI_API_KEY"),
    ),
    doubts=(
        *doubts(
            "pi can use it, if it is meant for a model",
            *map(
                Variable,
                (
                    "COPILOT_GITHUB_TOKEN",
                    "GH_TOKEN",
                    "GITHUB_TOKEN",
                    "HF_TOKEN",
                    "CLOUDFLARE_API_KEY",
                    "AWS_PROFILE",
                    "AWS_ACCESS_KEY_ID",
                    "AWS_BEARER_TOKEN_BEDROCK",
                    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                    "AWS_WEB_IDENTITY_TOKEN_FILE",
                    "GOOGLE_CLOUD_PROJECT",
                    "GCLOUD_PROJECT",
                    "XIAOMI_API_KEY",
                    "XIAOMI_TOKEN_PLAN_CN_API_KEY",
                    "XIAOMI_TOKEN_PLAN_AMS_API_KEY",
                    "XIAOMI_TOKEN_PLAN_SGP_API_KEY",
                ),
            ),
        ),
        *doubts(
            "an extension may bring a provider of its own",
            Kept("$PI_CODING_AGENT_DIR/extensions"),
            Kept("$PI_CODING_AGENT_DIR/settings.json", "extensions"),
            Kept("$PI_CODING_AGENT_DIR/settings.json", "packages"),
            Kept("./.pi"),
        ),
    ),
)

HARNESS = Program(  # pi never asks for permission
    name="pi",
    sign_in=_SIGN_IN,
    install="npm install -g @mariozechner/pi-coding-agent",
    argv=("pi", "-p", "--mode", "json"),  # `-p` has no argument
    model=("--model", "{model}"),
    resume=("--session", "{session}"),
    decoder=lambda: LineDecoder(_PiTranslator(), skip=_REPEATS),
    tokens=True,
    cost=True,
    usage_so_far=True,
    settings=(".pi/agent/settings.json", ".pi/agent/models.json", ".pi/agent/AGENTS.md"),
    credentials=(".pi/agent/auth.json",),
    env_names=("PI_*", *PROVIDERS),
)


class _Cost(msgspec.Struct):
    total: float | None = None


class _PiTokens(msgspec.Struct):
    input: int = 0
    output: int = 0
    cacheRead: int = 0
    cacheWrite: int = 0
    cost: _Cost = msgspec.field(default_factory=_Cost)


class _PiBlock(msgspec.Struct):
    type: str = ""
    text: str = ""


class _PiMessage(msgspec.Struct):
    role: str = ""
    content: list[_PiBlock] | str = ""
    usage: _PiTokens | None = None
    stopReason: str = ""
    errorMessage: str = ""


class _PiResult(msgspec.Struct):
    content: Any = None


class _PiEvent(msgspec.Struct):
    type: str
    id: str = ""
    message: _PiMessage | None = None
    toolCallId: str = ""
    toolName: str = ""
    args: Any = None
    result: _PiResult | None = None
    isError: bool = False
    attempt: int | None = None
    delayMs: float | None = None
    errorMessage: str = ""


class _PiTranslator:
    """Skips the repetitions, but notes the end of the run."""

    def __init__(self) -> None:
        self._events = _PiEvents()
        self._json = JsonTranslator(_PiEvent, self._events, skip=_REPEATS)

    def event(self, line: bytes) -> Iterable[StreamEvent] | None:
        if line.startswith(_REPEATS[-1]):
            self._events.over = True
        return self._json.event(line)

    def end(self, stderr: str, side: str = "") -> Iterable[StreamEvent]:
        return self._json.end(stderr, side)


class _PiEvents:
    def __init__(self) -> None:
        self._usage = Usage(turns=0)
        self._text = self._session = self._error = ""
        self.over = False

    def take(self, event: _PiEvent) -> Iterable[StreamEvent]:
        match event.type:
            case "session":
                self._session = event.id
            case "message_end" if event.message is not None and event.message.role == "assistant":
                yield from self._message(event.message)
            case "tool_execution_start":
                yield ToolUse(tool=event.toolName, summary=summarise(event.args), call_id=event.toolCallId)
            case "tool_execution_end":
                output = as_text(event.result.content) if event.result else ""
                yield ToolResult(output=output, call_id=event.toolCallId, is_error=event.isError)
            case "agent_start":
                self.over = False
            case "auto_retry_start":
                delay_s = None if event.delayMs is None else event.delayMs / 1_000
                limited = status_in(event.errorMessage, _STATUS) in BUSY
                yield AgentRetry(
                    message=event.errorMessage, attempt=event.attempt, delay_s=delay_s, rate_limited=limited
                )

    def end(self, ending: Ending) -> Iterable[StreamEvent]:
        found = _NO_LOGIN.search(ending.stderr) if not self.over else None
        if self._error:
            yield failure(self._error, status=status_in(self._error, _STATUS), login=_LOGIN)
        elif found:
            message = ending.stderr[found.start() :].splitlines()[0]
            yield failure(one_line(message, 400), login=_LOGIN, kind=ErrorKind.AUTH)
        elif ending.json and not self.over:
            yield incomplete("the end of its run")
        if ending.json:
            yield Done(content=self._text, usage=self._usage, session=self._session)

    def _message(self, message: _PiMessage) -> Iterator[StreamEvent]:
        tokens = message.usage or _PiTokens()
        self._usage += Usage(
            tokens_in=tokens.input + tokens.cacheWrite,
            tokens_out=tokens.output,
            tokens_cached=tokens.cacheRead,
            cost_usd=tokens.cost.total,
            turns=1,
        )
        # pi exits with 0 on an API error; a successful retry clears the error.
        failed = message.stopReason in ("error", "aborted")
        self._error = (message.errorMessage or message.stopReason) if failed else ""
        blocks = [_PiBlock(type="text", text=message.content)] if isinstance(message.content, str) else message.content
        text = "\n".join(block.text for block in blocks if block.type == "text" and block.text)
        if text:
            self._text = text
            yield Message(text=text)
        if message.usage is not None:
            yield UsageSoFar(usage=self._usage)
