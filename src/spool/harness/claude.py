"""Claude Code: `claude -p`, stream-json."""

import re
from collections.abc import Iterable, Iterator

import msgspec

from spool.domain.agent.sign_in import Kept, SignIn, Variable, doubts, each
from spool.domain.agent.stream import (
    AgentRetry,
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
from spool.harness.decoding import Ending, JsonTranslator, LineDecoder, as_text, summarise
from spool.harness.program import Program
from spool.harness.stream_json import StreamJsonEvent, StreamJsonTokens, UsageSum
from spool.harness.trouble import BUSY, failure, incomplete

_LOGIN = "run 'claude' and '/login', or set ANTHROPIC_API_KEY"
_RESET_EPOCH = re.compile(r"limit reached\|(\d{10})\b")
# The `error` of the synthetic message before a failed result.
_KINDS = {
    "rate_limit": ErrorKind.RATE_LIMIT,
    "overloaded": ErrorKind.RATE_LIMIT,
    "authentication_failed": ErrorKind.AUTH,
    "billing_error": ErrorKind.AUTH,
    "model_not_found": ErrorKind.CONFIG,
}

_SIGN_IN = SignIn(
    login=_LOGIN,
    folders=(("CLAUDE_CONFIG_DIR", ".claude"),),
    ways=(
        *each("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
        (Kept("$CLAUDE_CONFIG_DIR/.credentials.json", "claudeAiOauth"),),
    ),
    status=("auth", "status"),  # knows macOS's keychain too
    status_no='"loggedIn": false',
    status_needs="~/.claude.json",
    doubts=(
        *doubts(
            "another service's credentials are used",
            *map(Variable, ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")),
        ),
        *doubts("its settings are elsewhere", Variable("CLAUDE_CONFIG_DIR")),
        *doubts("its settings may hold a key", Kept("/etc/claude-code/managed-settings.json")),
        *doubts(
            "its settings may hold a key",
            *(
                Kept(path, key)
                for path in (
                    "$CLAUDE_CONFIG_DIR/settings.json",
                    "./.claude/settings.json",
                    "./.claude/settings.local.json",
                )
                for key in ("apiKeyHelper", "env")
            ),
        ),
    ),
)

HARNESS = Program(
    name="claude",
    provider="anthropic",
    sign_in=_SIGN_IN,
    install="npm install -g @anthropic-ai/claude-code",
    argv=("claude", "-p", "--output-format", "stream-json", "--verbose"),  # `-p` has no argument
    model=("--model", "{model}"),
    allow_all=("--dangerously-skip-permissions",),
    sandbox_env={"IS_SANDBOX": "1"},  # as root, claude skips permissions only in a sandbox
    resume=("--resume", "{session}"),
    decoder=lambda: LineDecoder(JsonTranslator(StreamJsonEvent, ClaudeEvents(_LOGIN))),
    tokens=True,
    cost=True,
    usage_so_far=True,
    question_tool="AskUserQuestion",
    folder=".claude",
    settings=(".claude.json", ".claude/settings.json", ".claude/CLAUDE.md", ".claude/agents", ".claude/commands"),
    credentials=(".claude/.credentials.json",),
    env_names=("ANTHROPIC_*", "CLAUDE_*", "DISABLE_*", "IS_SANDBOX"),
)


class ClaudeEvents:
    """Translates stream-json events."""

    def __init__(self, login: str) -> None:
        self._login = login
        self._saw_result = False
        self._error = ""
        self._used = UsageSum()
        self._resets_at: float | None = None

    def take(self, event: StreamJsonEvent) -> Iterable[StreamEvent]:
        """Translate one event."""
        match event.type:
            case "assistant":
                yield from self._assistant(event)
            case "user":
                yield from _tool_results(event)
            case "system" if event.subtype == "api_retry":
                yield _retry(event)
            case "rate_limit_event" if event.rate_limit_info and event.rate_limit_info.status == "rejected":
                self._resets_at = event.rate_limit_info.resets_at
            case "result":
                self._saw_result = True
                yield from self._result(event)

    def end(self, ending: Ending) -> Iterable[StreamEvent]:
        """Report a missing result: claude has lost 5 of 6 MB on a pipe and exited with 0."""
        if ending.json and not self._saw_result:
            yield incomplete("a result event")

    def _assistant(self, event: StreamJsonEvent) -> Iterator[StreamEvent]:
        if event.error_name:  # a synthetic message that repeats an API error; the result event reports it too
            self._error = event.error_name
            return
        subagent = event.parent_tool_use_id is not None
        for block in event.blocks():
            if block.type == "text" and block.text:
                yield Message(text=block.text, subagent=subagent)
            elif block.type in ("tool_use", "server_tool_use"):
                yield ToolUse(tool=block.name, summary=summarise(block.input), call_id=block.id, subagent=subagent)
        if event.message is not None and (used := self._used.add(event.message)):
            yield UsageSoFar(usage=used)

    def _result(self, event: StreamJsonEvent) -> Iterator[StreamEvent]:
        for denial in event.permission_denials:
            yield Denied(tool=denial.tool_name, summary=summarise(denial.tool_input))
        # `subtype` is "success" on an API error, but only `subtype` reports error_max_turns and the like.
        if event.is_error or event.subtype.startswith("error"):
            yield self._failure(event)
        yield Done(content=event.result, usage=_usage(event), session=event.session_id)

    def _failure(self, event: StreamJsonEvent) -> Failure:
        reset = _RESET_EPOCH.search(event.result)
        kind = ErrorKind.RATE_LIMIT if reset or self._resets_at else _KINDS.get(self._error)
        return failure(
            event.result or event.error_message or event.subtype,
            status=event.api_error_status,
            login=self._login,
            kind=kind,
            resets_at=float(reset[1]) if reset else self._resets_at,
        )


def _usage(event: StreamJsonEvent) -> Usage:
    usage = (event.usage or StreamJsonTokens()).as_usage()
    return msgspec.structs.replace(usage, cost_usd=event.total_cost_usd, turns=event.num_turns)


def _tool_results(event: StreamJsonEvent) -> Iterator[StreamEvent]:
    for block in event.blocks():
        if block.type == "tool_result":
            yield ToolResult(output=as_text(block.content), call_id=block.tool_use_id, is_error=bool(block.is_error))


def _retry(event: StreamJsonEvent) -> AgentRetry:
    return AgentRetry(
        message=f"{event.error_name or 'error'} {event.error_status or ''}".strip(),
        attempt=event.attempt,
        delay_s=None if event.retry_delay_ms is None else event.retry_delay_ms / 1_000,
        rate_limited=event.error_status in BUSY,
    )
