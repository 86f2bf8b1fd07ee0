"""Cleans agent output of everything that could act on a terminal, before it is shown, quoted or searched."""

import re
from collections.abc import Iterable, Iterator

# CSI; the strings OSC, DCS, SOS, PM and APC; two-byte escapes. An unterminated string extends to the end of its line.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\|(?=\n)|\Z)|[ -/]*[0-~])")
_ESCAPES_WITHIN = re.compile(_ESCAPES.pattern.replace(r"|\Z", ""))
"""The same for a chunk that more text follows: the end of the chunk does not end a string."""
# C0 without tab and newline, DEL, C1, and the bidirectional controls, which reorder text visually.
# Only the 8-bit C1 introducers themselves are removed: they are common in doubly encoded text, without a sequence.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_LINE_ENDS = re.compile(r"\r+\n?")
_UNFINISHED = re.compile(r"(?:\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b\n]*\x1b?|[ -/]*)|(?<!\r)\r+)\Z")
_HOLD = 1 << 16
_ASCII_CONTROLS = [chr(number) for number in (*range(9), *range(11, 32), 127)]
_PIECE = 1 << 10
_BROKEN = re.compile("\ufffd{2,}")
_AROUND = 1 << 10
"""Bytes that an event takes beside its text, and more."""


def clean(text: str) -> str:
    """Return text without escape sequences and control characters; keep tabs, and end every line with a newline."""
    return _cleaned(text, _ESCAPES)


def _cleaned(text: str, escapes: re.Pattern[str]) -> str:
    if not _has_controls(text):
        return text
    return _CONTROLS.sub("", escapes.sub("", _LINE_ENDS.sub("\n", text)))


def _has_controls(text: str) -> bool:
    """Whether there is anything to clean. The pattern reads 0.3 GB/s, a search for one ASCII character 100."""
    if len(text) <= _PIECE:
        return _CONTROLS.search(text) is not None
    if text.isascii():
        return any(map(text.__contains__, _ASCII_CONTROLS))
    return any(map(_has_controls, pieces(text)))


def is_plain(text: str) -> bool:
    """Whether text is ASCII without anything to clean."""
    return text.isascii() and not _has_controls(text)


def pieces(text: str) -> Iterator[str]:
    """Yield a long text in pieces: most of them are ASCII, which is quick to look through."""
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))


def is_stretched(text: str, written: int) -> bool:
    """Whether a text's size in JSON shows control characters: each of them takes six bytes.

    The other escapes take two, one more than their character. Looking at the size costs nothing, and looking for
    control characters as much as encoding.
    """
    if written <= 2 * len(text) + _AROUND:
        return False
    return text.isascii() or written > len(text) + len(text.encode("utf-8", "replace")) + _AROUND


def folded(text: str) -> str:
    """Return decoded text with one replacement character for each run: one takes the space of three invalid bytes."""
    return text if text.isascii() or "\ufffd" not in text else _BROKEN.sub("\ufffd", text)


class Cleaner:
    """Cleans text that arrives in chunks, even if an escape is split between two."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """Add a chunk and return the text that is certain."""
        text = self._held + text
        certain = len(text)
        if "\x1b" in text or text.endswith("\r"):
            unfinished = _UNFINISHED.search(text, max(0, len(text) - _HOLD))
            certain = unfinished.start() if unfinished else certain
        self._held = text[certain:]
        return _cleaned(text[:certain], _ESCAPES_WITHIN if self._held else _ESCAPES)

    @property
    def holds(self) -> bool:
        """Whether the end of the last chunk is not certain yet."""
        return bool(self._held)

    def finish(self) -> str:
        """Return the rest."""
        text, self._held = self._held, ""
        return clean(text)


def one_line(text: str, limit: int = 200) -> str:
    """Return cleaned text on one line, cut at limit characters."""
    # Clean only the head, as only the head is shown: a reason may be a megabyte.
    words = " ".join(clean(text[: limit * 20]).split())
    return words if len(words) <= limit else words[: limit - 1] + "…"


def capped(text: str, limit: int) -> str:
    """Return cleaned text of at most limit characters, followed by the number of omitted ones."""
    cleaned = clean(text)
    if len(cleaned) <= limit:
        return cleaned
    return f"{cleaned[:limit]}… ({counted(len(cleaned) - limit, 'more character')})"


def quoted(text: str) -> str:
    """Return text as a Markdown block quote, so that none of it reads as our own instruction."""
    return "\n".join(f"> {line}" for line in text.splitlines()) or "> "


def counted(number: int, noun: str, nouns: str = "") -> str:
    """Format a count with its noun: `1 file`, `2 files`."""
    return f"{number} {noun if number == 1 else nouns or noun + 's'}"


def with_reason(state: str, reason: str, *, between: str = ": ") -> str:
    """Join a state and its reason: `stuck: no progress`, but `stopped by Ctrl-C`, which names the state itself."""
    if not reason or reason.startswith((f"{state} ", f"{state}: ")):
        return reason or state
    return f"{state}{between}{reason}"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that is closest to an unknown one; empty if none is close."""
    from difflib import get_close_matches  # only for a mistake

    return next(iter(get_close_matches(name, known, n=1)), "")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question with the nearest known name; empty if none is close."""
    near = nearest(name, known)
    return f"did you mean: {near}?" if near else ""
