"""Reads the promise an agent makes, and says why one does not count.

The rule is the specification's: the output contains `<promise>COMPLETE</promise>`, whitespace tolerated. The exceptions
are vetoes. Each is recorded with its reason, so that a person can see why a promise did not count.
"""

import copy
import re
from enum import StrEnum

import msgspec

from spool.domain.echo import Echo
from spool.domain.placement import CONTEXT, objection
from spool.domain.text import Cleaner, capped, clean

DEFAULT_PROMISE = "COMPLETE"
REASON_LIMIT = 4_000
"""Characters kept of a FAILED reason: it goes into the next prompt, and one of a megabyte has been seen."""

_READ_AT = 1 << 16
_LONGEST_PROMISE = 1 << 16
_LONGEST_REASON = 1 << 21
_VETOES_KEPT = 20

_OPENING = "<promise>"
_REPLACEMENT = "\ufffd"
"""What invalid bytes are decoded to; it must not hide a tag."""
# Bounded, so that a mark is never longer than the context that is kept.
_MARK = re.compile(
    r"^[ \t]{0,99}(?P<fence>`{3,99}|~{3,99})(?P<info>[^`\n]{0,199})$|(?P<open><promise>)|</promise>", re.MULTILINE
)
_SIGNS = ("promise>", "```", "~~~")
"""What every mark holds; looking for these first reads gigabytes ten times faster."""
_FAILED = re.compile(r"\s*FAILED\s*(?::|\Z)\s*")


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
    It holds a window of the current message: what is not read yet, and the context of what may still come.
    """

    def __init__(self, promise: str = DEFAULT_PROMISE, *, prompt: str = "") -> None:
        self._promise = _squeeze(promise)
        self._echo = Echo(clean(prompt))
        self._kept: Promise | None = None
        self._vetoes: list[Veto] = []
        self._begin_message()

    def _begin_message(self) -> None:
        self._cleaner = Cleaner()
        self._window = ""
        self._seen = 0
        self._open = -1
        self._fence = ""
        self._fenced: list[tuple[Promise, str]] = []

    def feed(self, text: str) -> None:
        """Take the next piece of the assistant's current message."""
        self._window += self._cleaner.feed(text.replace(_REPLACEMENT, ""))
        if len(self._window) - self._seen > _READ_AT:
            self._read(len(self._window) - CONTEXT)
            self._forget()

    def end_message(self) -> None:
        """The message is over: what follows is another one."""
        self._window += self._cleaner.finish()
        self._read(len(self._window))
        # A fence that never closes is no fence: nested fences misread as an opening one are common.
        for promise, why in self._fenced:
            self._settle(promise, why)
        self._begin_message()

    def tool_used(self) -> None:
        """The agent went on working: what it promised before does not hold."""
        self.veto("went on working after it")

    def veto(self, why: str) -> None:
        """End the message, and withdraw the promise that holds now, if any."""
        self.end_message()
        if self._kept is not None:
            self._refuse(self._kept, why)
            self._kept = None

    def current(self) -> PromiseReading:
        """What holds if the message ended here; the message may still go on."""
        twin = copy.copy(self)
        twin._cleaner = copy.copy(self._cleaner)
        return twin.finish()

    def finish(self) -> PromiseReading:
        """The agent is done."""
        self.end_message()
        return PromiseReading(self._kept, tuple(self._vetoes))

    def _read(self, end: int) -> None:
        """Read the marks that stand before end; what follows end is their context."""
        marked = any(self._window.find(sign, self._seen) >= 0 for sign in _SIGNS)
        for mark in _MARK.finditer(self._window, self._seen) if marked else ():
            if mark.end() > end:
                self._seen = mark.start()
                return
            if mark["fence"]:
                self._pass_fence(mark["fence"], mark["info"])
            elif mark["open"]:
                self._open = mark.start()
            elif self._open >= 0:
                self._take(self._open, mark)
                self._open = -1
        self._seen = max(self._seen, end)

    def _pass_fence(self, fence: str, info: str) -> None:
        if not self._fence:
            self._fence = fence
        elif fence.startswith(self._fence) and not info.strip():
            self._fence = ""
            for promise, _ in self._fenced:
                self._refuse(promise, "inside a code block")
            self._fenced = []

    def _take(self, start: int, closing: re.Match[str]) -> None:
        promise = self._claim(self._window[start + len(_OPENING) : closing.start()])
        if promise is None:
            return
        before = self._window[max(0, start - CONTEXT) : start]
        after = self._window[closing.end() : closing.end() + CONTEXT]
        is_echo = self._echo.is_in(before, self._window[start : closing.end()], after)
        why = "echoes the prompt" if is_echo else objection(before, after)
        if self._fence:
            self._fenced = [*self._fenced[1 - _VETOES_KEPT :], (promise, why)]
        else:
            self._settle(promise, why)

    def _claim(self, body: str) -> Promise | None:
        if self._promise and len(body) <= _LONGEST_PROMISE and _squeeze(body) == self._promise:
            return Promise(Claim.COMPLETE)
        failed = _FAILED.match(body) if len(body) <= _LONGEST_REASON else None
        return Promise(Claim.FAILED, capped(body[failed.end() :].rstrip(), REASON_LIMIT)) if failed else None

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

    def _settle(self, promise: Promise, objection: str) -> None:
        if objection:
            self._refuse(promise, objection)
        else:
            self._kept = promise

    def _refuse(self, promise: Promise, why: str) -> None:
        self._vetoes = [*self._vetoes[1 - _VETOES_KEPT :], Veto(promise, why)]


def _squeeze(text: str) -> str:
    return " ".join(text.split())
