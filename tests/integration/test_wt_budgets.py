"""Budgets of `wt-loop`: within an iteration, on resume, and in its file."""

from collections.abc import Iterator

import pytest

from tests.support import Scratch, Steps, midday, wait_for
from tests.support.worktrees import Fleet, Worktree, fleet_of

ENDLESS: Steps = [
    {"say": "Working"},
    {"write": "a.txt"},
    {"usage": {"tokens_in": 100, "cost_usd": 0.3}},
    {"sleep": 600},
]


@pytest.fixture
def fleet(scratch: Scratch) -> Iterator[Fleet]:
    with fleet_of(scratch) as made:
        yield made


@pytest.fixture
def tree(fleet: Fleet) -> Worktree:
    return fleet.worktree("add-auth")


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (("--max-cost", "0.2"), "the budget of $0.20 is used up"),
        (("--max-tokens", "50"), "the budget of 50 tokens is used up"),
        (("--max-duration", "2s"), "the time limit of 2 s is reached"),
    ],
)
def test_an_agent_is_ended_in_the_middle(tree: Worktree, flags: tuple[str, str], reason: str) -> None:
    tree.script(ENDLESS)
    state = tree.run(*flags)
    assert (state["status"], state["reason"], state["iterations"][0]["exit_reason"]) == ("stuck", reason, "over budget")
    assert (state["receipt"]["iterations"], state["cost"]) == (1, 0.3)
    assert (tree.path / "a.txt").exists()


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("max_cost_usd = 0.2", "the budget of $0.20 is used up"),
        ("max_tokens = 50", "the budget of 50 tokens is used up"),
        ('max_duration = "2s"', "the time limit of 2 s is reached"),
    ],
)
def test_the_settings_hold(tree: Worktree, setting: str, reason: str) -> None:
    tree.script(ENDLESS)
    own = tree.fleet.scratch.home / ".config" / "spool" / "config.toml"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(f"{setting}\n")
    state = tree.run()
    assert (state["status"], state["reason"]) == ("stuck", reason)


def test_resume_continues_with_a_higher_budget(tree: Worktree) -> None:
    tree.script(ENDLESS, [{"tick": 9}])
    tree.run("--max-cost", "0.2")
    shown = tree.fleet.wt("status", tree.change).stdout
    assert "raise --max-cost to continue" in shown
    assert "Receipt   1 iteration in" in shown
    wait_for(lambda: "wt-loop resume add-auth --max-cost 0.50" in tree.log.read_text())
    again = tree.fleet.wt("resume", tree.change, "--max-cost", "0.5", "--terminal", "none")
    assert again.returncode == 0, again.stderr
    wait_for(lambda: tree.status_now() != "running")
    state = tree.state()
    assert (state["status"], state["current_iteration"], state["cost_budget"]) == ("done", 2, 0.5)


def test_the_budget_of_the_day_holds_as_it_is_now_when_a_loop_is_resumed(tree: Worktree) -> None:
    tree.fleet.env["TZ"] = midday()
    own = tree.fleet.scratch.home / ".config" / "spool" / "config.toml"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text("max_tokens_per_day = 50\n")
    tree.script(ENDLESS, [{"tick": 9}])
    assert tree.run()["reason"] == "today's budget of 50 tokens is used up"
    own.write_text("max_tokens_per_day = 500\n")
    assert tree.fleet.wt("resume", tree.change, "--terminal", "none").returncode == 0
    wait_for(lambda: tree.status_now() != "running")
    assert tree.state()["status"] == "done"
