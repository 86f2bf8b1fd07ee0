"""Tells a promise that is made from one that is only spoken of, by the words of its sentence.

A promise is made when its tag stands apart: as a sentence of its own, or put to a sentence that is whole without it. It
is spoken of when the tag is a part of the grammar: behind an article or a preposition, the subject of a verb, or the
object of a verb of saying that is denied, put off or given as an order. In doubt it is made, for the specification's
rule is that the output contains the tag. English is read closely; of other languages only some words for if, when and
not are known.
"""

import re
from typing import NamedTuple

from spool.domain import lexicon

_WOULD, _ABOUT = "says when it would be made", "speaks about the promise"
_LETTER = re.compile(r"[^\W\d_]")
_TOKEN = re.compile(r"[^\W_]+(?:['.-][^\W_]+)*|[,:(\u2013\u2014\u2192]|(?<=\s)-+(?=\s)")
_PLAIN_APOSTROPHE = str.maketrans("\u2018\u2019", "''")
_CLAUSE = 8


class _Sentence(NamedTuple):
    """The sentence around a tag: its text, and its words in lower case."""

    text: str
    before: list[str]
    after: list[str]
    touches: bool
    """A word, no punctuation mark, stands right before the tag."""
    goes_on: bool
    """What follows the tag does not begin a sentence of its own."""
    ends: bool
    """The sentence's full stop, or a comma, stands right behind the tag."""


def spoken_of(said: str, rest: str) -> str:
    """Return why a tag between these two parts of its sentence is only spoken of, or nothing."""
    sentence = _sentence(said, rest)
    if sentence.goes_on and rest.rstrip().endswith("?"):
        return _ABOUT
    clause = _clause_of_saying(sentence.before)
    if clause and (why := _not_said(clause, sentence)):
        return why
    if clause and _said_by_us(clause, sentence):
        return _taken_back(sentence)
    return _taken_back(sentence) or _put_off(sentence) or _part_of_grammar(sentence)


def _sentence(said: str, rest: str) -> _Sentence:
    before = _TOKEN.findall(said.translate(_PLAIN_APOSTROPHE).lower())
    while before and (before[0] in lexicon.LINKS or before[0].replace(".", "").isdigit()):
        del before[0]
    first = _LETTER.search(rest)
    return _Sentence(
        f"{said} {rest}",
        before,
        _TOKEN.findall(rest.translate(_PLAIN_APOSTROPHE).lower()),
        touches=said.rstrip(" \t\n*_\"'.")[-1:].isalnum(),
        goes_on=first is None or not first[0].isupper(),
        ends=rest.lstrip("*_`\"')")[:1] in tuple(".!,:"),
    )


def _clause_of_saying(before: list[str]) -> list[str]:
    """Return the clause up to the verb of saying whose object the tag is, if there is one."""
    verb = _governor(before)
    if verb < 0 or before[verb] not in lexicon.GOVERNING:
        return []
    start = max(0, verb - _CLAUSE)
    start = next((at + 1 for at in range(verb - 1, start - 1, -1) if before[at] in lexicon.LINKS), start)
    return before[start : verb + 1]


def _not_said(clause: list[str], sentence: _Sentence) -> str:
    """Look whether the verb of saying is denied, put off, ordered, conditional or somebody else's."""
    if any(word in lexicon.NOT or word.endswith("n't") for word in clause):
        return _WOULD
    if clause[0].endswith("ing") and any(map(_is_predicate, _first_clause(sentence.after))):
        return _ABOUT  # printing it would be wrong
    if not _now(clause, sentence):
        if any(word in lexicon.LATER and not _glad_to(clause, at) for at, word in enumerate(clause)):
            return _WOULD
        is_label = sentence.before[-2:] == [clause[0], ":"]
        if clause[0] in lexicon.ORDERS and not is_label:
            return _ABOUT
        if not _going_on(clause) and (_has_condition(sentence.before) or _has_condition(sentence.after)):
            return _WOULD
    return _ABOUT if clause[-1] in lexicon.SAYS else ""


def _said_by_us(clause: list[str], sentence: _Sentence) -> bool:
    finite = clause[-1] in lexicon.SAY | lexicon.AFTER_A_VERB
    return _now(clause, sentence) or _going_on(clause) or (finite and bool(lexicon.WE.intersection(clause)))


def _now(clause: list[str], sentence: _Sentence) -> bool:
    return bool(lexicon.NOW.intersection(clause + sentence.after[:1]))


def _going_on(clause: list[str]) -> bool:
    """Whether the clause says what is being done: printing it; I am printing it."""
    is_being = bool(lexicon.BEING.intersection(clause))
    return clause[0].endswith("ing") or (is_being and any(word.endswith("ing") for word in clause))


def _taken_back(sentence: _Sentence) -> str:
    """Look at what follows the tag: not yet, when, only if."""
    words = _opening(sentence.after)
    if words[:1] == ["not"] and (len(words) == 1 or words[1] in lexicon.NOT_MET or words == sentence.after):
        return _WOULD
    if not words or not sentence.goes_on:
        return ""
    runs_on = sentence.after[0] not in lexicon.PAUSES
    if words[0] in lexicon.TAKES_BACK or _is_condition(words) or (runs_on and _has_condition(words)):
        return _WOULD
    return ""


def _put_off(sentence: _Sentence) -> str:
    """Look for a condition that opens the sentence, and for those of other languages."""
    before, after = sentence.before, sentence.after
    if _is_condition(_opening(before)):
        return _WOULD
    near = (before[-6:] if sentence.touches else []) + after[:3]
    if lexicon.IF_ELSEWHERE.intersection(before + after) or lexicon.NOT_ELSEWHERE.intersection(near):
        return _WOULD
    return _WOULD if lexicon.UNSPACED.search(sentence.text) else ""


def _part_of_grammar(sentence: _Sentence) -> str:
    """Look whether the tag is used as a noun: behind an article, as an object, as a subject."""
    before, follows = sentence.before, next(iter(sentence.after), "")
    governor = _governor(before)
    if governor >= 0 and before[governor] in lexicon.DENIALS:
        return _ABOUT
    if sentence.touches and before:
        last = before[-1]
        tied = sentence.ends or (sentence.goes_on and follows in lexicon.TIES)
        governed = last in lexicon.PREPOSITIONS and len(before) > 1
        if governed or last in lexicon.MAKES_A_NOUN or last.endswith("n't") or (tied and last not in lexicon.CLOSES):
            return _ABOUT
    return _ABOUT if sentence.goes_on and (follows in lexicon.NAMES or _is_predicate(follows)) else ""


def _governor(words: list[str]) -> int:
    """Return where the word stands that governs the tag, or -1; articles and names of the tag lie between."""
    at = len(words) - 1
    while at >= 0 and words[at] in lexicon.BETWEEN:
        at -= 1
    return at


def _is_predicate(word: str) -> bool:
    return word in lexicon.PREDICATES or word.endswith("n't")


def _first_clause(words: list[str]) -> list[str]:
    return words[: next((at for at, word in enumerate(words) if word in lexicon.LINKS or word == "as"), len(words))]


def _glad_to(clause: list[str], at: int) -> bool:
    return clause[at] == "to" and at > 0 and clause[at - 1] in lexicon.GLAD


def _opening(words: list[str]) -> list[str]:
    return words[next((at for at, word in enumerate(words) if word not in lexicon.OPENERS), len(words)) :]


def _is_condition(words: list[str]) -> bool:
    """Whether these words begin a condition; `once more` is none."""
    if words[:2] in (["as", "soon"], ["in", "case"], ["not", "until"], ["only", "after"]):
        return True
    first, second = [*words, "", "", ""][1 if words[:1] == ["only"] else 0 :][:2]
    return first in lexicon.IF and second not in ("more", "again")


def _has_condition(words: list[str]) -> bool:
    return any(_is_condition(words[at : at + 3]) for at in range(len(words)))
