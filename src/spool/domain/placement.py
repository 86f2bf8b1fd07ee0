"""Tells by where a tag stands whether it can be a promise at all: alone on a line, in a quotation, in a code span."""

import re

from spool.domain.wording import spoken_of

CONTEXT = 600
"""How many characters on either side of a tag are looked at."""

# A quoted line, or one behind the bar with which CLIs in text mode mark a tool's output; a frame has a second bar.
_QUOTED_LINE = re.compile(r"\s*(?:>|[⎿└│](?!.*│\s*\Z))", re.DOTALL)
_BARE_BEFORE, _BARE_AFTER = re.compile(r"[ \t]*(?:#{1,6}[ \t]+)?[*_`]*"), re.compile(r"[*_`]*[ \t]*")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_QUOTES = {'"': '"', "'": "'", "“": "”", "„": "“", "«": "»", "「": "」", "『": "』"}
_LETTER = re.compile(r"[^\W\d_]")
# The character class comes first, for speed: lookbehinds at every position made it twenty times slower.
_SENTENCE_END = re.compile(
    r"[.!?…。\uff01\uff1f;|\n]"
    r"(?:(?<=[.!?…])(?<!\be\.g\.)(?<!\bi\.e\.)[\"'\u201d\u2019)\]*_`]*(?=\s|\Z)"
    r"|(?<=[。\uff01\uff1f;|])|(?<=\n)[ \t]*(?=\n))"
)
_NEXT_LINE = re.compile(r"\n[ \t]*[*_`(\"']*(\S)")


def objection(before: str, after: str) -> str:
    """Return why a tag between these texts makes no promise, or nothing."""
    left, right = before[before.rfind("\n") + 1 :], after.partition("\n")[0]
    if _QUOTED_LINE.match(f"{left}\0{right}"):
        return "inside a quotation"
    if _BARE_BEFORE.fullmatch(left) and _BARE_AFTER.fullmatch(right):
        return ""
    said, rest = _sentence_before(before), _sentence_after(after)
    return _set_off(left, right, said, rest) or spoken_of(said, rest)


def _set_off(left: str, right: str, said: str, rest: str) -> str:
    """Look at the signs around the tag: code spans, quotation marks, a line through it, another tag."""
    if any("\0" in span[2] for span in _CODE_SPAN.finditer(f"{left}\0{right}")):
        own_sentence = _LETTER.search(left) and not _LETTER.search(said + rest)
        return "" if own_sentence else "inside a code span of a sentence"
    if left.endswith("~~"):
        return "struck out"
    if "<promise>" in said and "</promise>" in rest:
        return "inside another promise"
    opening, closing = left.rstrip("*_")[-1:], right.lstrip("*_")[:1]
    if closing and _QUOTES.get(opening) == closing:
        return "quoted in a sentence"
    return "quoted in a sentence" if left.count('"') % 2 and '"' in right else ""


def _sentence_before(text: str) -> str:
    ends = [end.end() for end in _SENTENCE_END.finditer(text)]
    ends += [line.start() for line in _NEXT_LINE.finditer(text) if not line[1].islower()]
    return text[max(ends, default=0) :]


def _sentence_after(text: str) -> str:
    """Return the rest of the sentence. A line that begins in lower case goes on from the one before."""
    text = text.partition("<promise>")[0]
    end = _SENTENCE_END.search(text)
    text = text[: end.end()] if end else text
    return text[: next((line.start() for line in _NEXT_LINE.finditer(text) if not line[1].islower()), len(text))]
