"""aider: text on standard output, and the conversation, with its speakers, in a separate file.

Its output mixes banners, answers and the results of edits in the same plain lines, wrapped at 80 columns. So the output
is only shown; the promise and the errors are read from aider's chat history.
"""

import codecs
import re
from collections.abc import Iterator

from spool.domain.agent.invocation import Stdin
from spool.domain.agent.sign_in import Kept, SignIn, Variable, doubts, each
from spool.domain.agent.stream import AgentRetry, Done, ErrorKind, Failure, Message, StreamEvent, Usage
from spool.harness.lines import LineCutter
from spool.harness.program import KEYS, PROVIDERS, Program
from spool.harness.trouble import failure, incomplete

_LOGIN = "set your provider's API key, for example OPENAI_API_KEY, and choose one of its models"
_ERROR_PRINTED = re.compile(rb"litellm\.(\w+):")
_RETRY_PRINTED = re.compile(rb"Retrying in ([\d.]+) seconds")
_ERROR = re.compile(r"^> litellm\.(?:[\w.]*\.)?(\w+): (.*?)\s*$", re.MULTILINE)
_TOKENS = re.compile(r"^> Tokens: ([\d.,]+)([kM]?) sent,(?: [^\n]*?hit,)? ([\d.,]+)([kM]?) received\.", re.MULTILINE)
_COST = re.compile(r"Cost: \$([\d.]+) message")
_LINE_OF_AIDER = re.compile(r"^(?:> |#### |####\s*$)")
_KINDS = {
    "RateLimitError": ErrorKind.RATE_LIMIT,
    "ServiceUnavailableError": ErrorKind.RATE_LIMIT,
    "AuthenticationError": ErrorKind.AUTH,
    "PermissionDeniedError": ErrorKind.AUTH,
    "NotFoundError": ErrorKind.CONFIG,
}
_SCALE = {"": 1, "k": 1_000, "M": 1_000_000}
_ARGV = (
    "aider", "--no-pretty", "--no-stream", "--yes-always", "--no-check-update", "--no-analytics",
    "--no-show-model-warnings", "--no-show-release-notes", "--no-gitignore", "--no-auto-commits",
    "--no-dirty-commits", "--no-suggest-shell-commands", "--no-detect-urls", "--no-fancy-input",
    "--message-file", "{prompt_file}",
)  # fmt: skip


class _AiderDecoder:
    def __init__(self) -> None:
        self._lines = LineCutter()
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._error = b""

    def feed(self, chunk: bytes) -> Iterator[StreamEvent]:
        text: list[str] = []
        for line in self._lines.feed(chunk):
            text.append(self._utf8.decode(line.data + b"\n" if line.ended else line.data))
            if found := _ERROR_PRINTED.match(line.data):
                self._error = found[1]
            elif found := _RETRY_PRINTED.match(line.data):
                yield from _shown(text)
                limited = _KINDS.get(self._error.decode()) is ErrorKind.RATE_LIMIT
                yield AgentRetry(message=self._error.decode(), delay_s=float(found[1]), rate_limited=limited)
        yield from _shown(text)

    def pause(self) -> Iterator[StreamEvent]:
        yield from ()

    def finish(self, stderr: str, side: str = "") -> Iterator[StreamEvent]:  # noqa: ARG002 - the protocol's signature
        for line in self._lines.finish():
            yield Message(text=self._utf8.decode(line.data), partial=True, subagent=True)
        yield Message(text="", subagent=True)
        answers = list(_TOKENS.finditer(side))
        error = next(reversed(list(_ERROR.finditer(side, answers[-1].end() if answers else 0))), None)
        if error is not None:
            yield _failure(error)
        elif not answers:
            yield incomplete("an answer")
        yield Done(content=_last_answer(side, answers), usage=_usage(side, answers))


def _shown(text: list[str]) -> Iterator[StreamEvent]:
    """Yield lines for display only; as a subagent's text they hold no promise."""
    if text:
        yield Message(text="".join(text), partial=True, subagent=True)
        text.clear()


def _last_answer(side: str, answers: list[re.Match[str]]) -> str:
    """Return the text between aider's own last line and the token counts after the answer."""
    if not answers:
        return ""
    lines = side[answers[-2].end() if len(answers) > 1 else 0 : answers[-1].start()].splitlines()
    answer: list[str] = []
    for line in reversed(lines):
        if _LINE_OF_AIDER.match(line) and any(kept.strip() for kept in answer):
            break
        answer.append(line)
    return "\n".join(reversed(answer)).strip()


def _usage(side: str, answers: list[re.Match[str]]) -> Usage:
    usage = Usage()
    for answer in answers:
        sent, sent_unit, received, received_unit = answer.groups()
        cost = _COST.search(side, answer.end(), answer.end() + 80)
        usage += Usage(
            tokens_in=_number(sent, sent_unit),
            tokens_out=_number(received, received_unit),
            cost_usd=float(cost[1]) if cost else None,
            turns=1,
        )
    return usage


def _number(digits: str, unit: str) -> int:
    return round(float(digits.replace(",", "")) * _SCALE[unit])


def _failure(error: re.Match[str]) -> Failure:
    return failure(error[2], login=_LOGIN, kind=_KINDS.get(error[1], ErrorKind.API))


_SIGN_IN = SignIn(
    login=_LOGIN,
    env_files=("~/.env", "~/.aider/oauth-keys.env"),
    ways=each(
        *KEYS, "AZURE_API_KEY", "COHERE_API_KEY", "VERTEXAI_PROJECT", "AIDER_OPENAI_API_KEY", "AIDER_ANTHROPIC_API_KEY"
    ),
    doubts=(
        *doubts("it may hold a key", *map(Kept, ("~/.aider.conf.yml", "./.env", "./.aider.conf.yml"))),
        *doubts("it may name a key", Variable("AIDER_API_KEY"), Variable("AIDER_ENV_FILE"), Variable("AIDER_SET_ENV")),
    ),
    keyless="no key was found, but a model on this machine needs none",
)

HARNESS = Program(  # aider edits through its answers and has no tools to refuse
    name="aider",
    sign_in=_SIGN_IN,
    install="pipx install aider-chat",
    argv=_ARGV,
    side=("--chat-history-file", "{side_file}", "--no-restore-chat-history"),
    model=("--model", "{model}"),
    stdin=Stdin.NOTHING,  # it answers yes to every question instead of reading answers
    decoder=_AiderDecoder,
    json=False,
    tokens=True,
    cost=True,
    folder=".aider*",
    leavings=(".aider*", "*/.aider*"),
    settings=(".aider.conf.yml", ".aider.model.settings.yml", ".aider.model.metadata.json"),
    env_names=("AIDER_*", *PROVIDERS),
)
