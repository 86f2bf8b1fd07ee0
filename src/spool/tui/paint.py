"""Renders blocks as terminal lines, in the sixteen colours that every theme maps."""

import re
import textwrap
from io import StringIO
from typing import Any, ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, ListItem, Markdown
from rich.segment import Segment
from rich.style import Style
from rich.syntax import Syntax
from rich.text import Text
from rich.theme import Theme
from textual.strip import Strip

from spool.domain.text.plain_text import clean
from spool.tui.blocks import Block, Form, Tone
from spool.views.look import DONE, OPEN, Role

_TONES = {
    Tone.PLAIN: Style(),
    Tone.DIM: Style.parse(Role.DIM.style),
    Tone.STRONG: Style(bold=True),
    Tone.CALL: Style(color=Role.RUNNING.colour),
    Tone.PROVED: Style.parse(Role.PROVED.style),
    Tone.GOOD: Style(color=Role.GOOD.colour),
    Tone.WARN: Style(color=Role.WARN.colour),
    Tone.BAD: Style(color=Role.BAD.colour),
    Tone.ODD: Style(color=Role.ODD.colour),
}
_THEME = Theme(
    {
        "markdown.code": Style(color=Role.RUNNING.colour),
        "markdown.code_block": Style(),
        "markdown.block_quote": Style(dim=True),
        "markdown.list": Style(),
        "markdown.item.number": Style(bold=True),
        "markdown.h1": Style(bold=True, underline=True),
        "markdown.h2": Style(bold=True, underline=True),
        "markdown.h3": Style(bold=True),
        "markdown.h4": Style(bold=True),
        "markdown.link": Style(underline=True),
        "markdown.link_url": Style(dim=True),
        "markdown.table.border": Style(dim=True),
        "markdown.table.header": Style(bold=True),
    }
)
_BOX = re.compile(r"\[([ xX])\] ")
_BOXES = {DONE: Style(color=Role.GOOD.colour), OPEN: Style()}
_REST = "↳ "
NARROWEST = 8
"""Minimum columns to paint for; a narrower view cuts lines off."""
# Treat tags as text: parsed as HTML, the promise itself would be invisible.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable("strikethrough").enable("table")


class _LeftHeading(Heading):
    """A left-aligned heading."""

    LEVEL_ALIGN: ClassVar[dict[str, Any]] = {}


class _BareCode(CodeBlock):
    """Indented code on the text's own background."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the highlighted code."""
        yield Syntax(str(self.text).rstrip(), self.lexer_name, theme=self.theme, word_wrap=True, padding=(0, 2))


class _ListItem(ListItem):
    """A list item; a task shows its box instead of a bullet."""

    box = ""

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> "_ListItem":  # noqa: ARG003 - the parent's signature
        """Create the item with its box."""
        item = cls()
        item.box = token.meta.get("box", "")
        return item

    def render_bullet(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines of the item."""
        for number, segment in enumerate(super().render_bullet(console, options)):
            yield Segment(f" {self.box} ", _BOXES[self.box]) if self.box and not number else segment


class _Prose(Markdown):
    """Markdown that keeps line breaks, as agents expect, and has no live links."""

    elements: ClassVar[dict[str, Any]] = {
        **Markdown.elements,
        "heading_open": _LeftHeading,
        "list_item_open": _ListItem,
        "fence": _BareCode,
        "code_block": _BareCode,
    }

    def __init__(self, text: str, *, dark: bool) -> None:
        super().__init__("", code_theme="ansi_dark" if dark else "ansi_light", hyperlinks=False)
        self.parsed = _PARSER.parse(text)
        item: Token | None = None
        for token in self.parsed:
            item = token if token.type == "list_item_open" and token.markup in "-*+" else item
            children = token.children or []
            for child in children:
                child.content = clean(child.content)  # entities may decode to control characters
                if child.type == "softbreak":
                    child.type = "hardbreak"
            if item is not None and children:
                _take_box(item, children[0])
                item = None


def _take_box(item: Token, text: Token) -> None:
    """Turn an item that starts with a box into a task."""
    if found := _BOX.match(text.content):
        item.meta["box"] = OPEN if found[1] == " " else DONE
        text.content = text.content[found.end() :]


def _marked(text: str, room: int) -> str:
    """Return a text whose long lines are broken, with a mark before the rest of each."""
    lines = text.split("\n")
    if all(len(line) <= room for line in lines):
        return text
    return "\n".join(
        "\n".join(textwrap.wrap(line, room, subsequent_indent=_REST, break_on_hyphens=False)) for line in lines
    )


class Painter:
    """Paints blocks for one width and one theme."""

    def __init__(self, width: int, *, dark: bool) -> None:
        self.width = width
        self.dark = dark
        self._console = Console(
            file=StringIO(), width=self.width, theme=_THEME, color_system="truecolor", force_terminal=True,
            markup=False, emoji=False, highlight=False, legacy_windows=False, _environ={},
        )  # fmt: skip

    def paint(self, block: Block, *, opened: bool) -> list[Strip]:
        """Return the lines of a block."""
        style = _TONES[block.tone]
        match block.form:
            case Form.MARKDOWN:
                return [*self._lines(_Prose(block.text, dark=self.dark), Style(), 0), Strip.blank(self.width)]
            case Form.TEXT:
                return self._lines(Text(block.text, style="", overflow="fold"), style, block.indent)
            case Form.PATCH:
                shown = _marked(block.text, max(NARROWEST, self.width - block.indent))
                return self._lines(Text(shown, style="", overflow="fold"), style, block.indent)
            case Form.LINE:
                mark = ("▼ " if opened else "► ") if block.head and not block.word else ""
                text = Text(mark + block.text, overflow="fold")
                if block.word and (at := block.text.find(block.word)) >= 0:
                    text.stylize(style, at, at + len(block.word))
                return self._lines(text, Style() if block.word else style, block.indent)
            case Form.RULE:
                text = Text(f"── {block.text} ", style="bold", overflow="fold")
                if (rest := self.width - text.cell_len) > 0:
                    text.append("─" * rest, "dim")
                return [Strip.blank(self.width), *self._lines(text, style, 0)]

    def _lines(self, what: Markdown | Text, style: Style, indent: int) -> list[Strip]:
        room = max(NARROWEST, self.width - indent)
        options = self._console.options.update(width=room, highlight=False)
        lines = self._console.render_lines(what, options, style=style, pad=False)
        margin = [Segment(" " * indent)] if indent else []
        return [Strip([*margin, *line]) for line in lines]
