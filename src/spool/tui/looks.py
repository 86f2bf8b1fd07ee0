"""Formats figures and states for the widgets: bars, marks and ages."""

from datetime import datetime

from rich.text import Text

from spool.domain.account.progress import LoopProgress
from spool.domain.agent.stream import Usage
from spool.domain.loop.budget import used_of
from spool.domain.loop.verdict import Status
from spool.domain.text.plain_text import one_line
from spool.views import look, words
from spool.views.receipt_lines import left_of

BUSY = {"waiting": look.Role.WARN, "checking": look.Role.ODD, "stopping": look.Role.WARN, "starting": look.Role.DIM}
"""The colours of what a loop does, where its status is not the whole answer."""
_LABELS = (
    ("iteration ", "attempt ", "elapsed ", " tokens"),
    ("iteration ", "attempt ", "", " tokens"),
    ("#", "try ", "", " tok"),
    ("#", "try ", "", ""),
)
"""Labels for a loop's figures; the first that fits is used."""


def bar(share: float, width: int) -> Text:
    """Return a progress bar."""
    full, empty = look.bar_text(share, width)
    return Text.assemble((full, look.Role.GOOD.style), (empty, look.Role.DIM.style))


def ago(then: datetime | None, now: datetime) -> str:
    """Format the age of a time: now, 5m ago, 3h ago, 2d ago."""
    if then is None:
        return ""
    seconds = max(0.0, (now - then).total_seconds())
    if seconds < 60:
        return "now"
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds / size:.0f}{unit} ago"
    return ""


def fitted(text: str, width: int) -> str:
    """Return text padded or truncated to exactly `width` columns."""
    if width <= 0:
        return ""
    shown = Text(one_line(text, 400))
    shown.truncate(width, overflow="ellipsis", pad=True)
    return shown.plain


def state_of(progress: LoopProgress, *, over: bool) -> str:
    """Return the state of a loop in one word."""
    if progress.ended is not None:
        return str(progress.ended.status)
    if over:
        return "stopped"
    if progress.stop_pending:
        return "stopping"
    if progress.waiting is not None:
        return "waiting"
    if progress.checking is not None:
        return "checking"
    return "running" if progress.harness else "starting"


def state_style(progress: LoopProgress, state: str) -> str:
    """Return the style of a loop's state; an end says by its colour what it rests on."""
    proof = progress.complete.proof if progress.complete else None
    return BUSY[state].style if state in BUSY else look.status_sign(Status(state), proof).role.style


def budget_left(progress: LoopProgress, today: Usage, now: datetime, *, brief: bool = False) -> str:
    """Format what is left of the scarcest budget: `$4.58 of $5.00 left`."""
    run_s = progress.run_s(now)
    for one in used_of(progress.limits, progress.usage, run_s=run_s, today=today):
        return left_of(one, brief=brief)
    return "no budget"


def figures(progress: LoopProgress, now: datetime, width: int) -> str:
    """Format iteration, attempt, elapsed time, tokens and cost in one line, abbreviated to fit the width."""
    text = ""
    for labels in _LABELS:
        text = " · ".join(_figures(progress, now, labels))
        if len(text) <= width:
            break
    return text


def _figures(progress: LoopProgress, now: datetime, labels: tuple[str, str, str, str]) -> list[str]:
    iteration, attempt, elapsed, tokens = labels
    parts = [f"{iteration}{progress.iteration}"]
    if progress.current is not None:
        most = f" of {progress.max_attempts}" if progress.max_attempts else ""
        parts.append(f"{attempt}{progress.attempt}{most}")
    if progress.started_at is not None:
        parts.append(f"{elapsed}{words.duration(progress.elapsed_s(now))}")
    if progress.usage.tokens is not None:
        parts.append(f"{words.tokens(progress.usage.tokens)}{tokens}")
    if progress.usage.cost_usd is not None:
        parts.append(f"${progress.usage.cost_usd:.2f}")
    return parts
