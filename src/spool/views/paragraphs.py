"""Prints paragraphs, and commands with what they do, to fit the terminal."""

import shutil
import textwrap
from collections.abc import Mapping

from spool.views.say import say

_WIDEST = 100
_BESIDE = 34
"""Columns that a meaning needs beside its command; with fewer it goes below."""


def say_paragraph(text: str) -> None:
    """Print a paragraph, broken at the width of the terminal."""
    say(*textwrap.wrap(text, _width(), break_long_words=False, break_on_hyphens=False))


def say_hanging(start: str, text: str, *, colour: str | None = None, word: str = "") -> None:
    """Print a text after its start; further lines are indented as far."""
    first, *rest = textwrap.wrap(text, max(20, _width() - len(start)), break_on_hyphens=False) or [""]
    say(f"{start}{first}", colour=colour, word=word)
    for line in rest:
        say(f"{' ' * len(start)}{line}")


def say_commands(commands: Mapping[str, str]) -> None:
    """Print commands to type, each with what it does."""
    longest = max(map(len, commands))
    beside = _width() - longest - 6 >= _BESIDE
    for command, meaning in commands.items():
        if beside:
            say(f"  {command:<{longest}}    {meaning}".rstrip())
        else:
            say(f"  {command}", *(f"      {line}" for line in textwrap.wrap(meaning, _width() - 6)))


def _width() -> int:
    return min(_WIDEST, max(30, shutil.get_terminal_size((_WIDEST, 24)).columns))
