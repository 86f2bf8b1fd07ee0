"""Reads Markdown into sections of list items and table rows."""

import re
from itertools import zip_longest

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode as Node

from spool.domain.change.front_matter import without_front_matter
from spool.domain.change.plan_file.marks import has_status_signs, is_no_item, is_struck, mended, split_mark
from spool.domain.change.plan_file.plan import PlanItem, PlanSection
from spool.domain.change.plan_file.table_rows import table_items

_BOLD = re.compile(r"(?:\*\*(?!\*)(?P<stars>[^*\n]+)\*\*|__(?P<lines>[^_\n]+)__):?")
_NAMED = re.compile(r"(?:phase|stage|step|part|milestone|sprint|day|week|epic|story)\b[^\n]*:", re.IGNORECASE)
_TRIMMED = re.compile(r"^(?:\*\*|__)(.*?)(?:\*\*|__)$")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LABEL_LEVEL = 7
_LISTS = ("bullet_list", "ordered_list")
_READER = MarkdownIt("commonmark").enable("table").disable("inline")


def read_sections(text: str) -> tuple[str, list[PlanSection]]:
    """Return the title of a plan, which may be empty, and its sections in order."""
    text = without_front_matter(text.removeprefix("\ufeff"))
    reading = _HeadingPosition(signs=has_status_signs(text))
    nodes = list(Node(_READER.parse(mended(text))).children)
    for node, following in zip_longest(nodes, nodes[1:]):
        reading.take(node, following)
    _set_ends(reading.sections, len(text.splitlines()))
    return reading.title, _untitled(reading.sections)


def _set_ends(sections: list[PlanSection], last: int) -> None:
    """Note where each section ends: before the next heading that is not inside of it."""
    for at, section in enumerate(sections):
        after = (one.line for one in sections[at + 1 :] if one.level <= section.level)
        section.end = next(after, last + 1) - 1


def _untitled(sections: list[PlanSection]) -> list[PlanSection]:
    """Drop the only heading of the first level from the headings around a section: it names the whole plan."""
    if sum(section.level == 1 for section in sections) != 1:
        return sections
    at = next(number for number, section in enumerate(sections) if section.level == 1)
    for section in sections[at + 1 :]:
        section.above = section.above[1:]
    sections[at].level = 0
    return sections


class _HeadingPosition:
    """The parser's position among the headings."""

    def __init__(self, *, signs: bool) -> None:
        self._signs = signs
        self.title = ""
        self.sections = [PlanSection(title="")]
        self._stack: list[tuple[int, str]] = []
        self._leader: PlanItem | None = None

    def take(self, node: Node, following: Node | None) -> None:
        """Read one block."""
        leader, self._leader = self._leader, None
        if node.type == "heading":
            self._enter(int(node.tag[1:]), _inline(node), _line(node))
        elif node.type == "paragraph" and (label := _label(_inline(node))):
            self._enter(_LABEL_LEVEL, label, _line(node))
        elif node.type in _LISTS:
            items = _items(node, signs=self._signs)
            if leader is not None and node.type == "bullet_list":
                leader.children += items
                return
            self.sections[-1].items += items
            # `1. Parser`, then a list that is not indented: it belongs to the step.
            if node.type == "ordered_list" and len(items) == 1 and following is not None:
                self._leader = items[0] if following.type == "bullet_list" else None
        elif node.type == "table":
            self.sections[-1].items += _table(node)

    def _enter(self, level: int, title: str, line: int) -> None:
        title = _plain(title)
        while self._stack and self._stack[-1][0] >= level:
            self._stack.pop()
        if level == 1 and not self.title:
            self.title = title
        above = tuple(name for _, name in self._stack)
        self._stack.append((level, title))
        bold = level == _LABEL_LEVEL
        self.sections.append(PlanSection(title=title, above=above, level=level, line=line, bold=bold))


def _inline(node: Node) -> str:
    return " ".join(child.content for child in node.children if child.type == "inline").strip()


def _label(text: str) -> str:
    """Return the name in a line that stands for a heading: `**Phase 1**`, or `Phase 1:`."""
    if bold := _BOLD.fullmatch(text):
        return (bold["stars"] or bold["lines"]).strip().rstrip(":")
    return text.rstrip(":") if _NAMED.fullmatch(text) else ""


def _plain(title: str) -> str:
    return _TRIMMED.sub(r"\1", " ".join(title.split())).strip().rstrip(":").strip()


def _items(node: Node, *, signs: bool) -> list[PlanItem]:
    found = [_item(child, signs=signs) for child in node.children]
    for item in found:
        item.block, item.ordered = _line(node), node.type == "ordered_list"
    return [item for item in found if (item.text or item.children) and not is_no_item(item.text)]


def _item(node: Node, *, signs: bool) -> PlanItem:
    text, children = "", []
    for child in node.children:
        if child.type in _LISTS:
            children += _items(child, signs=signs)
        elif child.type in ("paragraph", "heading") and not text:
            text = " ".join(_COMMENT.sub("", _inline(child)).split())
    mark, text = split_mark(text, signs=signs)
    struck = mark is None and is_struck(text)
    mark = "x" if struck else mark
    last = (node.map or (0, 0))[1]
    return PlanItem(text=text, mark=mark, line=_line(node), end=last, struck=struck, children=children)


def _line(node: Node) -> int:
    return (node.map or (0, 0))[0] + 1


def _table(node: Node) -> list[PlanItem]:
    rows = [row for part in node.children for row in part.children]
    cells = [(_line(row), [_inline(cell) for cell in row.children]) for row in rows]
    return table_items(cells[0][1], cells[1:]) if cells else []
