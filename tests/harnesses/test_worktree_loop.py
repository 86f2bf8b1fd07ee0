"""`wt-loop` with the real Claude Code, against a model that plays a script."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harnesses.rig import Rig, rigged
from tests.harnesses.script import Run, Say, Shell
from tests.harnesses.setups import missing
from tests.support import wait_for
from tests.support.worktrees import fleet_of

TICK = "sed -i '0,/- \\[ \\]/s//- [x]/' openspec/changes/add-auth/tasks.md"
TASKS = "## 1. Login\n\n- [ ] 1.1 Write the form\n- [ ] 1.2 Look at it\n- [ ] 1.3 Test it\n"


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    if why := missing("claude"):
        pytest.skip(why)
    with rigged("claude", tmp_path) as made:
        yield made


def commit(name: str) -> Shell:
    return Shell(f"{TICK} && echo {name} > {name}.txt && git add --all && git commit --quiet --message {name}")


def test_three_iterations_two_commits_done_by_tasks(rig: Rig) -> None:
    rig.play(
        Run((commit("form"), Say("The form is there."))),
        Run((Shell(TICK), Say("It looks right; nothing to commit yet."))),
        Run((commit("test"), Say("It is tested."))),
    )
    with fleet_of(rig.scratch) as fleet:
        tree = fleet.worktree("add-auth", tasks=TASKS)
        words = ["--model", "test-model", "--allow-all", "--terminal", "none"]
        done = fleet.wt("start", "add-auth", "Implement the login form", "--max", "10", "--done", "tasks", *words)
        assert done.returncode == 0, done.stderr
        wait_for(lambda: tree.status_now() != "running")
        state = tree.state()
        log = tree.log.read_text()
        assert (state["status"], state["harness"]) == ("done", "claude"), log
        assert [one["n"] for one in state["iterations"]] == [1, 2, 3]
        assert [one["done_check"] for one in state["iterations"]] == [False, False, True]
        first, second = tree.git("log", "--reverse", "--format=%H", "-2").split()
        assert [one["commits"] for one in state["iterations"]] == [[first], [], [second]]
        assert all(one["tokens"] and one["cost"] is not None for one in state["iterations"])
        said = [log.index(text) for text in ("The form is there.", "It looks right", "It is tested.")]
        assert said == sorted(said)
        assert tree.status() == ""
