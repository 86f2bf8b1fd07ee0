"""Reads the promise an agent makes, and says why one does not count.

The rule is the specification's: the output contains `<promise>COMPLETE</promise>`, whitespace tolerated. The exceptions
are vetoes. Each is recorded with its reason, so that a person can see why a promise did not count.
"""

import re
from enum import StrEnum

import msgspec

from spool.domain.text import capped, clean

DEFAULT_PROMISE = "COMPLETE"
REASON_LIMIT = 4_000
"""Characters kept of a FAILED reason: it goes into the next prompt, and one of a megabyte has been seen."""

_FLUSH_AT = 1 << 20
_HOLD_OPEN_TAG = 1 << 21
_VETOES_KEPT = 20

_TAG = re.compile(r"<promise>((?:(?!</?promise>).)*)</promise>", re.DOTALL)
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_SENTENCE_END = re.compile(r"[.!?:;][\"')\]*_]*(?=\s)|\n[ \t]*\n|\n(?=\s*[^a-z\s])")
_NEXT_SENTENCE_END = re.compile(r"[.!?;](?=\s|$)|\n")
_DECORATION = re.compile(r"[ \t*_`~#]*")

_UTTER = (
    r"(?:print|output|say|emit|write|respond|reply|include|end|use|return|send|produce|add|put|issue|make|give|post|show"
    r"|promise|declare|signal|mark|claim|type|echo|finish|conclude|answer|report)(?:s|ed|ing|ting)?"
)
_NOT_YET = (
    r"(?:will|would|'ll|won't|shall|should|must|can|cannot|can't|could|may|might|not|\w+n't|never|going to"
    r"|need to|needs to|have to|has to|supposed to|about to|want to|told to|asked to|instructed to|expected to"
    r"|before|until|without|instead of|rather than|please|then|only)"
)
_WOULD_SAY = re.compile(rf"\b{_NOT_YET}\s+(?!now\b)(?:[\w']+\s+){{0,3}}{_UTTER}\b", re.IGNORECASE)
_CONDITION = re.compile(
    r"\b(?:if|unless|until|once|when|whenever|as soon as|only after|in case|provided|assuming)\b", re.IGNORECASE
)
_DENIED_JUST_BEFORE = re.compile(
    r"\b(?:no|not|never|without|isn't|not yet|instead of|than|a premature|no real)\s+(?:\w+\s+){0,2}[\"'`(]*$",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"\b(?:the|a|an|this|that|your|my|its|exact|literal|following)\s+"
    r"(?:\w+\s+){0,2}(?:tag|marker|string|token|promise|text|line|signal|phrase|format|word|words)[\s:,\"'`(]*$",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"\b(?:when|once|if|until|unless|only|will|would|should|must|cannot|can't|isn't|is not|was not|wasn't"
    r"|not|never|yet|tag|marker|string)\b",
    re.IGNORECASE,
)
_PLAIN_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d\u00ab\u00bb", '\'\'""""')


class Claim(StrEnum):
    """What a promise says."""

    COMPLETE = "complete"
    FAILED = "failed"


class Promise(msgspec.Struct, frozen=True):
    """What the agent claimed."""

    claim: Claim
    reason: str = ""


class Veto(msgspec.Struct, frozen=True):
    """A promise that does not count, and why."""

    promise: Promise
    why: str


class PromiseReading(msgspec.Struct, frozen=True):
    """All that was read: the promise that holds, if any, and those that do not."""

    kept: Promise | None = None
    vetoes: tuple[Veto, ...] = ()


class PromiseReader:
    """Follows what the assistant writes, in pieces of any size, with bounded memory.

    Feed it the assistant's own text only: a tool's result or an echoed prompt in a structured stream never gets here.
    """

    def __init__(self, promise: str = DEFAULT_PROMISE, *, prompt: str = "") -> None:
        self._promise = _squeeze(promise)
        self._prompt = _squeeze(clean(prompt)) if "<promise>" in prompt else ""
        self._buffer = ""
        self._before = ""
        self._fence: str | None = None
        self._in_fence: list[tuple[Promise, bool]] = []
        self._kept: Promise | None = None
        self._vetoes: list[Veto] = []

    def feed(self, text: str) -> None:
        """Take the next piece of the assistant's current message."""
        self._buffer += text
        if len(self._buffer) < _FLUSH_AT:
            return
        # A line of a megabyte keeps its tail: the tag, and the sentence it stands in, may be cut in two there.
        cut = self._buffer.rfind("\n") + 1 or len(self._buffer) - 4_096
        open_tag = self._buffer.rfind("<promise>")
        if open_tag >= 0 and "</promise>" not in self._buffer[open_tag:] and len(self._buffer) < _HOLD_OPEN_TAG:
            cut = min(cut, self._buffer.rfind("\n", 0, open_tag) + 1 or open_tag)
        self._read(self._buffer[:cut])
        self._buffer = self._buffer[cut:]

    def end_message(self) -> None:
        """The message is over: what follows is another one."""
        self._read(self._buffer)
        self._buffer = self._before = ""
        # A fence that never closes is no fence: nested fences misread as an opening one are common.
        for promise, alone in self._in_fence:
            self._settle(promise, "" if alone else "inside a code block")
        self._in_fence.clear()
        self._fence = None

    def tool_used(self) -> None:
        """The agent went on working: what it promised before does not hold."""
        self.end_message()
        self.veto("went on working after it")

    def veto(self, why: str) -> None:
        """Withdraw the promise that holds now, if any."""
        if self._kept is not None:
            self._refuse(self._kept, why)
            self._kept = None

    def current(self) -> PromiseReading:
        """What holds if the message ended here; the message may still go on."""
        twin = PromiseReader(self._promise)
        twin.__dict__.update(self.__dict__)
        twin._in_fence, twin._vetoes = list(self._in_fence), list(self._vetoes)
        twin.end_message()
        return PromiseReading(twin._kept, tuple(twin._vetoes))

    def finish(self) -> PromiseReading:
        """The agent is done."""
        self.end_message()
        return PromiseReading(self._kept, tuple(self._vetoes))

    def _read(self, raw: str) -> None:
        text = clean(raw)
        start = 0
        for mark in _FENCE.finditer(text):
            if self._fence is None and not (mark[1][0] == "`" and "`" in mark[2]):
                self._scan(text[start : mark.start()], fenced=False)
                start, self._fence = mark.end(), mark[1]
            elif self._fence is not None and mark[1].startswith(self._fence) and not mark[2].strip():
                self._scan(text[start : mark.start()], fenced=True)
                start, self._fence = mark.end(), None
                for promise, _ in self._in_fence:
                    self._refuse(promise, "inside a code block")
                self._in_fence.clear()
        self._scan(text[start:], fenced=self._fence is not None)
        self._before = text[-400:]

    def _scan(self, text: str, *, fenced: bool) -> None:
        for match in _TAG.finditer(text):
            promise = self._claim(match[1])
            if promise is None:
                continue
            if fenced:
                self._in_fence.append((promise, _alone(text, match)))
            else:
                self._settle(promise, self._objection(text, match))

    def _claim(self, body: str) -> Promise | None:
        words = _squeeze(body)
        if words == self._promise:
            return Promise(Claim.COMPLETE)
        if words == "FAILED" or words.startswith("FAILED:"):
            reason = body.strip().removeprefix("FAILED").lstrip().removeprefix(":").strip()
            return Promise(Claim.FAILED, capped(reason, REASON_LIMIT))
        return None

    def _objection(self, text: str, match: re.Match[str]) -> str:
        """Return why this promise does not count, or nothing."""
        if self._is_echo(text, match):
            return "echoes the prompt"
        line_start = text.rfind("\n", 0, match.start()) + 1
        if re.match(r"\s*>", text[line_start : match.start()]):
            return "inside a quotation"
        if _alone(text, match):
            return ""
        before, after = _sentence_around(text, match)
        if _inside_code_span(text[line_start : match.start()], text[match.end() : match.end() + 600]):
            return "inside a code span of a sentence"
        if before[-1:] in ("'", '"') and after[:1] == before[-1:]:
            return "quoted in a sentence"
        if _WOULD_SAY.search(before) or _CONDITION.search(before):
            return "says when it would be made"
        if _DENIED_JUST_BEFORE.search(before) or _NAMED.search(before):
            return "speaks about the promise"
        if _TAKEN_BACK.search(after):
            return "says when it would be made"
        return ""

    def _is_echo(self, text: str, match: re.Match[str]) -> bool:
        """A promise with the same words around it as in the prompt is the prompt, printed back."""
        if not self._prompt:
            return False
        before = _squeeze(self._before + text[max(0, match.start() - 400) : match.start()])[-80:]
        tag = _squeeze(match[0])
        if before:
            return f"{before} {tag}" in self._prompt or f"{before}{tag}" in self._prompt
        after = _squeeze(text[match.end() : match.end() + 200])[:40]
        return bool(after) and (f"{tag} {after}" in self._prompt or f"{tag}{after}" in self._prompt)

    def _settle(self, promise: Promise, objection: str) -> None:
        if objection:
            self._refuse(promise, objection)
        else:
            self._kept = promise

    def _refuse(self, promise: Promise, why: str) -> None:
        if len(self._vetoes) < _VETOES_KEPT:
            self._vetoes.append(Veto(promise, why))


def _squeeze(text: str) -> str:
    return " ".join(text.split())


def _alone(text: str, match: re.Match[str]) -> bool:
    """Whether the line holds nothing but the tag; emphasis and backticks are nothing."""
    line_start = text.rfind("\n", 0, match.start()) + 1
    line_end = text.find("\n", match.end())
    rest = text[match.end() : line_end if line_end >= 0 else len(text)]
    return bool(_DECORATION.fullmatch(text[line_start : match.start()])) and bool(_DECORATION.fullmatch(rest))


def _sentence_around(text: str, match: re.Match[str]) -> tuple[str, str]:
    """Return what the sentence says before and after the tag, quotation marks made plain.

    A line that begins in lower case goes on from the one before.
    """
    before = text[max(0, match.start() - 600) : match.start()]
    before = before[max((end.end() for end in _SENTENCE_END.finditer(before)), default=0) :]
    after = text[match.end() : match.end() + 600]
    end = _NEXT_SENTENCE_END.search(after)
    after = after[: end.start()] if end else after
    return before.strip(" \t\n").translate(_PLAIN_QUOTES), after.translate(_PLAIN_QUOTES)


def _inside_code_span(before: str, after: str) -> bool:
    return before.count("`") % 2 == 1 and "`" in after.split("\n", 1)[0]
