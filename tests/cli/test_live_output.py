"""What a run prints while it runs and at its end."""

import json
import re

import pytest

from tests.support import CHANGE, PATIENCE_S, Scratch

MANY = 5_200


def test_a_clock_and_an_empty_line_between_iterations(scratch: Scratch) -> None:
    scratch.script([{"say": "one"}], [{"promise": "COMPLETE"}])
    lines = scratch.ralph("Go", "--harness", "scripted").stdout.splitlines()
    starts = [place for place, line in enumerate(lines) if re.fullmatch(r"--- iteration \d .*, \d\d:\d\d:\d\d", line)]
    assert len(starts) == 2
    assert all(lines[place - 1] == "" for place in starts)


def test_a_run_ends_with_one_block_and_the_next_command(scratch: Scratch) -> None:
    scratch.script([{"write": "a.txt", "text": "x"}, {"promise": "COMPLETE"}])
    done = scratch.ralph("Go", "--harness", "scripted", "--auto-commit")
    block = done.stdout.rpartition("\n\n")[2].splitlines()
    assert block[0].startswith("--- 1 iteration in ")
    assert re.fullmatch(r"--- 1 commit: [0-9a-f]{10}", block[-2])
    assert block[-1] == "--- done: the agent kept its promise"
    assert re.search(r"See what it did with:\n  spool report [0-9a-f]{6}\n", done.stderr)


def test_a_stuck_run_says_how_to_continue(scratch: Scratch) -> None:
    scratch.script([{"say": "no"}])
    done = scratch.run("--max-retries", "0")
    assert done.returncode == 1
    assert f"Continue with:\n  spool run {CHANGE} --harness scripted --max-retries 0 --on-resume keep" in done.stderr


@pytest.fixture
def large(scratch: Scratch) -> Scratch:
    """A project with many files, none of them tracked."""
    folder = scratch.root / "many"
    folder.mkdir()
    for number in range(MANY):
        (folder / f"{number}.txt").write_text(f"{number}\n")
    return scratch


@pytest.mark.long
def test_work_on_a_large_tree_says_how_far_it_is(large: Scratch) -> None:
    gone = ["python3", "-c", "import shutil; shutil.rmtree('many')"]
    large.script([{"run": gone}, {"promise": "FAILED: no"}], [{"tick": 2}, {"promise": "COMPLETE"}])
    events = [json.loads(line) for line in large.run("--json", timeout=PATIENCE_S).stdout.splitlines()]
    for step in ("checkpoint", "restore"):
        shares = [event["share"] for event in events if event["type"] == "Working" and event["step"] == step]
        assert shares[0] == 0
        assert any(0 < share < 1 for share in shares)
        assert shares[-1] == 1
    assert len(list((large.root / "many").iterdir())) == MANY


def test_a_small_tree_says_nothing_of_it(night: Scratch) -> None:
    assert '"type":"Working"' not in (night.run_state / "journal.jsonl").read_text()


def test_a_gate_is_expected_to_take_as_long_as_the_last_time(night: Scratch) -> None:
    lines = (night.run_state / "journal.jsonl").read_text().splitlines()
    gates = [event for event in map(json.loads, lines) if event["type"] == "GateStarted"]
    assert gates[0]["expected_s"] == 0
    assert all(event["expected_s"] > 0 for event in gates[1:])


def test_the_first_lines_say_agent_permissions_sandbox_checks_and_budget(scratch: Scratch) -> None:
    scratch.script([{"write": "x", "text": ""}, {"tick": 9}, {"promise": "COMPLETE"}])
    options = ("--model", "small", "--allow-all", "--verify", "true", "--max-cost", "5", "--max-duration", "8h")
    first = scratch.run(*options).stdout.splitlines()[0]
    assert first == ("--- scripted, model small · allow-all · not sandboxed · checks: true · budget: $5.00, 8h 00m")


def test_an_agent_that_nobody_chose_is_named_as_the_default(scratch: Scratch) -> None:
    scratch.agent("print('<promise>COMPLETE</promise>')")
    done = scratch.spool("run", CHANGE, "--max-retries", "0")
    assert "Using opencode, the default agent; choose another with --harness NAME or spool init." in done.stderr
    assert "the default agent" not in scratch.run("--max-retries", "0").stderr
