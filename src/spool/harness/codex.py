"""Codex: `codex exec --json`."""

import re
from collections.abc import Iterable, Iterator

import msgspec

from spool.domain.agent.sign_in import Kept, SignIn, Variable, doubts, each
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
from spool.harness.decoding import Ending, JsonTranslator, LineDecoder, uncached
from spool.harness.program import Program
from spool.harness.trouble import BUSY, failure, incomplete, status_in

_LOGIN = "sign in with 'codex login', or set the key that ~/.codex/config.toml names for your provider"
_RETRY = re.compile(r"Reconnecting\.\.\. (?:(\d+)/\d+)?(.*)", re.DOTALL)
_STATUS = re.compile(r"(?:unexpected status|last status:) (\d{3})\b")
_LIMITED = re.compile(r"hit your usage limit|is at capacity|rate limit reached", re.IGNORECASE)
# What a command prints in codex's sandbox; outside it they have other causes, so they count only without allow-all.
_SANDBOX = ("Read-only file system", "Operation not permitted", "Permission denied")
_NO_TOOLS = {"agent_message", "reasoning", "error", "todo_list"}

_SIGN_IN = SignIn(
    login=_LOGIN,
    folders=(("CODEX_HOME", ".codex"),),
    ways=(
        *each("CODEX_API_KEY"),
        (Kept("$CODEX_HOME/auth.json", "tokens"),),
        (Kept("$CODEX_HOME/auth.json", "OPENAI_API_KEY"),),
    ),
    status=("login", "status"),  # knows the system's keyring too, but says no to each provider of the person's own
    status_no="Not logged in",
    doubts=(
        *doubts("not every version of codex uses it", Variable("OPENAI_API_KEY"), Variable("CODEX_ACCESS_TOKEN")),
        *doubts(
            "a provider of your own has a key of its own, or none",
            *(
                Kept(path, key)
                for path in ("$CODEX_HOME/config.toml", "./.codex/config.toml", "/etc/codex/config.toml")
                for key in ("model_provider", "oss_provider", "profile")
            ),
        ),
        *doubts("it may name a provider", Kept("/etc/codex/managed_config.toml")),
    ),
)

HARNESS = Program(
    name="codex",
    provider="openai",
    sign_in=_SIGN_IN,
    install="npm install -g @openai/codex",
    argv=("codex", "exec", "--json", "--skip-git-repo-check"),  # a loop may run without git
    model=("-m", "{model}"),
    allow_all=("--dangerously-bypass-approvals-and-sandbox",),
    resume=("resume", "{session}"),
    last=("-",),  # reads the prompt from standard input
    decoder=lambda: LineDecoder(JsonTranslator(_CodexEvent, _CodexEvents())),
    tokens=True,
    question_tool="request_user_input",
    folder=".codex",
    settings=(".codex/config.toml", ".codex/AGENTS.md", ".codex/prompts"),
    credentials=(".codex/auth.json",),
    env_names=("OPENAI_*", "CODEX_*"),
)


class _CodexItem(msgspec.Struct):
    id: str = ""
    type: str = ""
    text: str = ""
    message: str = ""
    command: str = ""
    aggregated_output: str = ""
    exit_code: int | None = None
    status: str = ""
    changes: list["_EditedFile"] = []
    tool: str = ""
    query: str = ""


class _EditedFile(msgspec.Struct):
    path: str = ""


class _CodexTokens(msgspec.Struct):
    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    output_tokens: int | None = None


class _CodexError(msgspec.Struct):
    message: str = ""


class _CodexEvent(msgspec.Struct):
    type: str
    thread_id: str = ""
    item: _CodexItem | None = None
    usage: _CodexTokens | None = None
    message: str = ""
    error: _CodexError | None = None


class _CodexEvents:
    def __init__(self) -> None:
        self._session = self._text = self._error = ""
        self._started: set[str] = set()
        self._worked = self._over = False

    def take(self, event: _CodexEvent) -> Iterable[StreamEvent]:
        match event.type:
            case "thread.started":
                self._session = event.thread_id
            case "item.started" if event.item is not None:
                yield from self._begun(event.item)
            case "item.completed" if event.item is not None:
                yield from self._finished(event.item)
            case "error":
                yield from self._trouble(event.message)
            case "turn.failed":
                self._over = True
                yield _failure(event.error.message if event.error else self._error)
                yield Done(session=self._session)
            case "turn.completed":
                self._over = True
                yield from self._done(event.usage or _CodexTokens())

    def end(self, ending: Ending) -> Iterable[StreamEvent]:
        if ending.json and not self._over:
            yield _failure(self._error) if self._error else incomplete("the end of its turn")

    def _begun(self, item: _CodexItem) -> Iterator[StreamEvent]:
        if item.type not in _NO_TOOLS:
            self._started.add(item.id)
            yield ToolUse(tool=item.tool or item.type, summary=_summary(item), call_id=item.id)

    def _finished(self, item: _CodexItem) -> Iterator[StreamEvent]:
        if item.type == "agent_message" and item.text:
            self._text = item.text
            yield Message(text=item.text)
        # codex also prints error items without a failure, for example for a model that it does not know.
        if item.type in _NO_TOOLS:
            return
        if item.id not in self._started:
            yield from self._begun(item)
        failed = item.status in ("failed", "declined")
        self._worked = self._worked or not failed
        yield ToolResult(output=item.aggregated_output, call_id=item.id, is_error=failed)
        if item.status == "declined":
            yield Denied(tool=item.type, summary=_summary(item))
        elif failed and any(word in item.aggregated_output[-2_000:] for word in _SANDBOX):
            yield Denied(tool=item.type, summary=_summary(item), withheld=True)

    def _trouble(self, message: str) -> Iterator[StreamEvent]:
        retry = _RETRY.fullmatch(message)
        if retry is None:
            self._error = message
            return
        yield AgentRetry(
            message=retry[2].strip(" ()") or message,
            attempt=int(retry[1]) if retry[1] else None,
            rate_limited=status_in(message, _STATUS) in BUSY,
        )

    def _done(self, tokens: _CodexTokens) -> Iterator[StreamEvent]:
        if not self._worked:
            # A command that its read-only sandbox refuses at once does not appear in the stream at all.
            yield Denied(tool="whatever its sandbox forbids", withheld=True)
        usage = Usage(
            tokens_in=uncached(tokens.input_tokens, tokens.cached_input_tokens),
            tokens_out=tokens.output_tokens,
            tokens_cached=tokens.cached_input_tokens,
        )
        yield Done(content=self._text, usage=usage, session=self._session)


def _summary(item: _CodexItem) -> str:
    return item.command or ", ".join(change.path for change in item.changes) or item.query


def _failure(message: str) -> StreamEvent:
    limited = ErrorKind.RATE_LIMIT if _LIMITED.search(message) else None
    return failure(message, status=status_in(message, _STATUS), login=_LOGIN, kind=limited)
