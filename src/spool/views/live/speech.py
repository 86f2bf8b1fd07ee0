"""Prepares an agent's messages for all faces: promises that end a line get a flag, and cut fences continue."""

import re
from collections.abc import Iterator

from spool.views.look import PROMISE

_HELD = 4_000
"""Characters to hold back at most: a line of blanks has no end of its own."""
_START = r"(?:^[ \t]*|(?<=[ \t]))"
"""The start of its line, or a blank. No two neighbouring parts of a pattern match the same characters: an agent may
write thousands of blanks there."""
_PROMISED = re.compile(_START + r"<promise>([^<>\n]{1,400})</promise>[ \t]*$", re.MULTILINE | re.IGNORECASE)


def _begun(word: str, then: str) -> str:
    """Return a pattern for any first part of a word; only the whole word is followed by `then`."""
    pattern = then
    for letter in reversed(word):
        pattern = f"(?:{letter}{pattern})?"
    return pattern


_CLOSED = _begun("</promise>", r"[ \t]*")
_BEGUN = re.compile(_START + _begun("<promise>", r"[^<>\n]{0,400}" + _CLOSED) + r"\Z", re.IGNORECASE)
"""The end of an unfinished line that may become a promise."""


def flagged(text: str) -> str:
    """Return a text with a flag instead of the tags of each promise that ends a line."""
    return _PROMISED.sub(lambda found: f"{PROMISE} {found[1].strip()}", text) if "<" in text else text


def in_fence(text: str, stop: int) -> bool:
    """Whether a place of a text is inside a fence."""
    return bool((text.count("\n```", 0, stop) + text.startswith("```", 0, stop)) % 2)


def piece_end(text: str, start: int, limit: int) -> int:
    """Return the end of the piece that starts at `start`: after a newline if possible, never past the limit."""
    stop = start + limit
    if stop >= len(text):
        return len(text)
    newline = text.rfind("\n", start + limit // 2, stop)
    return stop if newline < 0 else newline + 1


def pieces(text: str, limit: int) -> Iterator[str]:
    """Yield a text in pieces of at most `limit` characters."""
    start = 0
    while start < len(text):
        stop = piece_end(text, start, limit)
        yield text[start:stop]
        start = stop


def fenced_pieces(text: str, limit: int, *, fenced: bool = False) -> Iterator[str]:
    """Yield a text in pieces; one that begins inside a fence opens it again."""
    for piece in pieces(text, limit):
        yield f"```\n{piece}" if fenced else piece
        fenced ^= in_fence(piece, len(piece))


class Speech:
    """Reads a message in pieces, and flags the promises in it.

    The end of a line that may become a promise is held back until more of it is known.
    """

    def __init__(self) -> None:
        self._held = ""
        self._before = ""
        """The last character that was given of an unfinished line; empty at the start of one."""

    def take(self, more: str) -> str:
        """Add a piece, and return what can be shown."""
        text = self._held + more
        start = text.rfind("\n") + 1
        known = "" if start else self._known
        found = _BEGUN.search(known + text[start:])
        held = found.start() - len(known) + start if found else len(text)
        stop = held if len(text) - held <= _HELD else len(text)
        given, self._held = text[:stop], text[stop:]
        shown = self._flagged(given, after="x")  # more of the line may follow
        self._before = given[-1].strip("\n") if given else self._before
        return shown

    def end(self) -> str:
        """Return what was held back: the line is over, as the message is."""
        shown = self._flagged(self._held)
        self._held = self._before = ""
        return shown

    def _flagged(self, text: str, after: str = "") -> str:
        before = self._known
        return flagged(f"{before}{text}{after}")[len(before) :].removesuffix(after)

    @property
    def _known(self) -> str:
        """A sign of earlier text, so that the middle of a line is not taken for its start."""
        return f"x{self._before}" if self._before else ""
