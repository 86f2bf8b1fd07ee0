"""Recognizes the prompt when an agent prints it back."""

import re
from itertools import islice
from typing import NamedTuple

_TAG = re.compile(r"<promise>[^<]{0,400}</promise>")
_NEAR = 80
_ENOUGH = 40
"""The fewest equal characters, whitespace aside, that are not a coincidence; a shorter prompt must be there whole."""
_PLACES = 200


class _EchoPlace(NamedTuple):
    before: str
    tag: str
    after: str


class Echo:
    """Remembers the text around each tag of the prompt; CLIs wrap what they print, so whitespace does not matter."""

    def __init__(self, prompt: str) -> None:
        text = _bare(prompt) if "<promise>" in prompt else ""
        self._places = [
            _EchoPlace(text[max(0, tag.start() - _NEAR) : tag.start()], tag[0], text[tag.end() : tag.end() + _NEAR])
            for tag in islice(_TAG.finditer(text), _PLACES)
        ]

    def is_in(self, before: str, tag: str, after: str) -> bool:
        """Whether a tag between these texts is one of the prompt's."""
        if not self._places:
            return False
        found = _EchoPlace(_bare(before)[-_NEAR:], _bare(tag), _bare(after)[:_NEAR])
        return any(_same(found, place) for place in self._places)


def _same(found: _EchoPlace, place: _EchoPlace) -> bool:
    alike = place.before.endswith(found.before) or found.before.endswith(place.before)
    if found.tag != place.tag or not alike:
        return False
    if found.after.startswith(place.after):
        same = min(len(found.before), len(place.before)) + len(place.after)
        return same >= min(_ENOUGH, len(place.before) + len(place.after)) > 0
    # A prompt may dictate the answer. Saying it ends the message; an agent that continues was repeating.
    return len(found.before) == _NEAR and bool(found.after)


def _bare(text: str) -> str:
    return "".join(text.split())
