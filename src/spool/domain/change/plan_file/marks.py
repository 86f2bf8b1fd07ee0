"""Finds the mark of a task: a box, a sign in its place, or a word in a table."""

import re

_BOX = re.compile(r"\[(.?)\]\*?(?=\s|$|\|)\s*")
_MARKS = {"": " ", " ": " ", "x": "x", "X": "x", "?": "?", "-": "-", "~": "~", "/": " ", "✓": "x", "✔": "x", "✅": "x"}
_SIGNS = {"☐": " ", "⬜": " ", "🔲": " ", "☑": "x", "✅": "x", "✔": "x", "☒": "x"}
_PLANNED = "🚧📅⏳🔜🔄💡📋📝"
_TICKED = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]+✅", re.MULTILINE)
_TORN = re.compile(r"\[[ xX]?\][^\s(\[*:|]")
_STRUCK = re.compile(r"~~(.+)~~[.:]?")
_SLOPPY = re.compile(r"^([ \t]*(?:[-*+]|\d+[.)]))(\[[ xX]?\])", re.MULTILINE)
_DONE = re.compile(r"(?:x|yes|y|done|completed?|finished|closed|merged|shipped|fixed|100 ?%)\b")
_SHELVED = re.compile(r"(?:cancell?ed|dropped|skipped|deferred|wont|won't|rejected|n/?a)\b")


def mended(text: str) -> str:
    """Return a text in which `-[ ] task` is a list item, as its writer meant; lines stay where they are."""
    return _SLOPPY.sub(r"\1 \2", text)


def has_status_signs(text: str) -> bool:
    """Whether a plan ticks items by a sign, so that other signs at their start say what is open."""
    return _TICKED.search(text) is not None


def split_mark(text: str, *, signs: bool = False) -> tuple[str | None, str]:
    """Return the mark at the start of an item, None without a box, and the rest of its text."""
    box = _BOX.match(text)
    if box and box[1] in _MARKS:
        return _MARKS[box[1]], text[box.end() :].strip()
    if text[:1] in _SIGNS:
        return _SIGNS[text[0]], text[1:].lstrip("\ufe0f").strip()
    if signs and text and text[0] in _PLANNED:
        return " ", text[1:].lstrip("\ufe0f").strip()
    return None, text


def is_no_item(text: str) -> bool:
    """Whether an item is neither a box nor a plain one: `[x]z`."""
    return _TORN.match(text) is not None


def is_struck(text: str) -> bool:
    """Whether the whole of an item is struck through."""
    return _STRUCK.fullmatch(text) is not None


def mark_of_status(cell: str) -> str:
    """Return the mark that a cell of a status column means; what is not known to be done is open."""
    mark, rest = split_mark(cell.strip().strip("*_`"))
    if mark is not None:
        return mark
    word = rest.lower()
    return "x" if _DONE.match(word) else "-" if _SHELVED.match(word) else " "
