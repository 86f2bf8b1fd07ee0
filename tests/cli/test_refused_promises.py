"""A promise that did not count is quoted in the next prompt, with the reason; `run` keeps the work."""

import pytest

from tests.support import Scratch
from tests.support.worktrees import fleet_of

TAG = "<promise>COMPLETE</promise>"
MENTION = {"say": f"I am nearly there and will soon print {TAG} for you."}
HEADING = "## Your last promise was refused"


def run_prompt(scratch: Scratch, iteration: int) -> str:
    return (scratch.run_state / "logs" / f"{iteration:04d}.prompt.md").read_text()


def test_ralph_tells_the_agent_why_and_forgets_it_once_it_counts(scratch: Scratch) -> None:
    scratch.script([MENTION], [{"say": "Working."}], [{"promise": "COMPLETE"}])
    assert scratch.ralph("Go", "--harness", "scripted").returncode == 0
    assert HEADING not in scratch.prompt(1)
    told = scratch.prompt(2)
    assert HEADING in told
    assert f"> I am nearly there and will soon print {TAG} for you." in told
    assert "(inside a sentence)" in told
    assert HEADING not in scratch.prompt(3)
    first = scratch.history()[0]
    assert (first["refused"]["claim"], first["refused"]["why"]) == ("complete", "inside a sentence")


def test_run_keeps_the_work_of_a_refused_promise_and_counts_a_retry(scratch: Scratch) -> None:
    (scratch.change / "tasks.md").write_text("## 1. Form\n\n- [ ] 1.1 Write\n- [ ] 1.2 Test\n")
    scratch.script([{"write": "form.py", "text": "good"}, {"tick": 1}, MENTION], [{"tick": 1}, {"promise": "COMPLETE"}])
    events = scratch.run_events()
    kinds = [event["type"] for event in events]
    assert "Reverted" not in kinds
    assert [event["attempt"] for event in events if event["type"] == "StoryProgress"] == [1, 2]
    assert HEADING in run_prompt(scratch, 2)
    assert (scratch.root / "form.py").read_text() == "good"


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([{"say": "<promise>FAILED - no network</promise>"}], "> <promise>FAILED - no network</promise>"),
        ([{"say": "I stop here."}], ""),
        ([MENTION, {"run": ["true"]}, {"say": "More to do."}], ""),
        ([MENTION, {"exit": 3}], ""),
    ],
    ids=["misspelled failure", "silence", "in an earlier message", "beside a crash"],
)
def test_anything_else_goes_back_to_the_checkpoint(scratch: Scratch, steps: list[dict[str, object]], told: str) -> None:
    scratch.script([{"write": "half.txt", "text": "half"}, *steps], [{"tick": 2}, {"promise": "COMPLETE"}])
    events = scratch.run_events()
    assert [event["type"] for event in events].count("Reverted") == 1
    assert not (scratch.root / "half.txt").exists()
    assert HEADING not in run_prompt(scratch, 2)
    assert ("## Why the last attempt failed" in run_prompt(scratch, 2)) is bool(told)
    assert told in run_prompt(scratch, 2)


def test_a_worktree_loop_that_asks_for_a_promise_tells_the_agent_too(scratch: Scratch) -> None:
    with fleet_of(scratch) as fleet:
        tree = fleet.worktree("add-auth")
        tree.script([MENTION], [{"promise": "COMPLETE"}])
        state = tree.run("--done", "promise")
        assert (state["status"], state["current_iteration"]) == ("done", 2)
        assert HEADING in (tree.raw_logs / "0002.prompt.md").read_text()
