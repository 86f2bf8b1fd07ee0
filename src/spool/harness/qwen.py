"""Qwen Code: `qwen -o stream-json`, a variant of Claude's format."""

import re
from collections.abc import Iterable

import msgspec

from spool.domain.stream import Denied, Done, ErrorKind, Message, StreamEvent, Usage, UsageSoFar
from spool.harness.claude import ClaudeEvents
from spool.harness.decoding import Ending, JsonTranslator, LineDecoder, uncached
from spool.harness.program import Program
from spool.harness.stream_json import Event
from spool.harness.trouble import failure

_LOGIN = "run 'qwen' and '/auth', or set OPENAI_API_KEY and OPENAI_BASE_URL and pick 'openai' in ~/.qwen/settings.json"
# qwen reports an API error as the model's text, in a successful result, with exit code 0.
_API_ERROR = re.compile(r"\[API Error: (?:(\d{3})\b)?.*\]\s*\Z", re.DOTALL)
_EDITORS = {"edit", "write_file", "run_shell_command"}

HARNESS = Program(
    name="qwen",
    install="npm install -g @qwen-code/qwen-code",
    argv=("qwen", "-o", "stream-json"),
    model=("-m", "{model}"),
    allow_all=("--yolo",),
    resume=("--resume", "{session}"),
    decoder=lambda: LineDecoder(JsonTranslator(Event, _Events())),
    tokens=True,
    usage_so_far=True,
    question_tool="ask_user_question",
    settings=(".qwen/settings.json", ".qwen/QWEN.md", ".qwen/installation_id"),
    credentials=(".qwen/oauth_creds.json",),
    env_names=("QWEN_*", "DASHSCOPE_*", "OPENAI_*"),
)


class _Events:
    def __init__(self) -> None:
        self._shared = ClaudeEvents(_LOGIN)
        self._withheld = False

    def take(self, event: Event) -> Iterable[StreamEvent]:
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

    def _done(self, done: Done, event: Event) -> Iterable[StreamEvent]:
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
