"""Decides by place and punctuation whether a tag makes a promise. In doubt it does not, and the next prompt says why.

A promise is alone on its line, or the last thing in its message and set off by punctuation. A tag inside a sentence is
a mention of it. The few words that veto a promise are those for not, not yet, if and when, in several languages.
"""

import re

from spool.domain.judging.promise import vetoes

CONTEXT = 600
"""The number of characters examined on either side of a tag."""
_LABEL = 30
"""Characters before a tag that may be its label: "Example:", "the docs say:"."""

# A quoted line, or one behind the bar with which CLIs in text mode mark a tool's output; a frame has a second bar.
_QUOTED_LINE = re.compile(r"\s*(?:>|[⎿└│](?!.*│\s*\Z))", re.DOTALL)
_OPEN_BOX = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+\[ \]")
_QUOTES = {'"': '"', "'": "'", "“": "”", "„": "“", "«": "»", "「": "」", "『": "』"}
_LIST_MARK = re.compile(r"\s*(?:#{1,6}\s+|(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[xX]\]\s+)?)")
_WORD = re.compile(r"[^\W_]")
_MARKS = " \t*_`\"'“”„‚’‘«»‹›「」『』()[]（）【】✅✔✓☑🎉🏁🎯🚀"  # noqa: RUF001 - quotation marks that agents print
_SET_OFF = re.compile(r"(?:[.!?…:;。！？：；]|(?<=\s)[-–—]+|[—→⇒]|=>)\Z")  # noqa: RUF001 - punctuation of all languages
_NOISE = re.compile(r"\S{60}\Z")
"""A long run of output without a space; a tag behind it is not part of a sentence."""
_SENTENCE_END = re.compile(r"[.!?…;](?=[\s\"'”»)\]*_`]|\Z)|[。！？；]|[|\n]")  # noqa: RUF001 - of all languages
_UNFINISHED = re.compile(r"[:：,，—–-]\Z")  # noqa: RUF001 - punctuation of all languages


def objection(before: str, after: str, *, gives_up: bool = False) -> str:
    """Return why a tag between these texts makes no promise, or nothing.

    `after` ends where the message does. Who `gives_up` says not: there that word vetoes nothing.
    """
    left, right = before[before.rfind("\n") + 1 :], after.partition("\n")[0]
    if _QUOTED_LINE.match(f"{left}\0{right}"):
        return "inside a quotation"
    if _OPEN_BOX.match(left):
        return "an open box of a list"
    if left.rstrip(_MARKS).endswith("~~") or left.endswith("~~"):
        return "struck out"
    if _is_quoted(left, right):
        return "in quotation marks"
    opens_line = not _WORD.search(_LIST_MARK.sub("", left, count=1))
    why = _placed(before, after, left, right, opens_line=opens_line, gives_up=gives_up)
    if (opens_line or not why) and vetoes.takes_back(_next_sentences(after)):
        return "taken back by what follows it"
    return why


def _placed(before: str, after: str, left: str, right: str, *, opens_line: bool, gives_up: bool) -> str:
    below = after[len(right) :]
    if opens_line and not _WORD.search(right):
        return _led_into(before[: len(before) - len(left)], below)
    return _in_a_line(left, right, below, gives_up=gives_up)


def _is_quoted(left: str, right: str) -> bool:
    opening, closing = left.rstrip("*_`")[-1:], right.lstrip("*_`")[:1]
    return bool(closing) and _QUOTES.get(opening) == closing


def _led_into(above: str, below: str) -> str:
    """Judge the line above a tag that is alone on its line: an unfinished sentence may lead into it."""
    lead = above.rstrip()
    if not _UNFINISHED.search(lead.rstrip(_MARKS)):
        return ""
    sentence = _last_sentence(lead)
    if vetoes.puts_off(sentence) or (_WORD.search(below) and (vetoes.announces(sentence) or vetoes.denies(sentence))):
        return "introduced as what would be written"
    return ""


def _in_a_line(left: str, right: str, below: str, *, gives_up: bool) -> str:
    """Judge a tag that shares its line with words."""
    said = left.rstrip(_MARKS)
    set_off = bool(_SET_OFF.search(said) or _NOISE.search(said))
    if _WORD.search(right):
        return "inside a sentence"
    if "?" in right or "？" in right:  # noqa: RUF001 - the question mark of Chinese and Japanese
        return "inside a question"
    if not set_off:
        return "inside a sentence"
    own_sentence = bool(_SENTENCE_END.search(said[-1:]))
    if _WORD.search(below) and not own_sentence:
        return "not the last thing in the message"
    sentence = "" if own_sentence else _last_sentence(said)
    if vetoes.puts_off(sentence) or vetoes.announces(sentence) or (vetoes.denies(sentence) and not gives_up):
        return "says when it would be made"
    if vetoes.cites(sentence[-_LABEL:]):
        return "speaks about the promise"
    return ""


def _last_sentence(text: str) -> str:
    ends = [end.end() for end in _SENTENCE_END.finditer(text.rstrip(_MARKS + "\n"))]
    inner = [end for end in ends if end < len(text.rstrip(_MARKS + "\n"))]
    return text[max(inner, default=0) :]


def _next_sentences(after: str) -> str:
    """Return what follows a tag, as far as it may take the promise back."""
    return after.lstrip(_MARKS + "\n.,;:!-–—")[:160]  # noqa: RUF001 - dashes that people type
