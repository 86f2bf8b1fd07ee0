"""Draws the charts of a report as inline SVG.

Positions are percentages, so that a chart fills any width while its text keeps its size; nothing needs a script.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from html import escape

from spool.domain.account.history import Activity, BoxPoint, LoopHistory, Stretch
from spool.domain.account.story_history import IterationFigures, is_trouble
from spool.domain.text.plain_text import one_line
from spool.views import words

_LANE, _GAP = 22, 6
_BARS, _PLOT = 200, 72
_TICKS = (60, 300, 900, 1_800, 3_600, 7_200, 14_400, 28_800, 86_400, 604_800, 2_592_000)
_MOST_TICKS = 6
_SHORTEST = 0.15
"""Percent of the width that the shortest stretch takes."""


def timeline(history: LoopHistory) -> str:
    """Draw the night: a lane for the agent, one for the gates and one for the waits."""
    if not history.stretches:
        return ""
    start = min(one.began_at for one in history.stretches)
    end = max(start + timedelta(seconds=1), *(one.ended_at for one in history.stretches))
    place = _placing(start, end)
    shapes = []
    for row, activity in enumerate(Activity):
        y = row * (_LANE + _GAP)
        shapes.append(f'<rect class="lane" x="0" y="{y}" width="100%" height="{_LANE}"/>')
        lane = [one for one in history.stretches if one.activity is activity]
        shapes += [_stretch(one, place, y) for one in _merged(lane, end - start)]
    height = 3 * (_LANE + _GAP)
    names = "".join(f"<span>{activity}</span>" for activity in Activity)
    drawn = _svg("The night: agent, gates and waits by the clock", height + 16, [*shapes, *_axis(start, end, height)])
    return f'<figure class="night"><div aria-hidden="true">{names}</div>{drawn}</figure>'


def _stretch(one: Stretch, place: Callable[[datetime], float], y: int) -> str:
    x, until = place(one.began_at), place(one.ended_at)
    kind = f"{one.activity}{' bad' if one.good is False else ''}"
    about = f"{one.label}, {words.clock(one.began_at)} to {words.clock(one.ended_at)}, {words.duration(one.seconds)}"
    return (
        f'<rect class="{kind}" x="{x:.3f}%" y="{y}" width="{max(_SHORTEST, until - x):.3f}%" height="{_LANE}">'
        f"<title>{_text(about)}</title></rect>"
    )


def _merged(lane: Sequence[Stretch], whole: timedelta) -> Iterable[Stretch]:
    """Yield a lane's stretches; neighbours that are less than a hair apart and alike become one."""
    hair = whole / 1_000
    held: Stretch | None = None
    for one in sorted(lane, key=lambda stretch: stretch.began_at):
        if held and len(lane) > _BARS and one.good == held.good and one.began_at - held.ended_at < hair:
            label = f"{held.label.partition(' to ')[0]} to {one.label}"
            held = Stretch(
                activity=one.activity, began_at=held.began_at, ended_at=one.ended_at, label=label, good=one.good
            )
            continue
        if held:
            yield held
        held = one
    if held:
        yield held


def per_iteration(history: LoopHistory) -> str:
    """Draw duration, tokens and cost of each iteration, as three small charts."""
    ended = [one for one in history.attempts if one.outcome]
    charts: tuple[tuple[str, Callable[[IterationFigures], float], Callable[[float], str]], ...] = (
        ("Duration", lambda one: one.seconds, words.duration),
        ("Tokens", lambda one: float(one.usage.tokens or 0), lambda value: words.tokens(round(value))),
        ("Cost", lambda one: one.usage.cost_usd or 0.0, lambda value: f"${value:.2f}"),
    )
    drawn = []
    for name, measure, worded in charts:
        groups = _grouped(ended)
        values = [sum(map(measure, group)) for group in groups]
        if any(values):
            drawn.append(f"<figure>{_bars(name, groups, values, worded)}</figure>")
    return "".join(drawn)


def _grouped(attempts: list[IterationFigures]) -> list[list[IterationFigures]]:
    """Return at most `_BARS` groups of neighbouring iterations."""
    size = max(1, -(-len(attempts) // _BARS))
    return [attempts[at : at + size] for at in range(0, len(attempts), size)]


def _bars(name: str, groups: list[list[IterationFigures]], values: list[float], worded: Callable[[float], str]) -> str:
    most, step = max(values), 100 / len(groups)
    shapes = [f'<line class="axis" x1="0" x2="100%" y1="{_PLOT}" y2="{_PLOT}"/>']
    for place, (group, value) in enumerate(zip(groups, values, strict=True)):
        height = 0.0 if not value else max(1.0, _PLOT * value / most)
        bad = " bad" if any(is_trouble(one.outcome) for one in group) else ""
        which = f"iteration {group[0].iteration}" + (f" to {group[-1].iteration}" if len(group) > 1 else "")
        about = f"{which}, {group[-1].outcome}: {worded(value)}"
        shapes.append(
            f'<rect class="agent{bad}" x="{place * step + step * 0.1:.3f}%" y="{_PLOT - height:.1f}" '
            f'width="{step * 0.8:.3f}%" height="{height:.1f}"><title>{_text(about)}</title></rect>'
        )
    first, last = groups[0][0].iteration, groups[-1][-1].iteration
    shapes += [
        f'<text x="0" y="{_PLOT + 14}">{first}</text>',
        f'<text x="100%" y="{_PLOT + 14}" text-anchor="end">{last}</text>' if last != first else "",
    ]
    summed = f", {len(groups[0])} iterations per bar" if len(groups[0]) > 1 else ""
    label = f"{name} per iteration{summed}, at most {worded(most)}"
    return f"<figcaption>{_text(label)}</figcaption>{_svg(label, _PLOT + 18, shapes)}"


def boxes(history: LoopHistory) -> str:
    """Draw how many boxes were ticked over time."""
    if len(history.boxes) < 2:
        return ""
    start, end = history.boxes[0].at, max(history.boxes[-1].at, history.ended_at or history.boxes[-1].at)
    end = max(end, start + timedelta(seconds=1))
    place, most = _placing(start, end), max(point.total for point in history.boxes) or 1
    shapes = []
    following: list[BoxPoint | None] = [*history.boxes[1:], None]
    for point, after in zip(history.boxes, following, strict=True):
        x, until = place(point.at), place(after.at if after else end)
        height = _PLOT * point.done / most
        about = f"{point.done} of {point.total} boxes at {words.clock(point.at)}"
        shapes.append(
            f'<rect class="boxes" x="{x:.3f}%" y="{_PLOT - height:.1f}" width="{max(_SHORTEST, until - x):.3f}%" '
            f'height="{height:.1f}"><title>{_text(about)}</title></rect>'
        )
    shapes.append(f'<line class="axis" x1="0" x2="100%" y1="{_PLOT}" y2="{_PLOT}"/>')
    last = history.boxes[-1]
    label = f"Boxes over time: {last.done} of {last.total} ticked"
    drawn = _svg(label, _PLOT + 18, [*shapes, *_axis(start, end, _PLOT)])
    return f"<figure><figcaption>{_text(label)}</figcaption>{drawn}</figure>"


def _placing(start: datetime, end: datetime) -> Callable[[datetime], float]:
    whole = (end - start).total_seconds()
    return lambda at: 100 * max(0.0, min(1.0, (at - start).total_seconds() / whole))


def _axis(start: datetime, end: datetime, y: int) -> list[str]:
    """Return ticks at round times of day, where the reader is."""
    whole, place = (end - start).total_seconds(), _placing(start, end)
    step = next((size for size in _TICKS if whole / size <= _MOST_TICKS), _TICKS[-1])
    if whole < step:
        return [
            f'<text x="0" y="{y + 14}">{words.clock(start)}</text>',
            f'<text x="100%" y="{y + 14}" text-anchor="end">{words.clock(end)}</text>',
        ]
    first = start.astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    count = int((start - first).total_seconds() // step) + 1
    form, shapes = ("%H:%M" if step < 86_400 else "%m-%d"), []
    while (at := first + timedelta(seconds=step * count)) <= end:
        x = place(at)
        anchor = "end" if x > 94 else "start" if x < 6 else "middle"
        shapes.append(f'<line class="tick" x1="{x:.3f}%" x2="{x:.3f}%" y1="0" y2="{y}"/>')
        shapes.append(f'<text x="{x:.3f}%" y="{y + 14}" text-anchor="{anchor}">{at:{form}}</text>')
        count += 1
    return shapes


def _svg(label: str, height: int, shapes: Iterable[str]) -> str:
    return f'<svg role="img" aria-label="{_text(label)}" width="100%" height="{height}">{"".join(shapes)}</svg>'


def _text(text: str) -> str:
    return escape(one_line(text, 400))
