"""The list of all loops of this machine."""

from collections.abc import Sequence
from datetime import datetime

from spool.app.loops.reach import loop_branch
from spool.domain.loop.summary import LoopSummary
from spool.domain.text.plain_text import counted, one_line
from spool.views import words
from spool.views.look import loop_sign
from spool.views.loop_table import progress_words, reason_words
from spool.views.report import parts
from spool.web.links import Links

_HEAD = ("", "change", "state", "project", "agent", "story", "iteration", "elapsed", "tokens", "cost")


def list_panels(loops: Sequence[LoopSummary], links: Links, now: datetime) -> dict[str, str]:
    """Return the parts of the page that follow the loops: those that run, and those that have ended, latest first."""
    latest = sorted(loops, key=lambda loop: loop.updated_at, reverse=True)
    running = sorted((loop for loop in latest if loop.running), key=lambda loop: loop.started_at, reverse=True)
    ended = [loop for loop in latest if not loop.running]
    return {
        "title": f"{counted(len(running), 'loop')} running" if running else "Loops",
        "running": _table(running, links, now) if running else "<p>No loop is running.</p>",
        "ended": _table(ended, links, now) if ended else "<p>No loop has ended yet.</p>",
    }


def list_page(panels: dict[str, str], links: Links) -> str:
    """Return the content of the page."""
    return (
        f'<main id="main" data-stream="{links.stream()}"><h1>Loops of this machine</h1>'
        f'<section aria-label="Running"><h2>Running</h2><div data-panel="running">{panels["running"]}</div></section>'
        f'<section aria-label="Ended"><h2>Ended</h2><div data-panel="ended">{panels["ended"]}</div></section></main>'
    )


def _table(loops: Sequence[LoopSummary], links: Links, now: datetime) -> str:
    rows = [_row(loop, now) for loop in loops]
    return parts.table(
        _HEAD,
        [cells for cells, _ in rows],
        roles=[parts.role_name(loop_sign(loop).role) for loop in loops],
        notes=[[note] if note else [] for _, note in rows],
        links=[links.loop(loop) for loop in loops],
    )


def _row(loop: LoopSummary, now: datetime) -> tuple[tuple[str, ...], str]:
    """Return the cells of a loop and the note below; a state that an agent has forged spoils only its own row."""
    try:
        return _cells(loop, now), _doing(loop) if loop.running else one_line(reason_words(loop), 300)
    except (ArithmeticError, ValueError):  # times and durations beyond all bounds
        blank = ("-",) * (len(_HEAD) - 3)
        return (
            loop_sign(loop).sign,
            one_line(loop.change, 120),
            str(loop.status),
            *blank,
        ), "its state is damaged"


def _cells(loop: LoopSummary, now: datetime) -> tuple[str, ...]:
    branch, story, usage = loop_branch(loop), loop.story, loop.receipt.usage
    return (
        loop_sign(loop).sign,
        one_line(loop.change, 120),
        loop.word,
        one_line(f"{loop.name}{f' on {branch}' if branch else ''}", 120),
        one_line(f"{loop.harness} {loop.model or ''}", 60),
        f"{story.current} of {story.total}" if story else "-",
        progress_words(loop),
        words.duration(loop.elapsed_s(now)),
        "-" if usage.tokens is None else words.tokens(usage.tokens),
        "-" if usage.cost_usd is None else f"${usage.cost_usd:.2f}",
    )


def _doing(loop: LoopSummary) -> str:
    if loop.phase is None:
        return ""
    story = f"story {loop.story.id} {loop.story.title}: " if loop.story else ""
    until = f", until {words.clock(loop.waiting_until)}" if loop.waiting_until else ""
    return one_line(f"{story}{loop.phase}{f': {loop.checking}' if loop.checking else ''}{until}", 300)
