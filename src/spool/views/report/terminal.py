"""Prints a report on a terminal: one page per loop, from 60 to 120 columns."""

import shutil
import sys
import textwrap
from collections.abc import Iterator

from spool.app.reporting import Report, Reported
from spool.domain.text import one_line
from spool.views.look import STATUSES, Role
from spool.views.report import words as report_words
from spool.views.report.words import StoryRow
from spool.views.say import say

_NARROWEST, _WIDEST = 60, 120
_INDENT = 2
_FIGURES = ("tries", "time", "gates", "tokens", "cost")
_DROPPED = ("gates", "tokens", "tries")
"""The columns to leave out on a narrow terminal, the first one first."""
_Line = tuple[str, Role, str]
"""A line, its colour, and the word that has it; without a word the whole line."""


def show_report(report: Report) -> None:
    """Print a report."""
    width = max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size().columns)) if sys.stdout.isatty() else _WIDEST
    for text, role, word in page(report, width):
        say(text, colour=role.colour, word=word)


def page(report: Report, width: int) -> Iterator[_Line]:
    """Yield the lines of a report, each at most `width` columns, but for commands, which are never cut."""
    if not report.loops:
        yield f"No loop of this repository was active {report_words.period(report)}.", Role.PLAIN, ""
        yield "Name a change or a run, or look further back with --since; spool ps --all lists them.", Role.PLAIN, ""
    for number, reported in enumerate(report.loops):
        if number:
            yield "", Role.PLAIN, ""
        yield from _loop(report, reported, width)


def _loop(report: Report, reported: Reported, width: int) -> Iterator[_Line]:
    account = reported.account
    status = STATUSES[account.status]
    yield one_line(report_words.title(reported), width), Role.PLAIN, ""
    if reported.gone:
        yield "Its journal is gone, with its worktree or by --fresh; nothing more is known.", Role.WARN, ""
        return
    for line in _wrapped(f"{status.sign} {report_words.verdict(account)}", width, hanging=2):
        yield line, status.role, "" if not line.startswith(status.sign) else line
    yield f"  {report_words.when(account)}", Role.PLAIN, ""
    if report.since is not None:
        yield f"  counted {report_words.period(report)}", Role.PLAIN, ""
    yield "", Role.PLAIN, ""
    if not account.whole:
        yield f"Stories  {report_words.standings(account)}", Role.PLAIN, ""
    yield from _stories(report_words.story_rows(account), width)
    yield "", Role.PLAIN, ""
    yield from _pairs(report_words.figures(account), width)
    yield "", Role.PLAIN, ""
    for step in report_words.steps(reported):
        yield f"{step.label}:", Role.PLAIN, ""
        yield f"  {step.command}", Role.PLAIN, ""


def _stories(rows: list[StoryRow], width: int) -> Iterator[_Line]:
    columns = {name: [str(getattr(row, name)) for row in rows] for name in ("standing", *_FIGURES)}
    columns = {name: cells for name, cells in columns.items() if any(cell != "-" for cell in cells)}
    longest = min(30, max((len(row.name) for row in rows), default=0))
    for name in _DROPPED:
        if longest + 2 + _used(columns) <= width:
            break
        columns.pop(name, None)
    room = max(12, min(max((len(row.name) for row in rows), default=0), width - 2 - _used(columns)))
    for place, row in enumerate(rows):
        cells = [f"{row.sign} {one_line(row.name, room):<{room}}"]
        for name, column in columns.items():
            size = max(map(len, column))
            cells.append(f"{column[place]:<{size}}" if name == "standing" else f"{column[place]:>{size}}")
        yield "  ".join(cells).rstrip(), row.role, row.sign
        for note in row.notes:
            words, command = report_words.split_command(note)
            if command and len(note) + 4 > width:  # a command stays in one piece
                yield f"    {words}", Role.PLAIN, ""
                yield f"      {command}", Role.PLAIN, ""
            else:
                for line in _wrapped(f"    {note}", width, hanging=6):
                    yield line, Role.PLAIN, ""


def _pairs(pairs: list[tuple[str, str]], width: int) -> Iterator[_Line]:
    size = min(18, max(len(label) for label, _ in pairs))
    for label, value in pairs:
        for line in _wrapped(f"{label:<{size}}  {value}", width, hanging=size + 2):
            yield line, Role.PLAIN, ""


def _wrapped(text: str, width: int, *, hanging: int) -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent=" " * hanging, break_on_hyphens=False) or [""]


def _used(columns: dict[str, list[str]]) -> int:
    return sum(2 + max(map(len, cells)) for cells in columns.values())
