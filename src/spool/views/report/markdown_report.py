"""Writes a report as Markdown, for a pull request. Foreign text is escaped, so that none of it becomes markup."""

import re
from collections.abc import Iterator, Sequence

from spool.app.reporting.loop_reports import LoopReports
from spool.domain.account.account import LoopAccount
from spool.domain.text.plain_text import clean
from spool.views.report import report_words

_MARKUP = re.compile(r"([\\`*_\[\]<>|~&])")
_REFERENCES = re.compile(r"([#@])(?=\w)")
"""Text that a forge would link to an issue or a person."""


def markdown(report: LoopReports) -> str:
    """Return a report as Markdown."""
    if not report.loops:
        return f"No loop of this repository was active {report_words.period(report)}.\n"
    return "\n".join(line for account in report.loops for line in _loop(report, account))


def _loop(report: LoopReports, account: LoopAccount) -> Iterator[str]:
    history = account.history
    yield f"## {_text(report_words.title(account))}\n"
    if account.gone:
        yield "Its journal is gone; nothing more is known.\n"
        return
    yield f"**{_text(report_words.verdict(history))}**\n"
    if history.bound:
        yield f"{_text(history.bound)}\n"
    counted = f", counted {report_words.period(report)}" if report.since else ""
    yield f"{_text(report_words.when(history))}{_text(counted)}\n"
    rows = report_words.story_rows(history)
    yield from _table(report_words.story_head(history), [(*row[:1], row.name, row.standing, *row[4:9]) for row in rows])
    yield ""
    for row in rows:
        if row.notes:
            yield f"- {_text(row.name)}"
            yield from (f"  - {_text(note)}" for note in row.notes)
    yield ""
    yield from _table(("figure", ""), report_words.figures(account))  # a second list would be part of the first
    yield "\n<details><summary>Iterations</summary>\n"
    yield from _table(report_words.ITERATION_HEAD, report_words.iteration_rows(history))
    yield "\n</details>\n"
    for step in report_words.steps(account):
        yield f"{_text(step.label)}:\n\n    {clean(step.command)}\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(_text(cell) for cell in row)} |"


def _text(text: str) -> str:
    return _REFERENCES.sub(r"\1<!-- -->", _MARKUP.sub(r"\\\1", " ".join(clean(text).split())))
