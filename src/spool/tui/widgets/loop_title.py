"""The title line of a loop: its name, state and progress."""

from rich.cells import cell_len
from rich.text import Text
from textual.widgets import Static

from spool.domain.progress import LoopProgress
from spool.domain.text import one_line
from spool.tui.looks import STATUS_STYLES, bar, fitted, state_of

_BAR = 24
_DOT = " · "
_ROOMY = 80


class LoopTitle(Static):
    """Shows a loop's names, state and progress; drops names first when space is short."""

    def __init__(self, *, stories: bool) -> None:
        super().__init__(classes="title", markup=False)
        self._stories = stories

    def show(self, progress: LoopProgress, *, over: bool, replayed: float) -> None:
        """Show a loop's current state."""
        room = self.size.width
        state = state_of(progress, over=over)
        right = Text.assemble((state, STATUS_STYLES.get(state, "bold yellow")))
        if 0 < replayed < 1:
            right.append(f" · reading {replayed:.0%}", "dim")
        if self._stories:
            total = max(len(progress.shown), 1)
            right.append("  ")
            right.append_text(bar(progress.completed, total, _BAR if room >= _ROOMY else _BAR // 3))
            right.append(f" {progress.completed} of {total}")
        left = _names(progress, room - right.cell_len - len(_DOT))
        self.update(Text(left + _DOT, no_wrap=True).append_text(right), layout=False)


def _names(progress: LoopProgress, room: int) -> str:
    """Return the loop's names that fit; the change is cut last."""
    names = [one_line(name, 60) for name in ("Spool", progress.change, progress.agent, progress.sandbox) if name]
    wordings = [_DOT.join(some) for some in (names, names[1:], names[1:3], names[1:2])]
    return next((text for text in wordings if cell_len(text) <= room), fitted(wordings[-1], room))
