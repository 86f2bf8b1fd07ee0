"""The loops of a project in a row, if there are several."""

from collections.abc import Sequence

from spool.domain.loop.summary import LoopSummary
from spool.domain.text.plain_text import one_line
from spool.tui.widgets.tiles import Tile, TileRow
from spool.views.look import loop_sign


class LoopRow(TileRow):
    """Shows the loops, and which one is watched."""

    def show_loops(self, loops: Sequence[LoopSummary], watched: str) -> None:
        """Show these loops; a single one needs no row."""
        self.display = len(loops) > 1
        names = [(one, one_line(one.change, 40)) for one in loops]
        self.show([Tile(one.run_id, name, name, loop_sign(one)) for one, name in names], watched)
