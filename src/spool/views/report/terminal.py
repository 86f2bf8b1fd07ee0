"""Prints a report on a terminal: one page per loop, from 60 to 120 columns."""

import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from spool.app.reporting import Report, Reported
from spool.domain.text import one_line
from spool.views.look import STATUSES, Role
from spool.views.report import words as report_words
from spool.views.report.words import StoryRow
from spool.views.say import say

_NARROWEST, _WIDEST = 60, 120
_INDENT = 2
_CELLS = ("standing", "tries", "time", "gates", "tokens", "cost")
_DROPPED = ("gates", "tokens", "tries")
"""The columns to leave out on a narrow terminal, the first one first."""


class Line(NamedTuple):
    """A line, its colour, the word that has it (without a word the whole line), and the story whose row it is."""

    text: str
    role: Role = Role.PLAIN
    word: str = ""
    story: str | None = None


def show_report(report: Report) -> None:
    """Print a report."""
    width = max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size().columns)) if sys.stdout.isatty() else _WIDEST
    for line in page(report, width):
        say(line.text, colour=line.role.colour, word=line.word)


def page(report: Report, width: int) -> Iterator[Line]:
    """Yield the lines of a report, each at most `width` columns, but for commands, which are never cut."""
    if not report.loops:
        yield Line(f"No loop of this repository was active {report_words.period(report)}.")
        yield Line("Name a change or a run, or look further back with --since; spool ps --all lists them.")
    for number, reported in enumerate(report.loops):
        if number:
            yield Line("")
        yield from _loop(report, reported, width)


def _loop(report: Report, reported: Reported, width: int) -> Iterator[Line]:
    account = reported.account
    status = STATUSES[account.status]
    yield Line(one_line(report_words.title(reported), width))
    if reported.gone:
        yield Line("Its journal is gone, with its worktree or by --fresh; nothing more is known.", Role.WARN)
        return
    for line in _wrapped(f"{status.sign} {report_words.verdict(account)}", width, hanging=2):
        yield Line(line, status.role)
    yield Line(f"  {report_words.when(account)}")
    if report.since is not None:
        yield Line(f"  counted {report_words.period(report)}")
    yield Line("")
    if not account.whole:
        yield Line(f"Stories  {report_words.standings(account)}")
    yield from _stories(report_words.story_head(account)[2:], report_words.story_rows(account), width)
    yield Line("")
    yield from _pairs(report_words.figures(reported), width)
    yield Line("")
    for step in report_words.steps(reported):
        yield Line(f"{step.label}:")
        yield Line(f"  {step.command}")


def _stories(head: Sequence[str], rows: list[StoryRow], width: int) -> Iterator[Line]:
    if not rows:
        return
    columns = {
        name: [label, *(str(getattr(row, name)) for row in rows)] for name, label in zip(_CELLS, head, strict=True)
    }
    columns = {name: cells for name, cells in columns.items() if any(cell != "-" for cell in cells[1:])}
    longest = min(30, max(len(row.name) for row in rows))
    for name in _DROPPED:
        if longest + 2 + _used(columns) <= width:
            break
        columns.pop(name, None)
    room = max(12, min(max(len(row.name) for row in rows), width - 2 - _used(columns)))
    yield Line(f"{'':<{room + 2}}{_cells(columns, 0)}", Role.DIM)
    for place, row in enumerate(rows, 1):
        name = f"{row.sign} {one_line(row.name, room):<{room}}"
        yield Line(f"{name}{_cells(columns, place)}", row.role, row.sign, row.id)
        for note in row.notes:
            words, command = report_words.split_command(note)
            if command and len(note) + 4 > width:  # a command stays in one piece
                yield Line(f"    {words}")
                yield Line(f"      {command}")
            else:
                for line in _wrapped(f"    {note}", width, hanging=6):
                    yield Line(line)


def _cells(columns: dict[str, list[str]], place: int) -> str:
    """Return one line of the columns: the verdict to the left, figures to the right."""
    sizes = {name: max(map(len, column)) for name, column in columns.items()}
    cells = (
        f"{column[place]:<{sizes[name]}}" if name == "standing" else f"{column[place]:>{sizes[name]}}"
        for name, column in columns.items()
    )
    return "".join(f"  {cell}" for cell in cells).rstrip()


def _pairs(pairs: list[tuple[str, str]], width: int) -> Iterator[Line]:
    size = min(18, max(len(label) for label, _ in pairs))
    for label, value in pairs:
        for line in _wrapped(f"{label:<{size}}  {value}", width, hanging=size + 2):
            yield Line(line)


def _wrapped(text: str, width: int, *, hanging: int) -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent=" " * hanging, break_on_hyphens=False) or [""]


def _used(columns: dict[str, list[str]]) -> int:
    return sum(2 + max(map(len, cells)) for cells in columns.values())
