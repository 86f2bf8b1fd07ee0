"""The first line of a loop: which one it is, how it stands, and how far it is."""

from rich.text import Text
from textual.widgets import Static

from spool.domain.text import one_line
from spool.tui.looks import STATUS_STYLES, bar, fitted, state_of
from spool.tui.progress import LoopProgress

_BAR = 24
_ROOMY = 80


class LoopTitle(Static):
    """Where there is little room, the names give way to the state and the progress."""

    def __init__(self, *, stories: bool) -> None:
        super().__init__(classes="title", markup=False)
        self._stories = stories

    def show(self, progress: LoopProgress, *, over: bool, replayed: float) -> None:
        """Show a loop as it stands."""
        room = self.size.width
        state = state_of(progress, over=over)
        right = Text.assemble((state, STATUS_STYLES.get(state, "bold yellow")))
        if 0 < replayed < 1:
            right.append(f" · reading {replayed:.0%}", "dim")
        if self._stories:
            total = max(len(progress.stories), 1)
            right.append("  ")
            right.append_text(bar(progress.completed, total, _BAR if room >= _ROOMY else _BAR // 3))
            right.append(f" {progress.completed} of {total}")
        names = [f"{progress.harness} {progress.model or ''}".strip(), progress.change]
        if room >= _ROOMY:
            names.append("Spool")
        left = ""
        while names and not left:  # the agent goes first, then the change is cut
            told = " · ".join(one_line(name, 60) for name in reversed(names) if name) + " · "
            if len(told) + right.cell_len <= room or len(names) == 1:
                left = told
            names.pop(0)
        left = fitted(left, max(0, room - right.cell_len)) if len(left) + right.cell_len > room else left
        self.update(Text(left, no_wrap=True).append_text(right), layout=False)
