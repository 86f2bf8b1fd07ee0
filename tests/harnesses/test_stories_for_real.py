"""`spool run` with real programs: an agent that fails once, and OpenSpec's own command."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.harnesses.rig import rigged
from tests.harnesses.script import COMPLETE, Run, Say, Shell
from tests.harnesses.setups import agents_path, missing
from tests.support import CHANGE, PATIENCE_S, Scratch, make_scratch

TASKS = "## 1. Form\n\n- [ ] 1.1 Write\n\n## 2. Login\n\n- [ ] 2.1 Check\n\n## 3. Logout\n\n- [ ] 3.1 Forget\n"
GAVE_UP = "It does not work.\n\n<promise>FAILED: the login test is red</promise>"


def types(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


@pytest.mark.long
@pytest.mark.parametrize("agent", ["claude", "opencode"])
def test_a_change_of_three_stories_whose_second_fails_once(agent: str, tmp_path: Path) -> None:
    if why := missing(agent):
        pytest.skip(why)
    with rigged(agent, tmp_path) as rig:
        scratch = rig.scratch
        (scratch.change / "tasks.md").write_text(TASKS)
        scratch.git("commit", "--quiet", "--all", "--message", "three stories")
        tasks = scratch.change.relative_to(scratch.root) / "tasks.md"

        def story(number: int, end: str = COMPLETE) -> Run:
            done = f"echo done > story-{number}.txt && sed -i 's/- \\[ \\] {number}\\./- [x] {number}./' {tasks}"
            return Run((Shell(done), Say(end)))

        rig.play(story(1), Run((Shell("echo half > half.txt"), Say(GAVE_UP))), story(2), story(3))
        words = [word for word in rig.words() if word != "Do the work."]
        done = scratch.spool("run", CHANGE, *words, "--json")
        events = [json.loads(line) for line in done.stdout.splitlines()]
        assert done.returncode == 0, rig.story(done)
        progress = [(event["story_id"], event["attempt"]) for event in events if event["type"] == "StoryProgress"]
        assert progress == [("1", 1), ("2", 1), ("2", 2), ("3", 1)]
        assert types(events)[-2:] == ["Complete", "RunEnded"]
        assert types(events).count("Reverted") == 1
        assert not (scratch.root / "half.txt").exists()
        assert all((scratch.root / f"story-{number}.txt").exists() for number in (1, 2, 3))
        prompt = (scratch.run_state / "logs" / "0003.prompt.md").read_text()
        assert "> the login test is red" in prompt
        said = [event["event"] for event in events if event["type"] == "StoryEvent"]
        assert all(response["usage"]["tokens_in"] for response in said if response["kind"] == "done")


SPEC = """## ADDED Requirements

### Requirement: Greeting

The system SHALL greet people.

#### Scenario: Greet by name
- **WHEN** somebody says their name
- **THEN** the system says hello to them
"""


def openspec(scratch: Scratch, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["openspec", *words],
        cwd=scratch.root,
        env=scratch.env,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def test_a_change_made_by_openspec_is_run_to_its_end_and_is_valid_for_it_afterwards(tmp_path: Path) -> None:
    if why := missing("openspec"):
        pytest.skip(why)
    scratch = make_scratch(tmp_path)
    scratch.env["PATH"] = agents_path()
    scratch.env["OPENSPEC_TELEMETRY"] = "0"
    assert openspec(scratch, "init", "--tools", "none").returncode == 0
    made = openspec(scratch, "new", "change", "add-greeting")
    assert made.returncode == 0, made.stdout + made.stderr
    folder = scratch.root / "openspec" / "changes" / "add-greeting"
    (folder / "specs" / "greeting").mkdir(parents=True, exist_ok=True)
    why = "People want to be greeted, and nobody does it today; this is the first step towards good manners."
    (folder / "proposal.md").write_text(f"## Why\n\n{why}\n\n## What Changes\n\n- greet people\n")
    (folder / "design.md").write_text("## Context\n\nNothing yet.\n\n## Decisions\n\nSay hello.\n")
    (folder / "specs" / "greeting" / "spec.md").write_text(SPEC)
    (folder / "tasks.md").write_text("## 1. Greet\n\n- [ ] 1.1 Say hello\n\n## 2. Test\n\n- [ ] 2.1 Test it\n")
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", "a change")
    scratch.script([{"tick": 1}, {"promise": "COMPLETE"}])

    done = scratch.spool("run", "add-greeting", "--harness", "scripted", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["message"] for event in events if event["type"] == "Warning"] == []
    assert [event["story_id"] for event in events if event["type"] == "StoryProgress"] == ["1", "2"]
    prompt = (scratch.root / ".spool/.state/run/add-greeting/logs/0001.prompt.md").read_text()
    assert "#### Scenario: Greet by name" in prompt

    validated = openspec(scratch, "validate", "add-greeting", "--strict", "--json")
    assert json.loads(validated.stdout)["items"][0]["valid"] is True, validated.stdout
    listed = json.loads(openspec(scratch, "list", "--json").stdout)["changes"]
    assert [(change["name"], change["status"]) for change in listed] == [("add-greeting", "complete")]


def test_what_openspec_objects_to_is_told(tmp_path: Path) -> None:
    if why := missing("openspec"):
        pytest.skip(why)
    scratch = make_scratch(tmp_path)
    scratch.env["PATH"] = agents_path()
    assert openspec(scratch, "init", "--tools", "none").returncode == 0
    assert openspec(scratch, "new", "change", "half-planned").returncode == 0
    folder = scratch.root / "openspec" / "changes" / "half-planned"
    (folder / "proposal.md").write_text("## Why\n\nBecause.\n")
    (folder / "tasks.md").write_text("## 1. Greet\n\n- [ ] 1.1 Say hello\n")
    scratch.script([{"tick": 1}, {"promise": "COMPLETE"}])
    done = scratch.spool("run", "half-planned", "--harness", "scripted")
    assert done.returncode == 0, done.stderr
    assert "openspec: the planning of 'half-planned' is not finished" in done.stdout
    assert "openspec: 'half-planned' is not valid" in done.stdout
