"""Finds the mark of a task: a box, a sign in its place, or a word in a table."""

import re

_BOX = re.compile(r"\[(.?)\](?=\s|$|\|)\s*")
_MARKS = {"": " ", " ": " ", "x": "x", "X": "x", "?": "?", "-": "-", "~": "~", "/": " ", "✓": "x", "✔": "x", "✅": "x"}
_SIGNS = {"☐": " ", "⬜": " ", "🔲": " ", "☑": "x", "✅": "x", "✔": "x", "☒": "x"}
_STRUCK = re.compile(r"~~(.+)~~[.:]?")
_SLOPPY = re.compile(r"^([ \t]*(?:[-*+]|\d+[.)]))(\[[ xX]?\])", re.MULTILINE)
_DONE = re.compile(r"(?:x|yes|y|done|completed?|finished|closed|merged|shipped|fixed|100 ?%)\b")
_SHELVED = re.compile(r"(?:cancell?ed|dropped|skipped|deferred|wont|won't|rejected|n/?a)\b")


def mended(text: str) -> str:
    """Return a text in which `-[ ] task` is a list item, as its writer meant; lines stay where they are."""
    return _SLOPPY.sub(r"\1 \2", text)


def split_mark(text: str) -> tuple[str | None, str]:
    """Return the mark at the start of an item, None without a box, and the rest of its text."""
    box = _BOX.match(text)
    if box and box[1] in _MARKS:
        return _MARKS[box[1]], text[box.end() :].strip()
    if text[:1] in _SIGNS:
        return _SIGNS[text[0]], text[1:].lstrip("\ufe0f").strip()
    return None, text


def struck(text: str) -> str | None:
    """Return the text of an item that is struck through, None of any other."""
    found = _STRUCK.fullmatch(text)
    return found[1].strip() if found else None


def mark_of_status(cell: str) -> str:
    """Return the mark that a cell of a status column means; what is not known to be done is open."""
    mark, rest = split_mark(cell.strip().strip("*_`"))
    if mark is not None:
        return mark
    word = rest.lower()
    return "x" if _DONE.match(word) else "-" if _SHELVED.match(word) else " "
