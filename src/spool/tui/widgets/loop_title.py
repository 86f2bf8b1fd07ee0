"""The two title lines of a loop: its name, state and progress; its project, branch, agent, sandbox and budget."""

from collections.abc import Iterable
from datetime import UTC, datetime

from rich.cells import cell_len
from rich.text import Text
from textual.widgets import Static

from spool.app.loops.client import LoopContext
from spool.domain.account.progress import LoopProgress
from spool.domain.loop.summary import LoopSummary
from spool.domain.text.plain_text import one_line
from spool.tui.looks import bar, budget_left, fitted, state_of, state_style
from spool.views import words
from spool.views.look import Role

_BAR = 20
_DOT = " · "
_ROOMY = 76


class LoopTitle(Static):
    """Shows what a loop is and how far it is; shortens words when space is short, and the change last."""

    def __init__(self, loop: LoopSummary) -> None:
        super().__init__(classes="title", markup=False)
        self._loop = loop

    def show(self, progress: LoopProgress, around: LoopContext, *, over: bool, replayed: float) -> None:
        """Show a loop's current state."""
        now, room = datetime.now(UTC), self.size.width
        right = self._right(progress, now, over=over, replayed=replayed)
        first = spread(Text(one_line(progress.history.change, 120), "bold"), right, room)
        budgets = [budget_left(progress, around.today, now, brief=brief) for brief in (False, True)]
        names = (self._loop.name or self._loop.root.rpartition("/")[2], around.branch)
        second = second_line(names, progress.history.agent, progress.history.sandbox, budgets, room)
        self.update(Text("\n", no_wrap=True).join((first, second)), layout=False)

    def _right(self, progress: LoopProgress, now: datetime, *, over: bool, replayed: float) -> Text:
        """Return the state, the bar and the estimate."""
        state = state_of(progress, over=over)
        text = Text.assemble((state, state_style(progress, state)))
        roomy = self.size.width >= _ROOMY
        if self._loop.door == "run":
            done, total = progress.completed, max(len(progress.history.stories), 1)
            text.append("  ").append_text(bar(done / total, _BAR if roomy else _BAR // 3)).append(f" {done} of {total}")
        if replayed < 1 and progress.harness:
            text.append(f"{_DOT}reading {replayed:.0%}", Role.DIM.style)
        elif (left_s := progress.left_s(now)) is not None and not over:
            about = f"about {words.duration(left_s)} left" if left_s else "longer than the others"
            text.append(f"{_DOT}{about if roomy else about.removeprefix('about ')}", Role.DIM.style)
        return text


def spread(left: Text, right: Text, room: int) -> Text:
    """Return one line with a text at each end; the left one is cut if both do not fit."""
    space = room - right.cell_len - 2
    shown = Text(fitted(left.plain, max(8, space)), left.style)
    return Text.assemble(shown, "  ", right)


def second_line(names: tuple[str, str], agent: str, sandbox: str, budgets: Iterable[str], room: int) -> Text:
    """Return project, branch, agent, sandbox and budget; the words that fit."""
    project, branch = (one_line(name, 80) for name in names)
    where = f"{project} on {branch}" if branch else project
    full, brief = budgets
    for text, budget in (
        (_DOT.join(part for part in (where, agent, sandbox) if part), full),
        (_DOT.join(part for part in (where, agent, sandbox) if part), brief),
        (_DOT.join(part for part in (branch or project, agent, sandbox) if part), brief),
    ):
        if cell_len(text) + cell_len(budget) + 2 <= room:
            return spread(Text(text, Role.DIM.style), Text(budget), room)
    rest = _DOT.join(part for part in ("", agent, sandbox) if part)
    cut = fitted(branch or project, max(8, room - cell_len(rest) - cell_len(brief) - 5)).rstrip()
    return spread(Text(f"{cut}{_DOT}{rest}", Role.DIM.style), Text(brief), room)
