"""Prints. All text between Spool and a terminal goes through here, and foreign text leaves without its controls."""

import codecs
import os
import re
import sys
from collections.abc import Iterable
from typing import Any

import click
import msgspec

from spool.domain.text.plain_text import Cleaner, clean

# JSON escapes C0 itself. DEL, C1 and the characters that reorder or hide text would reach the terminal as they are.
_ACTIVE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_ENCODER = msgspec.json.Encoder()


def say(*lines: str, err: bool = False, colour: str | None = None, word: str = "") -> None:
    """Print lines, each on one line whatever it contains; colour the lines, or a word in them, on a terminal."""
    for line in lines or ("",):
        shown = " ".join(clean(line).split("\n"))
        if colour and coloured():
            part = word or shown
            shown = shown.replace(part, click.style(part, fg=colour, bold=True), 1)
        click.echo(shown, err=err)


def say_text(text: str) -> None:
    """Print text of several lines."""
    say(*text.rstrip("\n").split("\n"))


def say_json(value: Any, *, indent: int = 0) -> None:
    """Print a value as JSON, on one line or indented."""
    data = json_text(value)
    click.echo(msgspec.json.format(data, indent=indent) if indent else data)


def json_text(value: Any) -> str:
    """Return a value as JSON whose characters cannot act on a terminal; invalid UTF-8 becomes U+FFFD."""
    try:
        text = _ENCODER.encode(value).decode()
    except UnicodeEncodeError:
        import json  # only for invalid UTF-8

        text = json.dumps(msgspec.to_builtins(value), ensure_ascii=False)
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return _ACTIVE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def copy_out(chunks: Iterable[bytes]) -> None:
    """Print a growing text as it arrives."""
    decoder, cleaner = codecs.getincrementaldecoder("utf-8")("replace"), Cleaner()
    for chunk in chunks:
        sys.stdout.write(cleaner.feed(decoder.decode(chunk)))
        sys.stdout.flush()
    sys.stdout.write(cleaner.feed(decoder.decode(b"", final=True)) + cleaner.finish())
    sys.stdout.flush()


def rewrite_line(text: str) -> None:
    """Replace the current line of a terminal's standard error."""
    sys.stderr.write(f"\r\033[K{clean(text)}")
    sys.stderr.flush()


def ring(text: str) -> None:
    """Ring the terminal's bell, after a notification for terminals that show one (OSC 9)."""
    # A semicolon would end the text in some terminals, and "4;" starts a progress bar in others.
    shown = " ".join(clean(text).split()).replace(";", ",")
    sys.stderr.write(f"\033]9;{shown}\a\a")
    sys.stderr.flush()


def coloured() -> bool:
    """Whether to colour standard output."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
