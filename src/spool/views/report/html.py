"""Writes a report as one HTML file: nothing is loaded, nothing runs, every foreign text is cleaned and escaped."""

from collections.abc import Callable, Iterator

from spool.app.reporting.diffs import Diff
from spool.app.reporting.loop_reports import LoopReports
from spool.domain.account.account import LoopAccount
from spool.domain.text.plain_text import one_line
from spool.views import words
from spool.views.report import parts, report_words
from spool.views.report.parts import text
from spool.views.report.style import STYLE

Diffs = Callable[[LoopAccount], dict[str, Diff]]
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def html(report: LoopReports, diffs: Diffs) -> Iterator[str]:
    """Yield a report as an HTML document, in parts; diffs are read loop by loop."""
    names = ", ".join(one_line(account.loop.change, 60) for account in report.loops)
    yield (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f"<title>{text(names or 'Nothing ran')} · Spool</title><style>{STYLE}</style></head><body>"
        f"<header><strong>Spool</strong> <span>{text(report_words.period(report))}, written "
        f"{text(words.moment(report.made_at))}</span></header><main>"
    )
    if not report.loops:
        yield f"<p>No loop of this repository was active {text(report_words.period(report))}.</p>"
    for account in report.loops:
        yield from _loop(account, diffs)
    yield "</main></body></html>\n"


def _loop(account: LoopAccount, diffs: Diffs) -> Iterator[str]:
    history = account.history
    yield f"<article><h1>{text(report_words.title(account))}</h1>"
    if account.gone:
        yield "<p>Its journal is gone; nothing more is known.</p></article>"
        return
    yield f"{parts.verdict(history)}{parts.night(history)}"
    yield f"<section><h2>Stories</h2><p>{text(report_words.standings(history))}</p>"
    yield f"{parts.story_table(history)}</section>"
    yield f"<section><h2>Figures</h2>{parts.figure_list(account)}</section>"
    yield f"<section><h2>Over time</h2>{parts.over_time(history)}<details><summary>Every iteration</summary>"
    yield parts.table(report_words.ITERATION_HEAD, report_words.iteration_rows(history))
    yield "</details></section><section><h2>Changes</h2>"
    found = diffs(account)
    for story, row in zip(history.stories, report_words.story_rows(history), strict=True):
        yield from parts.diff(row.name, found.get(story.id, Diff()), story.files)
    yield f"</section><section><h2>Next</h2>{parts.next_steps(account)}</section></article>"
