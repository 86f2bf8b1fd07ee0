"""The parts of an HTML page: tables, diffs, figures and text; every foreign text is cleaned and escaped."""

from collections.abc import Callable, Iterator, Sequence
from html import escape

from spool.app.reporting.diffs import Diff, FileChange
from spool.domain.account.account import LoopAccount
from spool.domain.account.history import LoopHistory
from spool.domain.text.plain_text import clean, counted, one_line
from spool.views.look import Role, status_sign
from spool.views.report import charts, report_words

_FILE_LINES = 2_000
_STORY_LINES = 10_000
_LONGEST_LINE = 1_000
_BY_SIGN = {"+": "added", "-": "removed", "@": "hunk"}
Link = Callable[[str], str]
"""Returns the address that a name leads to."""


def verdict(history: LoopHistory) -> str:
    """Return the lines that say how a loop ended, or that it runs, and when."""
    status = status_sign(history.status, history.proof)
    said = f'<p class="verdict {role_name(status.role)}">{status.sign} {text(report_words.verdict(history))}</p>'
    bound = f"<p>{text(history.bound)}</p>" if history.bound else ""
    return f"{said}{bound}<p>{text(report_words.when(history))}</p>"


def night(history: LoopHistory) -> str:
    """Return the section with the timeline; nothing before the first agent."""
    drawn = charts.timeline(history)
    trouble = any(one.good is False for one in history.stretches)
    key = "<p><small>An outline, here and below, marks what failed or was refused.</small></p>" if trouble else ""
    return f"<section><h2>The night</h2>{drawn}{key}</section>" if drawn else ""


def story_table(history: LoopHistory, link: Link | None = None) -> str:
    """Return the stories as a table with their notes; `link` gives the address of a story."""
    rows = report_words.story_rows(history)
    cells = [(row.sign, row.name, row.standing, *row[4:9]) for row in rows]
    links = [link(story.id) for story in history.stories] if link else ()
    roles = [role_name(row.role) for row in rows]
    return table(report_words.story_head(history), cells, roles=roles, notes=[row.notes for row in rows], links=links)


def figure_list(account: LoopAccount) -> str:
    """Return the figures of a loop as a list of pairs."""
    return pairs(report_words.figures(account))


def pairs(found: Sequence[tuple[str, str]]) -> str:
    """Return labels and values as a list of pairs."""
    return f"<dl>{''.join(f'<dt>{text(name)}</dt><dd>{text(value)}</dd>' for name, value in found)}</dl>"


def over_time(history: LoopHistory) -> str:
    """Return the charts per iteration and of the boxes."""
    return f'<div class="charts">{charts.per_iteration(history)}{charts.boxes(history)}</div>'


def next_steps(account: LoopAccount) -> str:
    """Return the commands to type next."""
    steps = report_words.steps(account)
    return "".join(f"<p>{text(step.label)}:</p>{command(step.command)}" for step in steps)


def command(words: str) -> str:
    """Return a command on lines of its own."""
    return f'<pre tabindex="0"><code>{raw(words)}</code></pre>'


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    roles: Sequence[str] = (),
    notes: Sequence[Sequence[str]] = (),
    links: Sequence[str] = (),
    linked: int = 1,
) -> str:
    """Return a table; `notes` stand below their rows, and `links` lead from the cell with the number `linked`."""
    parts = [f'<div class="wide"><table{" class=stories" if notes else ""}><thead><tr>']
    parts += [f'<th scope="col">{text(name)}</th>' if name else "<td></td>" for name in head]
    parts.append("</tr></thead><tbody>")
    for place, row in enumerate(rows):
        kind = f' class="{roles[place]}"' if roles else ""
        cells = [text(value) for value in row]
        if links and links[place]:
            cells[linked] = f'<a href="{escape(links[place])}">{cells[linked]}</a>'
        parts.append(f"<tr{kind}>{''.join(map(_cell, head, cells))}</tr>")
        if notes and notes[place]:
            lines = "".join(f"<li>{text(note)}</li>" for note in notes[place])
            parts.append(f'<tr class="notes"><td></td><td colspan="{len(head) - 1}"><ul>{lines}</ul></td></tr>')
    return "".join([*parts, "</tbody></table></div>"])


def _cell(name: str, content: str) -> str:
    return f'<td data-of="{text(name)}">{content}</td>'


def diff(name: str, found: Diff, files: tuple[str, ...]) -> Iterator[str]:
    """Yield the changes of a story, folded: its files, each with its patch."""
    yield f"<details><summary>{text(name)} <small>{text(found.note or diff_words(found))}</small></summary>"
    yield from diff_files(found, files)
    yield "</details>"


def diff_words(found: Diff) -> str:
    """Count the files and lines of a diff."""
    added = sum(file.added or 0 for file in found.files)
    removed = sum(file.removed or 0 for file in found.files)
    return f"{counted(len(found.files), 'file')} changed, +{added} -{removed}" if found.files else "no changes"


def diff_files(found: Diff, files: tuple[str, ...]) -> Iterator[str]:
    """Yield the changed files with their patches; without a diff, the names that are known."""
    left = _STORY_LINES
    for file in found.files:
        lines = file.patch.splitlines()
        shown = lines[: min(left, _FILE_LINES)]
        left -= len(shown)
        yield _file(file, shown, len(lines) - len(shown))
    if not found.files:
        listed = "".join(f"<li>{text(one)}</li>" for one in files)
        yield f"<ul>{listed}</ul>" if listed else "<p>Nothing to show.</p>"


def _file(file: FileChange, lines: list[str], left_out: int) -> str:
    counts = "binary or too large" if file.added is None else f"+{file.added} -{file.removed}"
    shown = "\n".join(map(_line, lines))
    more = f"\n({left_out} more lines)" if left_out else ""
    body = f'<pre tabindex="0">{shown}{more}</pre>' if lines else "<p>Not shown here.</p>"
    return f"<details><summary><code>{text(file.path)}</code> <small>{counts}</small></summary>{body}</details>"


def _line(line: str) -> str:
    kind = _BY_SIGN.get(line[:1]) if not line.startswith(("+++", "---")) else None
    shown = raw(line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…")
    return f'<span class="{kind}">{shown}</span>' if kind else shown


def role_name(role: Role) -> str:
    """Return the class of a colour."""
    return role.name.lower()


def text(words: str) -> str:
    """Return text on one line, cleaned and escaped."""
    return escape(_encodable(one_line(words, 2_000)))


def raw(words: str) -> str:
    """Return text with its spaces, cleaned and escaped; what is not UTF-8 becomes a replacement mark."""
    return escape(_encodable(clean(words)))


def _encodable(words: str) -> str:
    return words.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
