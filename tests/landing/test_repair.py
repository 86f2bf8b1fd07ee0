"""`spool land --repair`: the agent gets one more story, with the reason, and what it mends lands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spool.domain.judging.gates.gate import Proof
from tests.landing.support import Field, make_field
from tests.support import CHANGE, PATIENCE_S, wait_for
from tests.support.sandboxed import needs_a_sandbox

DONE = "## 1. Loop\n\n- [x] 1.1 Write the loop\n- [x] 1.2 Test the loop\n"
CHECK = "sh check.sh"
TICKED = {"write": f".spool/changes/{CHANGE}/tasks.md", "text": DONE}
COMPLETE = {"say": "<promise>COMPLETE</promise>"}


@pytest.fixture(params=["worktree", "clone"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def field(tmp_path: Path) -> Field:
    made = make_field(tmp_path)
    made.commit({"check.sh": "grep -q agent shared.txt && test ! -e bad.txt\n"}, "a check")
    return made


def play(field: Field, *steps: dict[str, str]) -> None:
    """Let the agent do the same in each iteration from now on."""
    field.scratch.script(*([[*steps, COMPLETE]] * 12))


def work(field: Field, *words: str) -> None:
    """Let a loop finish the change, whose work is a line in a file that a person then edits as well."""
    play(field, {"write": "shared.txt", "text": "one\nagent\nthree\n"}, TICKED)
    done = field.scratch.run("--verify", CHECK, *words)
    assert done.returncode == 0, done.stdout + done.stderr


def collide(field: Field) -> str:
    return field.commit({"shared.txt": "one\nperson\nthree\n"}, "a person's line")


def land(field: Field, *words: str) -> tuple[int, dict[str, Any]]:
    done = field.scratch.spool("land", "--json", *words)
    (landing,) = json.loads(done.stdout)["landings"]
    return done.returncode, landing


def journal(field: Field) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (field.scratch.run_state / "journal.jsonl").read_text().splitlines() if line]


def test_an_agent_resolves_a_conflict_and_the_change_lands(field: Field, kind: str) -> None:
    work(field, "--in", kind)
    persons = collide(field)
    assert land(field)[1]["fate"] == "conflict"

    play(field, {"write": "shared.txt", "text": "one\nperson and agent\nthree\n"})
    code, landing = land(field, "--repair")

    assert (code, landing["fate"], landing["repairs"]) == (0, "landed", 1), landing
    assert (field.root / "shared.txt").read_text() == "one\nperson and agent\nthree\n"
    assert field.git("log", "-1", "--format=%s", "main") == f"Land {CHANGE}"
    assert field.git("rev-parse", "main^") == persons, "one commit on top of the person's"
    assert "* Story 1: Loop" in field.git("log", "-1", "--format=%b", "main")
    assert field.status() == ""
    assert field.leavings() == []


def test_the_story_is_in_no_task_list(field: Field, kind: str) -> None:
    work(field, "--in", kind)
    collide(field)
    play(field, {"write": "shared.txt", "text": "one\nperson and agent\nthree\n"})
    land(field, "--repair")
    assert (field.scratch.change / "tasks.md").read_text() == DONE
    story = next(event for event in journal(field) if event.get("story_id") == "land")
    assert story["title"] == "Land on main"
    (loop,) = json.loads(field.scratch.spool("report", "--json").stdout)["loops"]
    assert {point["total"] for point in loop["account"]["boxes"]} == {2}, "the boxes are those of the task list"


def test_an_agent_mends_what_a_check_refuses(field: Field, kind: str) -> None:
    work(field, "--in", kind)
    field.commit({"bad.txt": "a person's file\n"}, "red together with the change")
    assert land(field)[1]["fate"] == "red"

    play(field, {"delete": "bad.txt"})
    code, landing = land(field, "--repair")
    assert (code, landing["fate"], landing["repairs"]) == (0, "landed", 1), landing
    assert not (field.root / "bad.txt").exists()


def test_markers_that_are_left_do_not_land(field: Field) -> None:
    field.commit({"check.sh": "true\n"}, "a check that sees nothing")
    work(field, "--in", "worktree")
    collide(field)
    play(field, {"write": "other.txt", "text": "nothing is resolved\n"})
    code, landing = land(field, "--repair")
    assert (code, landing["fate"]) == (1, "conflict"), landing
    assert "markers of a conflict are left in shared.txt" in landing["why"]
    assert (field.root / "shared.txt").read_text() == "one\nperson\nthree\n"


def test_an_agent_that_gives_up_leaves_branch_and_target_as_they_are(field: Field, kind: str) -> None:
    work(field, "--in", kind)
    tip, persons = field.tip(f"change/{CHANGE}"), collide(field)
    field.scratch.script(*([[{"say": "<promise>FAILED: too hard</promise>"}]] * 12))
    code, landing = land(field, "--repair")
    assert (code, landing["fate"]) == (1, "conflict")
    assert "not repaired: its loop is stuck" in landing["why"]
    assert "too hard" in landing["why"]
    assert (field.tip(f"change/{CHANGE}"), field.tip()) == (tip, persons)


def test_a_repair_is_tried_again_by_name(field: Field, kind: str) -> None:
    work(field, "--in", kind)
    collide(field)
    field.scratch.script(*([[{"say": "<promise>FAILED: too hard</promise>"}]] * 12))
    assert land(field, "--repair")[0] == 1

    play(field, {"write": "shared.txt", "text": "one\nperson and agent\nthree\n"})
    code, landing = land(field, CHANGE, "--repair")
    assert (code, landing["fate"]) == (0, "landed"), landing
    assert (field.root / "shared.txt").read_text() == "one\nperson and agent\nthree\n"


def test_the_number_of_repairs_is_limited(field: Field) -> None:
    field.commit({"check.sh": "true\n"}, "a check that sees nothing")
    work(field, "--in", "worktree")
    collide(field)
    play(field, {"write": "other.txt", "text": "nothing is resolved\n"})
    done = field.scratch.spool("land", "--repair")
    assert done.stderr.count(f"{CHANGE}: repair ") == 2
    assert "repair 2 of 2" in done.stderr


def test_a_change_without_a_known_agent_is_not_repaired(field: Field) -> None:
    field.branch("by-hand", {"shared.txt": "one\nagent by hand\nthree\n"})
    field.finish("by-hand", Proof.PROVED)
    collide(field)
    code, landing = land(field, "by-hand", "--repair", "--verify", CHECK)
    assert (code, landing["fate"]) == (1, "conflict")
    assert "its agent is not known" in landing["why"]


def test_merges_on_a_branch_land_as_one_commit_with_what_they_resolved(field: Field) -> None:
    field.branch("by-hand", {"shared.txt": "one\nagent by hand\nthree\n"})
    place = field.root.parent / "place"
    persons = collide(field)
    field.git("worktree", "add", "--quiet", str(place), "change/by-hand")
    field.scratch.env["GIT_EDITOR"] = ":"
    with pytest.raises(AssertionError):
        field.git("merge", "main", cwd=place)
    field.commit({"shared.txt": "one\nperson and agent\nthree\n"}, "resolved", cwd=place)
    field.git("worktree", "remove", str(place))
    later = field.commit({"later.txt": "later\n"}, "another commit of a person")
    code, landing = land(field, "by-hand", "--allow-unverified", "--verify", CHECK)
    assert (code, landing["fate"]) == (0, "landed"), landing
    assert field.git("rev-list", "--count", f"{persons}..main") == "2"
    assert field.git("rev-parse", "main^") == later
    assert (field.root / "shared.txt").read_text() == "one\nperson and agent\nthree\n"


@needs_a_sandbox
def test_a_sandboxed_agent_repairs_in_a_sandbox(field: Field) -> None:
    script = str(field.scratch.home / "script.json")
    work(field, "--sandbox", "--net", "off", "--sandbox-read", script)
    collide(field)
    play(field, {"write": "shared.txt", "text": "one\nperson and agent\nthree\n"})
    code, landing = land(field, "--repair")
    assert (code, landing["fate"]) == (0, "landed"), landing
    started = [event for event in journal(field) if event.get("sandbox")]
    assert [event["sandbox"] for event in started] == ["sandboxed: bwrap, net off"] * 2


def test_the_report_says_what_became_of_a_landing(field: Field) -> None:
    work(field, "--in", "worktree")
    report = field.scratch.spool("report", CHANGE)
    assert f"spool land {CHANGE}\n" in report.stdout
    collide(field)
    land(field)
    report = field.scratch.spool("report", CHANGE)
    assert "conflict: 'Story 1: Loop' conflicts in shared.txt" in report.stdout
    assert f"spool land {CHANGE} --repair" in report.stdout

    play(field, {"write": "shared.txt", "text": "one\nperson and agent\nthree\n"})
    land(field, "--repair")
    commit = field.tip()[:10]
    assert f"landed on main as {commit}, after 1 repair" in field.scratch.spool("report", CHANGE).stdout
    assert f"| Landing | landed on main as {commit}" in field.scratch.spool("report", CHANGE, "--markdown").stdout
    (loop,) = json.loads(field.scratch.spool("report", CHANGE, "--json").stdout)["loops"]
    assert (loop["landing"]["fate"], loop["landing"]["repairs"]) == ("landed", 1)


def started(base: Path) -> bool:
    """Whether the agent has begun, wherever its workspace is."""
    try:
        return any(base.rglob("started"))
    except FileNotFoundError:  # a clone is being renamed
        return False


def test_a_repair_that_is_killed_goes_on(field: Field, kind: str) -> None:
    work(field, "--in", kind)
    persons = collide(field)
    play(field, {"write": "started", "text": ""}, {"sleep": "600"})
    landing = field.scratch.start("land", "--repair")
    wait_for(lambda: started(field.root.parent))
    landing.kill()
    landing.wait(timeout=PATIENCE_S)
    assert field.tip() == persons

    play(field, {"write": "shared.txt", "text": "one\nperson and agent\nthree\n"}, {"delete": "started"})
    code, found = land(field, CHANGE, "--repair")
    assert (code, found["fate"]) == (0, "landed"), found
    assert (field.root / "shared.txt").read_text() == "one\nperson and agent\nthree\n"
    assert not (field.root / "started").exists()
    assert field.leavings() == []
