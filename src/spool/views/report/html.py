"""Writes a report as one HTML file: nothing is loaded, nothing runs, every foreign text is cleaned and escaped."""

from collections.abc import Callable, Iterator, Sequence
from html import escape

from spool.app.diffs import Diff, FileChange
from spool.app.reporting import Report, Reported
from spool.domain.text import clean, counted, one_line
from spool.views import words
from spool.views.look import STATUSES, Role
from spool.views.report import charts
from spool.views.report import words as report_words
from spool.views.report.style import STYLE

Diffs = Callable[[Reported], dict[str, Diff]]
_FILE_LINES = 2_000
_STORY_LINES = 10_000
_LONGEST_LINE = 1_000
_HEAD = ("", "story", "verdict", "tries", "agent", "gates", "tokens", "cost")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_BY_SIGN = {"+": "added", "-": "removed", "@": "hunk"}


def html(report: Report, diffs: Diffs) -> Iterator[str]:
    """Yield a report as an HTML document, in parts; diffs are read loop by loop."""
    names = ", ".join(one_line(reported.loop.change, 60) for reported in report.loops)
    yield (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f"<title>{_text(names or 'Nothing ran')} · Spool</title><style>{STYLE}</style></head><body>"
        f"<header><strong>Spool</strong> <span>{_text(report_words.period(report))}, written "
        f"{_text(words.moment(report.made_at))}</span></header><main>"
    )
    if not report.loops:
        yield f"<p>No loop of this repository was active {_text(report_words.period(report))}.</p>"
    for reported in report.loops:
        yield from _loop(reported, diffs)
    yield "</main></body></html>\n"


def _loop(reported: Reported, diffs: Diffs) -> Iterator[str]:
    account = reported.account
    status = STATUSES[account.status]
    yield f"<article><h1>{_text(report_words.title(reported))}</h1>"
    if reported.gone:
        yield "<p>Its journal is gone; nothing more is known.</p></article>"
        return
    yield f'<p class="verdict {_role(status.role)}">{status.sign} {_text(report_words.verdict(account))}</p>'
    yield f"<p>{_text(report_words.when(account))}</p>"
    if night := charts.timeline(account):
        yield f"<section><h2>The night</h2>{night}</section>"
    yield f"<section><h2>Stories</h2><p>{_text(report_words.standings(account))}</p>"
    rows = report_words.story_rows(account)
    cells = [(row.sign, row.name, row.standing, *row[4:9]) for row in rows]
    yield _table(_HEAD, cells, roles=[_role(row.role) for row in rows], notes=[row.notes for row in rows])
    yield "</section><section><h2>Figures</h2><dl>"
    yield "".join(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in report_words.figures(account))
    yield f'</dl></section><section><h2>Over time</h2><div class="charts">{charts.per_iteration(account)}'
    yield f"{charts.boxes(account)}</div><details><summary>Every iteration</summary>"
    yield _table(report_words.ITERATION_HEAD, report_words.iteration_rows(account))
    yield "</details></section><section><h2>Changes</h2>"
    found = diffs(reported)
    for story, row in zip(account.stories, rows, strict=True):
        yield from _diff(row.name, found.get(story.id, Diff()), story.files)
    yield "</section><section><h2>Next</h2>"
    for step in report_words.steps(reported):
        yield f"<p>{_text(step.label)}:</p><pre><code>{_raw(step.command)}</code></pre>"
    yield "</section></article>"


def _table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    roles: Sequence[str] = (),
    notes: Sequence[Sequence[str]] = (),
) -> str:
    parts = [f'<div class="wide"><table{" class=stories" if notes else ""}><thead><tr>']
    parts += [f'<th scope="col">{_text(name)}</th>' if name else "<td></td>" for name in head]
    parts.append("</tr></thead><tbody>")
    for place, row in enumerate(rows):
        kind = f' class="{roles[place]}"' if roles else ""
        parts.append(f"<tr{kind}>{''.join(map(_cell, head, row))}</tr>")
        if notes and notes[place]:
            lines = "".join(f"<li>{_text(note)}</li>" for note in notes[place])
            parts.append(f'<tr class="notes"><td></td><td colspan="{len(head) - 1}"><ul>{lines}</ul></td></tr>')
    return "".join([*parts, "</tbody></table></div>"])


def _cell(name: str, text: str) -> str:
    return f'<td data-of="{_text(name)}">{_text(text)}</td>'


def _diff(name: str, diff: Diff, files: tuple[str, ...]) -> Iterator[str]:
    added = sum(file.added or 0 for file in diff.files)
    removed = sum(file.removed or 0 for file in diff.files)
    changed = f"{counted(len(diff.files), 'file')} changed, +{added} -{removed}" if diff.files else "no changes"
    yield f"<details><summary>{_text(name)} <small>{_text(diff.note or changed)}</small></summary>"
    left = _STORY_LINES
    for file in diff.files:
        lines = file.patch.splitlines()
        shown = lines[: min(left, _FILE_LINES)]
        left -= len(shown)
        yield _file(file, shown, len(lines) - len(shown))
    if not diff.files:
        listed = "".join(f"<li>{_text(one)}</li>" for one in files)
        yield f"<ul>{listed}</ul>" if listed else "<p>Nothing to show.</p>"
    yield "</details>"


def _file(file: FileChange, lines: list[str], left_out: int) -> str:
    counts = "binary or too large" if file.added is None else f"+{file.added} -{file.removed}"
    shown = "\n".join(map(_line, lines))
    more = f"\n({left_out} more lines)" if left_out else ""
    body = f"<pre>{shown}{more}</pre>" if lines else "<p>Not shown here.</p>"
    return f"<details><summary><code>{_text(file.path)}</code> <small>{counts}</small></summary>{body}</details>"


def _line(line: str) -> str:
    kind = _BY_SIGN.get(line[:1]) if not line.startswith(("+++", "---")) else None
    text = _raw(line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…")
    return f'<span class="{kind}">{text}</span>' if kind else text


def _role(role: Role) -> str:
    return role.name.lower()


def _text(text: str) -> str:
    return escape(one_line(text, 2_000))


def _raw(text: str) -> str:
    """Return text with its spaces, cleaned and escaped; what is not UTF-8 becomes a replacement mark."""
    cleaned = clean(text).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return escape(cleaned)
