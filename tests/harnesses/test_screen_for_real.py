"""`spool tui` in a real terminal with the real Claude Code, against a model that plays a script."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.harnesses.rig import rigged
from tests.harnesses.script import COMPLETE, Run, Say, Shell
from tests.harnesses.setups import missing
from tests.support import CHANGE
from tests.support.terminal import terminal
from tests.support.tui import run_events, run_state

TASKS = "## 1. Form\n\n- [ ] 1.1 Write\n\n## 2. Login\n\n- [ ] 2.1 Check\n"


def test_two_stories_on_the_screen(tmp_path: Path) -> None:
    if why := missing("claude") or ("" if shutil.which("tmux") else "there is no tmux here"):
        pytest.skip(why)
    with rigged("claude", tmp_path) as rig:
        scratch = rig.scratch
        (scratch.change / "tasks.md").write_text(TASKS)
        scratch.git("commit", "--quiet", "--all", "--message", "two stories")
        tasks = scratch.change.relative_to(scratch.root) / "tasks.md"

        def story(number: int) -> Run:
            done = f"echo done > story-{number}.txt && sed -i 's/- \\[ \\] {number}\\./- [x] {number}./' {tasks}"
            return Run((Shell(done), Say(f"I did **story {number}**.\n\n{COMPLETE}")))

        rig.play(story(1), story(2))
        words = [word for word in rig.words() if word != "Do the work."]
        with terminal(scratch) as at:
            at.spool("tui", CHANGE, *words)
            at.until_shown("Proposal", "R run")
            at.keys("R")
            at.until(lambda: "Stories  2 agent's word" in at.text())
            assert "~ done: all stories are complete" in at.text()
            at.keys("Enter")
            at.until_shown("► Bash", "I did story 1.")
            at.keys("Right")
            at.until_shown("I did story 2.")
            at.keys("Tab")
            at.until_shown("story-2.txt +1 -0", "+done")
            at.keys("q")
            at.until_shown("Spool · changes", "complete")
            at.keys("q")
            at.until(lambda: at.flag("alternate_on") == "0")
        assert run_state(scratch)["status"] == "done"
        assert [event["story_id"] for event in run_events(scratch, "StoryDone")] == ["1", "2"]
        assert all((scratch.root / f"story-{number}.txt").exists() for number in (1, 2))
