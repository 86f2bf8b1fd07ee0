"""What the title of a loop gives up when there is little room."""

import pytest

from spool.tui.widgets.loop_title import second_line

NAMES = ("shop", "change/001-01_add-auth")
BUDGETS = ("$4.58 of $5.00 left", "$4.58 left")


@pytest.mark.parametrize(
    ("room", "told"),
    [
        (90, "shop on change/001-01_add-auth · claude sonnet · not sandboxed         $4.58 of $5.00 left"),
        (74, "shop on change/001-01_add-auth · claude sonnet · not sandboxed  $4.58 left"),
        (68, "change/001-01_add-auth · claude sonnet · not sandboxed    $4.58 left"),
        (58, "change/001-01… · claude sonnet · not sandboxed  $4.58 left"),
    ],
)
def test_project_branch_agent_sandbox_and_budget_are_named_as_long_as_there_is_room(room: int, told: str) -> None:
    assert second_line(NAMES, "claude sonnet", "not sandboxed", BUDGETS, room).plain == told


@pytest.mark.parametrize("room", [-5, 0, 1, 20])
def test_no_room_is_too_small(room: int) -> None:
    assert "$4.58 left" in second_line(NAMES, "claude", "not sandboxed", BUDGETS, room).plain


def test_without_git_there_is_no_branch() -> None:
    assert second_line(("shop", ""), "claude", "not sandboxed", BUDGETS, 60).plain.startswith("shop · claude")
