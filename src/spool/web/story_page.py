"""The page of one story: its verdict, tasks, attempts with what each gate found, and its diff."""

from collections.abc import Iterable, Iterator, Sequence

from spool.app.reporting.diffs import Diff
from spool.app.reporting.live_histories import FollowedLoop
from spool.domain.account.story_history import StoryHistory
from spool.domain.judging.gates.gate import GateResult
from spool.domain.loop.state import IterationRecord
from spool.domain.text.plain_text import counted, one_line
from spool.views import words
from spool.views.look import DONE, FAILED, STANDINGS, Role, Sign
from spool.views.report import parts, report_words
from spool.views.report.parts import text
from spool.web.links import Links
from spool.web.loop_page import sign_item, task_list, whole_story

_NAMED = 10
_ATTEMPTS = 100
"""Attempts to show with their gates, the latest ones."""


def story_title(story: StoryHistory) -> str:
    """Name a story."""
    return one_line(f"{story.id} {story.title}", 120)


def story_page(
    live: FollowedLoop, story: StoryHistory, records: Sequence[IterationRecord], diff: Diff, links: Links
) -> Iterator[str]:
    """Yield the content of the page, in parts: a diff may be long."""
    standing = STANDINGS[story.standing]
    row = next(row for row, one in zip(_rows(live), live.account.history.stories, strict=True) if one.id == story.id)
    yield f'<main id="main"><h1>{text(story_title(story))}</h1>'
    yield f'<p class="verdict {parts.role_name(standing.role)}">{standing.sign} {text(str(story.standing))}</p>'
    yield "".join(f"<p>{text(note)}</p>" for note in row.notes)
    spent = (
        ("Tries", row.tries),
        ("Agent", row.time),
        ("Gates", row.gates),
        ("Tokens", row.tokens),
        ("Cost", row.cost),
    )
    yield parts.pairs(spent)
    if tasks := whole_story(live, story.id):
        yield f'<section aria-label="Tasks"><h2>Tasks</h2>{"".join(map(task_list, tasks))}</section>'
    yield '<section aria-label="Attempts"><h2>Attempts</h2>'
    yield "".join(_attempt(record, live, links) for record in records[-_ATTEMPTS:]) or "<p>None is recorded yet.</p>"
    if (left_out := story.attempts - min(len(records), _ATTEMPTS)) > 0 and records:
        yield f"<p>{counted(left_out, 'earlier attempt')} not shown.</p>"
    yield f'</section><section aria-label="Changes"><h2>Changes</h2><p>{text(diff.note or parts.diff_words(diff))}</p>'
    yield from parts.diff_files(diff, story.files)
    yield "</section></main>"


def _rows(live: FollowedLoop) -> list[report_words.StoryRow]:
    return report_words.story_rows(live.account.history)


def _attempt(record: IterationRecord, live: FollowedLoop, links: Links) -> str:
    place = live.starts.get(record.iteration)
    log = f' <a href="{links.log(live.account.loop, at=place)}">agent</a>' if place is not None else ""
    why = "".join(f"<p>{text(line)}</p>" for line in (words.why(record), *words.vetoed(record)) if line)
    gates = "".join(map(_gate, record.gates))
    return (
        f"<h3>{text(words.ended(record))}</h3><p>{text(record.harness)}{log}</p>{why}"
        f"{f'<ul class=signs>{gates}</ul>' if gates else ''}"
    )


def _gate(gate: GateResult) -> str:
    sign = Sign(DONE, Role.GOOD) if gate.passed else Sign(FAILED, Role.BAD)
    said = f"{gate.name}: {gate.why}, {words.duration(gate.duration_s)}"
    named = "".join(
        f"<dt>{label}</dt><dd>{text(_listed(names))}</dd>"
        for label, names in (
            ("proved by", gate.proved_by),
            ("failing", gate.failing),
            ("vanished", gate.vanished),
            ("skipped", gate.skipped),
            ("fixed", gate.fixed),
            ("flaky", gate.flaky),
        )
        if names
    )
    item = sign_item(sign, said, "passed" if gate.passed else "refused").removesuffix("</li>")
    return f"{item}{f'<dl>{named}</dl>' if named else ''}</li>"


def _listed(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    return f"{', '.join(one_line(name, 200) for name in listed[:_NAMED])}{more}"
