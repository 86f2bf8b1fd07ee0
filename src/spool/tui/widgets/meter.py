"""The line of figures under a loop, with small charts per iteration."""

from datetime import UTC, datetime

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Sparkline, Static

from spool.domain.account.progress import LoopProgress
from spool.tui.looks import figures

_ITERATIONS = 12


class Meter(Horizontal):
    """Shows iteration, attempt, elapsed time, tokens and cost, and charts if they fit."""

    DEFAULT_CSS = """
    Meter { height: 1; }
    Meter #figures { width: 1fr; }
    Meter .name { width: auto; padding: 0 1; color: $text-muted; }
    Meter Sparkline { width: 12; height: 1; }
    """

    def compose(self) -> ComposeResult:
        """Create the widgets."""
        yield Static(id="figures", markup=False)
        for name in ("time", "tokens", "cost"):
            yield Static(name, id=f"{name}-name", classes="name chart", markup=False)
            yield Sparkline(id=f"{name}-chart", classes="chart")

    def show(self, progress: LoopProgress) -> None:
        """Show a loop's figures."""
        line = self.query_one("#figures", Static)
        text = figures(progress, datetime.now(UTC), line.size.width)
        line.update(Text(text, no_wrap=True, overflow="ellipsis"), layout=False)
        charted = [one for one in progress.history.attempts[-_ITERATIONS - 1 :] if one.outcome][-_ITERATIONS:]
        for name, values in (
            ("time", [one.seconds for one in charted]),
            ("tokens", [float(one.usage.tokens or 0) for one in charted]),
            ("cost", [one.usage.cost_usd or 0.0 for one in charted]),
        ):
            chart = self.query_one(f"#{name}-chart", Sparkline)
            self.query_one(f"#{name}-name").visible = chart.visible = any(values)
            padded = [0.0] * (_ITERATIONS - len(values)) + values  # one column per iteration
            if chart.data != padded:
                chart.data = padded
