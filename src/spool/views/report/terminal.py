"""Prints a report on a terminal: one page per loop, from 60 to 120 columns."""

import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from spool.app.reporting.loop_reports import LoopReports
from spool.domain.account.account import LoopAccount
from spool.domain.text.plain_text import one_line
from spool.views.look import Role, status_sign
from spool.views.report import report_words
from spool.views.report.report_words import StoryRow
from spool.views.say import say

_NARROWEST, _WIDEST = 60, 120
_INDENT = 2
_CELLS = ("standing", "tries", "time", "gates", "tokens", "cost")
_DROPPED = ("gates", "tokens", "tries")
"""The columns to leave out on a narrow terminal, the first one first."""


class ReportLine(NamedTuple):
    """A line, its colour, the word that has it (without a word the whole line), and the story whose row it is."""

    text: str
    role: Role = Role.PLAIN
    word: str = ""
    story: str | None = None


def show_report(report: LoopReports) -> None:
    """Print a report."""
    width = max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size().columns)) if sys.stdout.isatty() else _WIDEST
    for line in page(report, width):
        say(line.text, colour=line.role.colour, word=line.word)


def page(report: LoopReports, width: int) -> Iterator[ReportLine]:
    """Yield the lines of a report, each at most `width` columns, but for commands, which are never cut."""
    if not report.loops:
        yield ReportLine(f"No loop of this repository was active {report_words.period(report)}.")
        yield ReportLine("Name a change or a run, or look further back with --since; spool ps --all lists them.")
    for number, account in enumerate(report.loops):
        if number:
            yield ReportLine("")
        yield from _loop(report, account, width)


def _loop(report: LoopReports, account: LoopAccount, width: int) -> Iterator[ReportLine]:
    history = account.history
    status = status_sign(history.status, history.proof)
    yield ReportLine(one_line(report_words.title(account), width))
    if account.gone:
        yield ReportLine("Its journal is gone, with its worktree or by --fresh; nothing more is known.", Role.WARN)
        return
    for line in _wrapped(f"{status.sign} {report_words.verdict(history)}", width, hanging=2):
        yield ReportLine(line, status.role)
    if history.bound:
        yield ReportLine(f"  {one_line(history.bound, width - 2)}")
    yield ReportLine(f"  {report_words.when(history)}")
    if report.since is not None:
        yield ReportLine(f"  counted {report_words.period(report)}")
    yield ReportLine("")
    if not history.whole:
        yield ReportLine(f"Stories  {report_words.standings(history)}")
    yield from _stories(report_words.story_head(history)[2:], report_words.story_rows(history), width)
    yield ReportLine("")
    yield from _pairs(report_words.figures(account), width)
    yield ReportLine("")
    for step in report_words.steps(account):
        yield ReportLine(f"{step.label}:")
        yield ReportLine(f"  {step.command}")


def _stories(head: Sequence[str], rows: list[StoryRow], width: int) -> Iterator[ReportLine]:
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
    yield ReportLine(f"{'':<{room + 2}}{_cells(columns, 0)}", Role.DIM)
    for place, row in enumerate(rows, 1):
        name = f"{row.sign} {one_line(row.name, room):<{room}}"
        yield ReportLine(f"{name}{_cells(columns, place)}", row.role, row.sign, row.id)
        for note in row.notes:
            words, command = report_words.split_command(note)
            if command and len(note) + 4 > width:  # a command stays in one piece
                yield ReportLine(f"    {words}")
                yield ReportLine(f"      {command}")
            else:
                for line in _wrapped(f"    {note}", width, hanging=6):
                    yield ReportLine(line)


def _cells(columns: dict[str, list[str]], place: int) -> str:
    """Return one line of the columns: the verdict to the left, figures to the right."""
    sizes = {name: max(map(len, column)) for name, column in columns.items()}
    cells = (
        f"{column[place]:<{sizes[name]}}" if name == "standing" else f"{column[place]:>{sizes[name]}}"
        for name, column in columns.items()
    )
    return "".join(f"  {cell}" for cell in cells).rstrip()


def _pairs(pairs: list[tuple[str, str]], width: int) -> Iterator[ReportLine]:
    size = min(18, max(len(label) for label, _ in pairs))
    for label, value in pairs:
        for line in _wrapped(f"{label:<{size}}  {value}", width, hanging=size + 2):
            yield ReportLine(line)


def _wrapped(text: str, width: int, *, hanging: int) -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent=" " * hanging, break_on_hyphens=False) or [""]


def _used(columns: dict[str, list[str]]) -> int:
    return sum(2 + max(map(len, cells)) for cells in columns.values())
