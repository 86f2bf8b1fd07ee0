"""Follows what the assistant writes, in pieces of any size and with bounded memory, and keeps the promise it makes."""

import copy
import re
from functools import lru_cache
from unicodedata import normalize

from spool.domain.judging.promise.echo import Echo
from spool.domain.judging.promise.near import near_miss
from spool.domain.judging.promise.promises import (
    DEFAULT_PROMISE,
    REASON_LIMIT,
    Promise,
    PromiseKind,
    PromiseReading,
    Veto,
)
from spool.domain.judging.promise.rule import CONTEXT, objection
from spool.domain.judging.promise.vetoes import takes_back
from spool.domain.text.plain_text import Cleaner, capped, clean, is_plain, one_line, pieces

_READ_AT = 1 << 16
_LONGEST_PROMISE = 1 << 16
_LONGEST_REASON = 1 << 21
_VETOES_KEPT = 20
_HEAD = 200
"""Characters at the start of a message that may take back what an earlier one promised."""
_TAIL = 2_000
"""Characters at the end of a message in which a misspelled promise is looked for."""

_OPENING = "<promise>"
# Replacement characters stand for invalid bytes; soft hyphens, zero-width and directional marks are invisible. None of
# them may hide a tag.
_INVISIBLE = re.compile(r"[\ufffd\u00ad\u061c\u180e\u200b-\u200f\u2060-\u2064\u206a-\u206f\ufeff]")
# Bounded, so that a mark is never longer than the context that is kept.
_MARK = re.compile(
    r"^[ \t]{0,99}(?P<fence>`{3,99}|~{3,99})(?P<info>[^`\n]{0,199})$"
    r"|(?P<open><promise>)|(?P<close></promise>)|(?P<think><think(?:ing)?>)|(?P<thought></think(?:ing)?>)",
    re.MULTILINE,
)
_SIGNS = {"<": ("promise>", "think"), "`": ("```",), "~": ("~~~",)}
"""A part of each mark, by its rarest character: a search for one character reads gigabytes fifty times faster."""
_RARE = (*_SIGNS, "\x1b")
_PASSED_OVER = 1 << 13
"""Characters of a text without any of those from which on only its end is read: half of the time went into the rest."""
_END = 1 << 12
_FAILED = re.compile(r"\s*FAILED\s*(?::|\Z)\s*")
_ECHO = "echoes the prompt"


class PromiseReader:
    """Reads the assistant's own text only: a tool's result or an echoed prompt in a structured stream never gets here.

    It holds a window of the current message: what is not read yet, and the context of what may still come.
    """

    def __init__(self, promise: str = DEFAULT_PROMISE, *, prompt: str = "") -> None:
        self._promise = _squeeze(promise)
        self._echo = Echo(clean(prompt))
        # An agent that repeats the tag for megabytes repeats what stands around it too.
        self._objection = lru_cache(maxsize=256)(self._object_to)
        self._kept: Promise | None = None
        self._kept_before: Promise | None = None
        self._vetoes: list[Veto] = []
        self._refused: Veto | None = None
        self._begin_message()

    def _begin_message(self) -> None:
        self._cleaner = Cleaner()
        self._window = self._head = self._tail = ""
        self._seen = 0
        self._open = -1
        self._fence = ""
        self._thinking = False
        self._marked = False
        self._fenced: list[tuple[Veto, bool]] = []

    def feed(self, text: str) -> None:
        """Read the next piece of the assistant's current message."""
        self._add(self._cleaner.feed(_visible(text[-_END:] if self._may_pass_over(text) else text)))
        if len(self._window) - self._seen > _READ_AT:
            self._read(len(self._window) - CONTEXT)
            self._forget()

    def end_message(self) -> None:
        """The message is over: what follows is another one."""
        self._add(self._cleaner.finish())
        self._read(len(self._window))
        # An unclosed fence does not count: nested fences misread as an opening one are common.
        for veto, silent in self._fenced:
            self._settle(veto, silent=silent)
        self._look_for_a_near_miss()
        if self._kept is not None and self._kept is self._kept_before and takes_back(self._head):
            self._withdraw("taken back in a later message")
        self._begin_message()

    def _add(self, text: str) -> None:
        if not self._head and text.strip():  # a new message: what an earlier one was refused is silence now
            self._refused, self._kept_before = None, self._kept
        self._window += text
        if len(self._head) < _HEAD:
            self._head = (self._head + text).lstrip()[:_HEAD]
        self._tail = text[-_TAIL:] if len(text) >= _TAIL else (self._tail + text)[-_TAIL:]

    def tool_used(self) -> None:
        """The agent went on working: what it promised before does not hold."""
        self.end_message()
        self._withdraw("went on working after it")

    def veto(self, why: str) -> None:
        """End the message, and withdraw the promise that holds now, if any, through no fault of the agent's words."""
        self.end_message()
        self._withdraw(why, silent=True)

    def current(self) -> PromiseReading:
        """The reading if the message ended here; it may still continue."""
        twin = copy.copy(self)
        twin._cleaner = copy.copy(self._cleaner)
        return twin.finish()

    def finish(self) -> PromiseReading:
        """The agent is done."""
        self.end_message()
        refused = self._refused if self._kept is None else None
        return PromiseReading(self._kept, tuple(self._vetoes), refused)

    def _read(self, end: int) -> None:
        """Read the marks that stand before end; what follows end is their context."""
        for mark in _MARK.finditer(self._window, self._seen) if self._may_hold_mark() else ():
            if mark.end() > end:
                self._seen = mark.start()
                return
            if mark["fence"]:
                self._pass_fence(mark["fence"], mark["info"])
            elif mark["think"] or mark["thought"]:
                self._pass_thinking(ends=bool(mark["thought"]))
            elif mark["open"]:
                self._open = mark.start()
            elif self._open >= 0:
                self._take(self._open, mark)
                self._open = -1
        self._seen = max(self._seen, end)

    def _may_pass_over(self, text: str) -> bool:
        """Whether only the end of a text matters: no mark begins or ends in it, or in what is not read yet."""
        return (
            len(text) > _PASSED_OVER
            and self._open < 0
            and len(self._head) == _HEAD
            and not self._cleaner.holds
            and not any(map(text.__contains__, _RARE))
            and not any(self._window.find(rare, self._seen) >= 0 for rare in _SIGNS)
            and is_plain(text[-_END:])
        )

    def _may_hold_mark(self) -> bool:
        window, seen = self._window, self._seen
        return any(
            window.find(sign, seen) >= 0
            for rare, signs in _SIGNS.items()
            if window.find(rare, seen) >= 0
            for sign in signs
        )

    def _pass_thinking(self, *, ends: bool) -> None:
        """Text inside `<think>` does not count, nor does what stands before a lone `</think>`."""
        if ends and not self._thinking:
            self._kept, self._refused, self._fenced = self._kept_before, None, []
        self._thinking = not ends

    def _pass_fence(self, fence: str, info: str) -> None:
        if not self._fence:
            self._fence = fence
        elif fence.startswith(self._fence) and not info.strip():
            self._fence = ""
            for veto, _ in self._fenced:
                self._refuse(Veto(veto.promise, "inside a code block", veto.quote))
            self._fenced = []

    def _take(self, start: int, closing: re.Match[str]) -> None:
        promise = self._claim(self._window[start + len(_OPENING) : closing.start()])
        if promise is None or self._thinking:
            return
        self._marked = True
        before = self._window[max(0, start - CONTEXT) : start]
        after = self._window[closing.end() : closing.end() + CONTEXT]
        gives_up = promise.claim is PromiseKind.FAILED
        why = self._objection(before, self._window[start : closing.end()], after, gives_up=gives_up)
        is_echo = why == _ECHO
        line = before.rpartition("\n")[2] + self._window[start : closing.end()] + after.partition("\n")[0]
        veto = Veto(promise, why, one_line(line, 300))
        if self._fence:
            self._fenced = [*self._fenced[1 - _VETOES_KEPT :], (veto, is_echo)]
        else:
            self._settle(veto, silent=is_echo)

    def _object_to(self, before: str, tag: str, after: str, *, gives_up: bool) -> str:
        return _ECHO if self._echo.is_in(before, tag, after) else objection(before, after, gives_up=gives_up)

    def _claim(self, body: str) -> Promise | None:
        if self._promise and len(body) <= _LONGEST_PROMISE and _squeeze(body) == self._promise:
            return Promise(PromiseKind.COMPLETE)
        failed = _FAILED.match(body) if len(body) <= _LONGEST_REASON else None
        return Promise(PromiseKind.FAILED, capped(body[failed.end() :].rstrip(), REASON_LIMIT)) if failed else None

    def _look_for_a_near_miss(self) -> None:
        """Record a promise that was almost made: never drop one in silence."""
        if self._marked or self._fence or self._thinking:
            return
        if (found := near_miss(self._tail, self._promise)) is not None:
            self._refuse(found)

    def _forget(self) -> None:
        """Drop what is read, but for the context of what follows and for a tag that is still open."""
        keep = self._seen
        if self._open >= 0:
            body = self._window[self._open + len(_OPENING) :]
            if len(body) > (_LONGEST_REASON if _FAILED.match(body) else _LONGEST_PROMISE):
                self._open = -1  # no promise is as long: this was talk of the tag
            else:
                keep = min(keep, self._open)
        start = max(0, keep - CONTEXT)
        self._window = self._window[start:]
        self._seen -= start
        self._open = max(-1, self._open - start)

    def _settle(self, veto: Veto, *, silent: bool) -> None:
        if veto.why:
            self._refuse(veto, silent=silent)
        else:
            self._kept = Promise(veto.promise.claim, veto.promise.reason)

    def _withdraw(self, why: str, *, silent: bool = False) -> None:
        if silent:
            self._refused = None
        if self._kept is not None:
            tag = f"{_OPENING}{self._promise}</promise>" if self._kept.claim is PromiseKind.COMPLETE else ""
            self._refuse(Veto(self._kept, why, tag), silent=silent)
            self._kept = self._kept_before = None

    def _refuse(self, veto: Veto, *, silent: bool = False) -> None:
        self._vetoes = [*self._vetoes[1 - _VETOES_KEPT :], veto]
        if not silent:
            self._refused = veto


def _visible(text: str) -> str:
    if text.isascii():
        return text
    return "".join(piece if piece.isascii() else _INVISIBLE.sub("", piece) for piece in pieces(text))


def _squeeze(text: str) -> str:
    return normalize("NFC", " ".join(text.split()))
