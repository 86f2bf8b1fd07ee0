"""Specification 004, story by story: one test per scenario that needs no screen, named after it."""

import json
import subprocess
from datetime import datetime
from typing import Any

import pytest

from tests.support import CHANGE, Scratch

TASKS = (
    "## 1. Form\n\n- [ ] 1.1 Write\n\n## 2. Login\n\n- [ ] 2.1 Check passwords\n\n## 3. Logout\n\n- [ ] 3.1 Forget\n"
)
COMPLETE = {"promise": "COMPLETE"}
TICK = {"tick": 1}


@pytest.fixture
def stories(scratch: Scratch) -> Scratch:
    (scratch.change / "tasks.md").write_text(TASKS)
    scratch.git("commit", "--quiet", "--all", "--message", "three stories")
    return scratch


def of_type(events: list[dict[str, Any]], *types: str) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] in types]


def prompt(scratch: Scratch, iteration: int) -> str:
    return (scratch.run_state / "logs" / f"{iteration:04d}.prompt.md").read_text()


# Requirement: Loop orchestration


def test_start_loop_for_a_change(stories: Scratch) -> None:
    (stories.change / "tasks.md").write_text(TASKS.replace("- [ ] 1.1", "- [x] 1.1"))
    stories.script([{"say": "I begin."}, TICK, COMPLETE])
    events = stories.run_events()
    first = of_type(events, "StoryProgress")[0]
    assert (first["story_id"], first["title"], first["total"], first["completed"]) == ("2", "Login", 3, 1)
    assert "## Story 2: Login\n\n- [ ] 2.1 Check passwords" in prompt(stories, 1)
    assert "Forget" not in prompt(stories, 1)
    assert of_type(events, "StoryEvent")[0]["event"]["text"] == "I begin."


def test_story_iteration(stories: Scratch) -> None:
    stories.script([TICK, COMPLETE])
    events = stories.run_events()
    steps = of_type(events, "StoryProgress", "CheckpointSaved", "CheckpointDropped", "Complete")
    assert [(step["type"], step.get("story_id")) for step in steps] == [
        ("StoryProgress", "1"), ("CheckpointSaved", "1"), ("CheckpointDropped", "1"),
        ("StoryProgress", "2"), ("CheckpointSaved", "2"), ("CheckpointDropped", "2"),
        ("StoryProgress", "3"), ("CheckpointSaved", "3"), ("CheckpointDropped", "3"),
        ("Complete", None),
    ]  # fmt: skip
    assert [step["completed"] for step in of_type(steps, "StoryProgress")] == [0, 1, 2]


def test_loop_completion(stories: Scratch) -> None:
    stories.script([TICK, COMPLETE])
    done = stories.run("--json")
    assert done.returncode == 0
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["type"] for event in events[-2:]] == ["Complete", "RunEnded"]
    assert json.loads(stories.spool("checkpoint", "list", "--json").stdout) == {"checkpoints": [], "discarded": []}
    assert stories.git("stash", "list") == ""


def test_checkpoint_before_agent_spawn(stories: Scratch) -> None:
    stories.script([TICK, COMPLETE])
    types = [event["type"] for event in stories.run_events()]
    assert types.index("CheckpointSaved") < types.index("IterationStarted") < types.index("StoryEvent")


def test_retry_on_failure_without_complete_signal(stories: Scratch) -> None:
    (stories.root / "mine.txt").write_text("was here before")
    stories.script(
        [{"write": "broken.txt", "text": "half"}, {"write": "mine.txt", "text": "spoiled"}, {"say": "I stop here."}],
        [{"run": ["test", "!", "-e", "broken.txt"]}, TICK, COMPLETE],
    )
    events = stories.run_events()
    progress = [(event["story_id"], event["attempt"]) for event in of_type(events, "StoryProgress")]
    assert progress == [("1", 1), ("1", 2), ("2", 1), ("3", 1)]
    assert len(of_type(events, "Reverted")) == 1
    assert not (stories.root / "broken.txt").exists()
    assert (stories.root / "mine.txt").read_text() == "was here before"
    assert all(not result["event"].get("is_error") for result in of_type(events, "StoryEvent"))


def test_retry_with_failure_reason(stories: Scratch) -> None:
    stories.script([{"promise": "FAILED: the tests are red"}], [TICK, COMPLETE])
    events = stories.run_events()
    assert "the tests are red" not in prompt(stories, 1)
    assert "> the tests are red" in prompt(stories, 2)
    assert "the tests are red" not in prompt(stories, 3)
    assert len(of_type(events, "Reverted")) == 1


def test_max_retries_exceeded(stories: Scratch) -> None:
    stories.script([{"write": "work.txt", "text": "last"}, {"promise": "FAILED: it cannot be done"}])
    done = stories.run("--json", "--max-retries", "1")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1
    (error,) = of_type(events, "Error")
    assert "it cannot be done" in error["reason"]
    assert error["story_id"] == "1"
    assert error["kept"]
    assert {event["story_id"] for event in of_type(events, "StoryProgress")} == {"1"}
    assert (stories.root / "work.txt").read_text() == "last"


def test_abnormal_termination_retry(stories: Scratch) -> None:
    stories.script([{"say": "Nothing to say."}], [{"stderr": "boom\n"}, {"exit": 9}], [TICK, COMPLETE])
    events = stories.run_events()
    assert len(of_type(events, "Reverted")) == 2
    # The attempt's number is all that differs: no additional context.
    for iteration in (2, 3):
        before, after = prompt(stories, 1), prompt(stories, iteration)
        assert after == before.replace("attempt 1 ", f"attempt {iteration} ").replace(
            "(iteration 1 ", f"(iteration {iteration} "
        )


# Requirement: Loop events


def test_event_types(stories: Scratch) -> None:
    stories.script([{"say": "Hello"}, TICK, COMPLETE])
    types = {event["type"] for event in stories.run_events()}
    assert {"StoryEvent", "StoryProgress", "Complete"} <= types
    (stories.change / "tasks.md").write_text(TASKS)
    stories.script([{"promise": "FAILED: no"}])
    assert "Error" in {event["type"] for event in stories.run_events("--max-retries", "0", "--fresh")}


def test_storyevent_with_full_message(stories: Scratch) -> None:
    text = "All of it, " * 100_000
    stories.script([{"say": text}, {"tick": 3}, COMPLETE])
    said = [event for event in of_type(stories.run_events(), "StoryEvent") if event["event"]["kind"] == "message"]
    assert said[0]["story_id"] == "1"
    assert said[0]["event"]["text"] == text


def test_storyevent_with_done_response(stories: Scratch) -> None:
    usage = {"tokens_in": 100, "tokens_out": 20, "cost_usd": 0.5, "turns": 3}
    stories.script([TICK, {"usage": usage}, COMPLETE])
    done = next(event for event in of_type(stories.run_events(), "StoryEvent") if event["event"]["kind"] == "done")
    assert done["story_id"] == "1"
    assert done["event"]["content"] == "<promise>COMPLETE</promise>"
    assert done["event"]["usage"] == usage


def test_story_progress_event(stories: Scratch) -> None:
    stories.script([TICK, COMPLETE])
    progress = of_type(stories.run_events(), "StoryProgress")
    assert [(event["story_id"], event["current"], event["total"]) for event in progress] == [
        ("1", 1, 3),
        ("2", 2, 3),
        ("3", 3, 3),
    ]


# Requirement: Configurable max retries


def attempts(scratch: Scratch, *words: str) -> int:
    scratch.script([{"say": "No."}])
    return len(of_type(scratch.run_events(*words), "IterationStarted"))


def test_cli_flag_for_max_retries(stories: Scratch) -> None:
    assert attempts(stories, "--max-retries", "5") == 6


def test_default_max_retries(stories: Scratch) -> None:
    assert attempts(stories) == 4


# Requirement: Async-safe orchestration, and Operation timeouts


def slow_git(scratch: Scratch, condition: str, seconds: float) -> None:
    """Put a git first on PATH that delays the commands for which the condition on its argv holds."""
    git = subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout.strip()
    scratch.agent(
        "import os, sys, time\n"
        f"if {condition}:\n    time.sleep({seconds})\n"
        f"os.execv({git!r}, ['git', *sys.argv[1:]])\n",
        name="git",
    )


def started_json(scratch: Scratch, *words: str, change: str = CHANGE) -> subprocess.Popen[str]:
    return subprocess.Popen(
        scratch.argv("run", change, "--harness", "scripted", "--json", *words),
        cwd=scratch.root,
        env=scratch.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def read_until(process: subprocess.Popen[str], kind: str) -> dict[str, Any]:
    assert process.stdout is not None
    for line in process.stdout:
        event: dict[str, Any] = json.loads(line)
        if event["type"] == kind:
            return event
    raise AssertionError(f"no {kind}")


def test_adapter_refresh_is_non_blocking(stories: Scratch) -> None:
    """While `openspec` sleeps for an hour in a refresh between stories, events flow and a stop is obeyed."""
    folder = stories.root / "openspec" / "changes" / "add-login"
    folder.mkdir(parents=True)
    (folder / "proposal.md").write_text("# Add login\n")
    (folder / "tasks.md").write_text(TASKS)
    stories.script([TICK, COMPLETE])
    stories.agent(
        "import sys, time, pathlib\n"
        f"if 'x' in pathlib.Path({str(folder / 'tasks.md')!r}).read_text():\n    time.sleep(3_600)\n"
        "print('{}')\n",
        name="openspec",
    )
    process = started_json(stories, "--command-timeout", "3600", change="add-login")
    read_until(process, "CheckpointDropped")
    stop_and_see_it_obeyed(process)


def stop_and_see_it_obeyed(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write('{"type":"stop"}\n')
    process.stdin.flush()
    asked = read_until(process, "StopRequested")
    assert asked["by"] == "a request on standard input"
    ended = read_until(process, "RunEnded")
    assert ended["status"] == "stopped"
    # By the runner's own clock: within half a second, with room for a busy machine.
    assert (datetime.fromisoformat(ended["at"]) - datetime.fromisoformat(asked["at"])).total_seconds() < 3
    assert process.wait(timeout=120) == 130


def test_checkpoint_operations_are_non_blocking(stories: Scratch) -> None:
    """While git sleeps for an hour in a checkpoint, the stop flag is seen and obeyed."""
    stories.script([TICK, COMPLETE])
    slow_git(stories, "'add' in sys.argv or 'write-tree' in sys.argv", 3_600)
    process = started_json(stories, "--command-timeout", "3600")
    read_until(process, "StoryProgress")
    stop_and_see_it_obeyed(process)


def test_default_command_timeout(stories: Scratch) -> None:
    told = json.loads(stories.spool("config", "--json").stdout)
    assert told["command_timeout"] == {"value": 30.0, "origin": "default"}


def test_timeout_triggers_retry(stories: Scratch) -> None:
    """The first two checkpoints meet a hung git; the retry mechanism takes over, and the third succeeds."""
    stories.script([TICK, COMPLETE])
    count = str(stories.home / "count")
    first_two = f"(open({count!r}, 'a').write('x'), len(open({count!r}).read()) <= 2)[1]"
    slow_git(stories, f"'write-tree' in sys.argv and {first_two}", 3_600)
    events = stories.run_events("--command-timeout", "1")
    assert of_type(events, "Complete")
    assert any("did not answer within 1 s" in event["message"] for event in of_type(events, "Warning"))


def test_timeouts_use_up_the_retries(stories: Scratch) -> None:
    stories.script([TICK, COMPLETE])
    slow_git(stories, "'write-tree' in sys.argv", 3_600)
    done = stories.run("--json", "--command-timeout", "1", "--max-retries", "1")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1
    assert len(of_type(events, "StoryProgress")) == 2
    assert "did not answer within 1 s" in of_type(events, "Error")[0]["reason"]
    assert not of_type(events, "IterationStarted")


def test_configurable_timeout(stories: Scratch) -> None:
    stories.script([{"tick": 3}, COMPLETE])
    slow_git(stories, "'write-tree' in sys.argv", 2)
    assert stories.run("--command-timeout", "60").returncode == 0
    (stories.change / "tasks.md").write_text(TASKS)
    assert stories.run("--command-timeout", "1", "--max-retries", "0", "--fresh").returncode == 1
