"""Qwen Code: `qwen -o stream-json`, a variant of Claude's format."""

import re
from collections.abc import Iterable

import msgspec

from spool.domain.agent.sign_in import Kept, SignIn, Variable, doubts, together
from spool.domain.agent.stream import Denied, Done, ErrorKind, Message, StreamEvent, Usage, UsageSoFar
from spool.harness.claude import ClaudeEvents
from spool.harness.decoding import Ending, JsonTranslator, LineDecoder, uncached
from spool.harness.program import Program
from spool.harness.stream_json import StreamJsonEvent
from spool.harness.trouble import failure

_LOGIN = "run 'qwen' and '/auth', or set OPENAI_API_KEY and OPENAI_BASE_URL and pick 'openai' in ~/.qwen/settings.json"
# qwen reports an API error as the model's text, in a successful result, with exit code 0.
_API_ERROR = re.compile(r"\[API Error: (?:(\d{3})\b)?.*\]\s*\Z", re.DOTALL)
_EDITORS = {"edit", "write_file", "run_shell_command"}

_SETTINGS = "$QWEN_HOME/settings.json"
_KEYS = ("OPENAI_API_KEY", "DASHSCOPE_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")
_SIGN_IN = SignIn(
    login=_LOGIN,
    folders=(("QWEN_HOME", ".qwen"),),
    env_files=("$QWEN_HOME/.env", "~/.env"),
    ways=(
        together("OPENAI_API_KEY", "OPENAI_MODEL", "OPENAI_BASE_URL"),
        together("ANTHROPIC_API_KEY", "ANTHROPIC_MODEL", "ANTHROPIC_BASE_URL"),
        together("GEMINI_API_KEY", "GEMINI_MODEL"),
        together("GOOGLE_API_KEY", "GOOGLE_MODEL"),
        (Kept(_SETTINGS, "security.auth.apiKey"),),
        (Kept(_SETTINGS, "security.auth.selectedType"), Kept(_SETTINGS, "env")),
        *((Kept(_SETTINGS, "security.auth.selectedType"), Variable(key)) for key in _KEYS),
    ),
    doubts=(
        *doubts(
            "a provider of your own may have a key of its own, or none",
            Kept(_SETTINGS, "modelProviders"),
        ),
        *doubts("its key may be in a variable that Spool does not know", Kept(_SETTINGS, "security.auth")),
        *doubts("qwen needs a choice of provider too: run 'qwen auth'", *map(Variable, _KEYS)),
        *doubts("the free sign-in that made it has ended, for most versions", Kept("$QWEN_HOME/oauth_creds.json")),
        *doubts(
            "it may hold a key",
            *map(Kept, ("./.env", "./.qwen/.env", "./.qwen/settings.json", "/etc/qwen-code/settings.json")),
        ),
    ),
)

HARNESS = Program(
    name="qwen",
    provider="alibaba",
    sign_in=_SIGN_IN,
    install="npm install -g @qwen-code/qwen-code",
    argv=("qwen", "-o", "stream-json"),
    model=("-m", "{model}"),
    allow_all=("--yolo",),
    resume=("--resume", "{session}"),
    decoder=lambda: LineDecoder(JsonTranslator(StreamJsonEvent, _QwenEvents())),
    tokens=True,
    usage_so_far=True,
    question_tool="ask_user_question",
    folder=".qwen",
    settings=(".qwen/settings.json", ".qwen/QWEN.md", ".qwen/installation_id"),
    credentials=(".qwen/oauth_creds.json",),
    env_names=("QWEN_*", "DASHSCOPE_*", "OPENAI_*"),
)


class _QwenEvents:
    def __init__(self) -> None:
        self._shared = ClaudeEvents(_LOGIN)
        self._withheld = False

    def take(self, event: StreamJsonEvent) -> Iterable[StreamEvent]:
        if event.tools is not None:
            self._withheld = not _EDITORS.intersection(event.tools)
        for translated in self._shared.take(event):
            match translated:
                case Message() if _API_ERROR.fullmatch(translated.text):
                    pass  # the result repeats it
                case UsageSoFar():
                    yield msgspec.structs.replace(translated, usage=_uncached(translated.usage))
                case Done():
                    yield from self._done(translated, event)
                case _:
                    yield translated

    def end(self, ending: Ending) -> Iterable[StreamEvent]:
        return self._shared.end(ending)

    def _done(self, done: Done, event: StreamJsonEvent) -> Iterable[StreamEvent]:
        if self._withheld:
            yield Denied(tool="all editing tools")
        if event.error_message and "auth" in event.error_message:
            yield failure(event.error_message, login=_LOGIN, kind=ErrorKind.AUTH)
        elif found := _API_ERROR.search(done.content):
            yield failure(found[0], status=int(found[1]) if found[1] else None, login=_LOGIN)
        yield msgspec.structs.replace(done, usage=_uncached(done.usage))


def _uncached(usage: Usage) -> Usage:
    """Return the usage without cached tokens in its input, where qwen includes them."""
    return msgspec.structs.replace(usage, tokens_in=uncached(usage.tokens_in, usage.tokens_cached))
