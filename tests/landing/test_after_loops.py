"""Changes that real loops have finished: in a clone, in a sandbox; and what is archived as it lands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.landing.support import Field, make_field, part
from tests.support import CHANGE, PATIENCE_S
from tests.support.sandboxed import needs_a_sandbox

DONE = "## 1. Loop\n\n- [x] 1.1 Write the loop\n- [x] 1.2 Test the loop\n"
CHECK = "sh check.sh"


@pytest.fixture
def field(tmp_path: Path) -> Field:
    made = make_field(tmp_path)
    made.commit({"check.sh": "test -e work.txt && test ! -e bad.txt\n"}, "a check")
    made.scratch.script(
        [
            {"write": "work.txt", "text": "done\n"},
            {"write": f".spool/changes/{CHANGE}/tasks.md", "text": DONE},
            {"say": "<promise>COMPLETE</promise>"},
        ]
    )
    return made


def run(field: Field, *words: str) -> None:
    done = field.scratch.run("--verify", CHECK, "--in", "clone", *words)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_loop_in_a_clone_lands_with_the_checks_it_was_verified_by(field: Field) -> None:
    run(field)
    assert not (field.root / "work.txt").exists()
    done = field.scratch.spool("land", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    (landing,) = json.loads(done.stdout)["landings"]
    assert (landing["change"], landing["fate"]) == (CHANGE, "landed")
    assert (field.root / "work.txt").read_text() == "done\n"
    assert "[x] 1.1" in (field.scratch.change / "tasks.md").read_text()
    assert field.status() == ""


def test_the_same_command_again_takes_nothing_from_what_was_verified(field: Field) -> None:
    run(field)
    run(field)
    assert json.loads((field.scratch.run_state / "state.json").read_text())["memory"]["proof"] == "proved"
    done = field.scratch.spool("land")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_change_that_nothing_would_check_does_not_hold_up_the_others(field: Field) -> None:
    run(field)
    field.change("unchecked", part("unchecked"))
    done = field.scratch.spool("land", "--json")
    assert done.returncode == 1, done.stdout + done.stderr
    found = {one["change"]: one for one in json.loads(done.stdout)["landings"]}
    assert found[CHANGE]["fate"] == "landed"
    assert found["unchecked"]["fate"] == "not ready"
    assert "no check is configured" in found["unchecked"]["why"]


def test_the_same_checks_refuse_the_result(field: Field) -> None:
    run(field)
    field.commit({"bad.txt": "a person's commit\n"}, "a person's commit")
    done = field.scratch.spool("land")
    assert done.returncode == 1
    assert f"{CHANGE}: red: {CHECK}: exited with code 1" in done.stdout
    assert not (field.root / "work.txt").exists()


@needs_a_sandbox
def test_a_sandboxed_change_is_checked_in_a_sandbox(field: Field) -> None:
    secret = field.scratch.home / "secret"
    secret.write_text("secret\n")
    field.commit({"check.sh": f"test -e work.txt && test ! -e {secret}\n"}, "a check that sees no home")
    done = field.scratch.run(
        "--verify",
        CHECK,
        "--sandbox",
        "--net",
        "off",
        "--sandbox-read",
        str(field.scratch.home / "script.json"),
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    landed = field.scratch.spool("land")
    assert landed.returncode == 0, landed.stdout + landed.stderr
    assert (field.root / "work.txt").exists()


def test_archive_is_part_of_the_move(field: Field) -> None:
    run(field)
    done = field.scratch.spool("land", "--archive")
    assert done.returncode == 0, done.stdout + done.stderr
    assert field.git("log", "-1", "--format=%s") == f"Archive {CHANGE}"
    (archived,) = (field.root / ".spool" / "changes" / "archive").iterdir()
    assert archived.name.endswith(f"-{CHANGE}")
    assert "[x] 1.1" in (archived / "tasks.md").read_text()
    assert not field.scratch.change.exists()
    assert field.status() == ""


def test_openspec_archives_its_own_changes(field: Field) -> None:
    field.commit({"openspec/changes/add-x/proposal.md": "# X\n", "work.txt": "x\n"}, "an OpenSpec change")
    program = field.scratch.bin / "openspec"
    program.write_text(
        '#!/bin/sh\n[ "$1 $2 $3" = "archive add-x --yes" ] || exit 1\n'
        "mkdir -p openspec/changes/archive && mv openspec/changes/add-x openspec/changes/archive/2026-01-01-add-x\n"
    )
    program.chmod(0o755)
    field.change("add-x", part("x"))
    done = field.scratch.spool("land", "add-x", "--archive", "--verify", CHECK)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (field.root / "openspec" / "changes" / "archive" / "2026-01-01-add-x" / "proposal.md").exists()
    assert not (field.root / "openspec" / "changes" / "add-x").exists()


def test_an_untracked_change_that_equals_what_was_copied_does_not_block_landing(field: Field) -> None:
    field.git("rm", "--quiet", "-r", "--cached", ".spool/changes")
    field.git("commit", "--quiet", "--message", "the change is not committed")
    run(field)
    assert "[ ] 1.1" in (field.scratch.change / "tasks.md").read_text()
    done = field.scratch.spool("land")
    assert done.returncode == 0, done.stdout
    assert "[x] 1.1" in (field.scratch.change / "tasks.md").read_text()
    assert field.git("status", "--porcelain") == ""


def test_an_untracked_change_that_was_edited_since_holds_it_back(field: Field) -> None:
    field.git("rm", "--quiet", "-r", "--cached", ".spool/changes")
    field.git("commit", "--quiet", "--message", "the change is not committed")
    run(field)
    tasks = field.scratch.change / "tasks.md"
    tasks.write_text(mine := tasks.read_text().replace("1.1", "1.1 mine"))
    done = field.scratch.spool("land")
    assert done.returncode == 1
    assert "stand in the way" in done.stdout
    assert f".spool/changes/{CHANGE}/tasks.md" in done.stdout
    assert tasks.read_text() == mine


def test_work_on_the_agents_word_is_refused_without_allow_unverified(field: Field) -> None:
    done = field.scratch.run("--in", "clone")
    assert done.returncode == 0, done.stderr
    refused = field.scratch.spool("land", CHANGE, "--verify", CHECK)
    assert refused.returncode == 1
    assert "its loop ended with agent's word: nothing has verified it" in refused.stdout
    assert field.scratch.spool("land", CHANGE, "--verify", CHECK, "--allow-unverified").returncode == 0


def test_clean_removes_what_landings_leave(field: Field) -> None:
    ticked = {"write": "PLAN.md", "text": "- [x] Work\n"}
    field.scratch.script([{"write": "work.txt", "text": "done\n"}, ticked, {"say": "<promise>COMPLETE</promise>"}])
    field.commit({"PLAN.md": "- [ ] Work\n"}, "a plan")
    words = ("--harness", "scripted", "--verify", CHECK, "--in", "worktree")
    done = field.scratch.spool("run", "PLAN.md", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert field.scratch.spool("land").returncode == 0
    listed = field.scratch.spool("clean").stdout
    assert "what became of landings" in listed
    assert "unreadable" not in listed
    assert field.scratch.spool("clean", "--everything", "--yes").returncode == 0
    state = field.scratch.home / ".local" / "state" / "spool"
    left = [path for path in state.rglob("*") if path.is_file() and "spending" not in path.parts]
    assert left == []
