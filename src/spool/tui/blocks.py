"""Blocks, the units of paged views: text, lines, rules and Markdown.

Agent output is data: it is cleaned here, once, and never parsed as the screen's markup.
"""

from enum import Enum, auto

import msgspec

from spool.domain.text.plain_text import clean, one_line
from spool.views.live.speech import fenced_pieces, pieces
from spool.views.look import Role

PIECE = 4_096
"""Maximum characters in a block, so that painting one takes a few milliseconds however long the message."""
NO_FOLD = -1
_LONGEST_LINE = 400


class Form(Enum):
    """The layout of a block."""

    MARKDOWN = auto()
    TEXT = auto()
    PATCH = auto()
    """Lines of a diff: the rest of one that does not fit is marked, or it would look like a line without a sign."""
    LINE = auto()
    RULE = auto()


class Tone(Enum):
    """The meaning of a block, which sets its colour."""

    PLAIN = auto()
    DIM = auto()
    STRONG = auto()
    CALL = auto()
    PROVED = auto()
    GOOD = auto()
    WARN = auto()
    BAD = auto()
    ODD = auto()


TONES = {
    Role.PROVED: Tone.PROVED,
    Role.GOOD: Tone.GOOD,
    Role.RUNNING: Tone.CALL,
    Role.WARN: Tone.WARN,
    Role.BAD: Tone.BAD,
    Role.ODD: Tone.ODD,
    Role.DIM: Tone.DIM,
    Role.PLAIN: Tone.PLAIN,
}
"""The tones of the look's colours."""


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """One unit of a paged view, small enough to paint in one go."""

    text: str
    form: Form = Form.TEXT
    tone: Tone = Tone.PLAIN
    indent: int = 0
    fold: int = NO_FOLD
    """The number of its fold; blocks with the same number fold together."""
    within: int = NO_FOLD
    """The fold around it, if it is a call of a group."""
    head: bool = False
    """Whether this line stays visible and unfolds the rest."""
    word: str = ""
    """The part of a line that has its colour; empty for all of it."""


def markdown(text: str, *, fenced: bool = False) -> list[Block]:
    """Return a text as Markdown blocks; a split fence continues in the next one."""
    return [Block(text=clean(piece), form=Form.MARKDOWN) for piece in fenced_pieces(text, PIECE, fenced=fenced)]


def line(text: str, tone: Tone = Tone.PLAIN, *, indent: int = 0, fold: int = NO_FOLD) -> Block:
    """Return a text as one line, which is the head of `fold` if given."""
    shown = one_line(text, _LONGEST_LINE)
    return Block(text=shown, form=Form.LINE, tone=tone, indent=indent, fold=fold, head=fold != NO_FOLD)


def rule(text: str, tone: Tone = Tone.STRONG) -> Block:
    """Return a heading followed by a rule."""
    return Block(text=one_line(text, _LONGEST_LINE), form=Form.RULE, tone=tone)


def plain(
    text: str, *, tone: Tone = Tone.PLAIN, indent: int = 0, fold: int = NO_FOLD, form: Form = Form.TEXT
) -> list[Block]:
    """Return a text verbatim, as blocks."""
    return [
        Block(text=clean(piece).rstrip("\n"), form=form, tone=tone, indent=indent, fold=fold)
        for piece in pieces(text, PIECE)
    ]
