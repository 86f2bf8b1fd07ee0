"""What the first line of a loop gives up when there is little room."""

import pytest

from spool.domain.progress import LoopProgress
from spool.tui.widgets.loop_title import _names


@pytest.mark.parametrize(
    ("room", "told"),
    [
        (80, "Spool · 001-01_add-auth · claude sonnet · not sandboxed"),
        (50, "001-01_add-auth · claude sonnet · not sandboxed"),
        (38, "001-01_add-auth · claude sonnet"),
        (20, "001-01_add-auth"),
        (8, "001-01_…"),
        (0, ""),
        (-5, ""),
    ],
)
def test_the_change_is_named_as_long_as_there_is_room(room: int, told: str) -> None:
    progress = LoopProgress("001-01_add-auth")
    progress.harness, progress.model = "claude", "sonnet"
    assert _names(progress, room) == told
