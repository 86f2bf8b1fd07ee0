"""Gemini CLI: `gemini -o stream-json`."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from spool.domain.agent.sign_in import Kept, SignIn, Variable, doubts, each, together
from spool.domain.agent.stream import Denied, Done, ErrorKind, Message, StreamEvent, ToolResult, ToolUse, Usage
from spool.domain.text.plain_text import one_line
from spool.harness.decoding import Ending, JsonTranslator, LineDecoder, as_text, summarise
from spool.harness.program import Program
from spool.harness.trouble import failure, incomplete, status_in

_LOGIN = "run 'gemini' once and sign in, or set GEMINI_API_KEY"
_STATUS = re.compile(r'"code":\s*(\d{3})\b')
# gemini's own words for a status 429, which its message no longer contains.
_LIMITED = ("Please wait and try again later", "You have exhausted your", "exceeded your current quota")
_NO_LOGIN = ("Please set an Auth method", "When using Gemini API, you must specify", "authentication failed")
_UNTRUSTED = "not running in a trusted directory"
_TRUST = "start 'gemini' here once and trust the folder, or allow all tools"
_EDITORS = {"write_file", "replace", "run_shell_command"}

_SIGN_IN = SignIn(
    login=_LOGIN,
    folders=(("GEMINI_CLI_HOME", ""),),
    env_files=("$GEMINI_CLI_HOME/.gemini/.env", "~/.env"),
    ways=(
        *each("GEMINI_API_KEY"),
        together("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_API_KEY"),
        together("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"),
        (Kept("$GEMINI_CLI_HOME/.gemini/oauth_creds.json"),),
    ),
    doubts=(
        *doubts("its key may be in the system's keyring", Kept("$GEMINI_CLI_HOME/.gemini/gemini-credentials.json")),
        *doubts(
            "the credentials for it may be in the system's keyring",
            Kept("$GEMINI_CLI_HOME/.gemini/settings.json", "security.auth"),
            Kept("$GEMINI_CLI_HOME/.gemini/settings.json", "selectedAuthType"),
        ),
        *doubts(
            "the credentials of Google Cloud, or of a gateway, are used",
            *map(
                Variable,
                (
                    "GOOGLE_GENAI_USE_VERTEXAI",
                    "GOOGLE_GENAI_USE_GCA",
                    "GOOGLE_GEMINI_BASE_URL",
                    "GEMINI_CLI_USE_COMPUTE_ADC",
                    "CLOUD_SHELL",
                ),
            ),
        ),
        *doubts(
            "it may hold a key",
            *map(Kept, ("./.env", "./.gemini/.env", "./.gemini/settings.json", "/etc/gemini-cli/settings.json")),
        ),
    ),
)

HARNESS = Program(
    name="gemini",
    provider="gcp.gemini",
    sign_in=_SIGN_IN,
    install="npm install -g @google/gemini-cli",
    argv=("gemini", "-o", "stream-json"),
    model=("-m", "{model}"),
    allow_all=("--yolo", "--skip-trust"),  # gemini ignores `--yolo` in an untrusted folder
    resume=("--resume", "{session}"),
    decoder=lambda: LineDecoder(JsonTranslator(_GeminiEvent, _GeminiEvents())),
    tokens=True,
    question_tool="ask_user",
    folder=".gemini",
    settings=(".gemini/settings.json", ".gemini/GEMINI.md", ".gemini/google_accounts.json", ".gemini/installation_id"),
    credentials=(".gemini/oauth_creds.json",),
    env_names=("GEMINI_*", "GOOGLE_*"),
)


class _GeminiError(msgspec.Struct):
    type: str = ""
    message: str = ""


class _Stats(msgspec.Struct):
    input: int | None = None
    output_tokens: int | None = None
    cached: int | None = None


class _GeminiEvent(msgspec.Struct):
    type: str
    session_id: str = ""
    role: str = ""
    content: str = ""
    delta: bool = False
    tool_name: str = ""
    tool_id: str = ""
    parameters: Any = None
    status: str = ""
    output: Any = None
    error: _GeminiError | None = None
    message: str = ""
    stats: _Stats | None = None


class _GeminiEvents:
    def __init__(self) -> None:
        self._session = ""
        self._in_message = self._edited = self._over = False

    def take(self, event: _GeminiEvent) -> Iterable[StreamEvent]:
        match event.type:
            case "init":
                self._session = event.session_id
            case "message" if event.role == "assistant" and event.content:
                self._in_message = event.delta
                yield Message(text=event.content, partial=event.delta)
            case "tool_use":
                self._edited = self._edited or event.tool_name in _EDITORS
                yield from self._end_message()
                yield ToolUse(tool=event.tool_name, summary=summarise(event.parameters), call_id=event.tool_id)
            case "tool_result":
                failed = event.status == "error"
                output = event.error.message if event.error else as_text(event.output)
                yield ToolResult(output=output, call_id=event.tool_id, is_error=failed)
                if failed and event.error and event.error.type in ("policy_violation", "permission_denied"):
                    yield Denied(tool=event.tool_id)
            case "result":
                self._over = True
                yield from self._end_message()
                yield from self._result(event)

    def end(self, ending: Ending) -> Iterable[StreamEvent]:
        if ending.json and not self._over:
            yield incomplete("a result event")
        elif not ending.json:
            yield from _refusal(ending.stderr)

    def _end_message(self) -> Iterator[StreamEvent]:
        """End a message that came in pieces."""
        if self._in_message:
            self._in_message = False
            yield Message(text="")

    def _result(self, event: _GeminiEvent) -> Iterator[StreamEvent]:
        if event.status == "error":
            yield _failure(event.error.message if event.error else "error")
        elif not self._edited:
            # Without --yolo, gemini hides these tools from the model and reports nothing.
            yield Denied(tool="all editing tools", withheld=True)
        stats = event.stats or _Stats()
        usage = Usage(tokens_in=stats.input, tokens_out=stats.output_tokens, tokens_cached=stats.cached)
        yield Done(usage=usage, session=self._session)


def _refusal(stderr: str) -> Iterator[StreamEvent]:
    """Yield why gemini did not start, which it prints on standard error only."""
    for line in stderr.splitlines():
        if _UNTRUSTED in line:
            yield failure(one_line(line, 400), login=_LOGIN, kind=ErrorKind.CONFIG, hint=_TRUST)
        elif any(words in line for words in _NO_LOGIN):
            yield failure(one_line(line, 400), login=_LOGIN, kind=ErrorKind.AUTH)


def _failure(message: str) -> StreamEvent:
    limited = ErrorKind.RATE_LIMIT if any(words in message for words in _LIMITED) else None
    return failure(message, status=status_in(message, _STATUS), login=_LOGIN, kind=limited)
