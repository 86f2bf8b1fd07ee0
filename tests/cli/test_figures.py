"""What is shown is true: times, outcomes, counts, and what follows."""

import json
import os
import re
import signal
import time

import pytest

from tests.seeds.test_000_ralph_loop import on_a_terminal
from tests.support import CHANGE, PATIENCE_S, Scratch, wait_for

COMPLETE = {"promise": "COMPLETE"}
TWO = "## 1. Form\n\n- [ ] 1.1 Write\n\n## 2. Login\n\n- [ ] 2.1 Check\n"


@pytest.fixture
def stories(scratch: Scratch) -> Scratch:
    (scratch.change / "tasks.md").write_text(TWO)
    scratch.git("commit", "--quiet", "--all", "--message", "two stories")
    return scratch


def test_a_refused_attempt_does_not_read_completed(stories: Scratch) -> None:
    stories.script([COMPLETE])
    done = stories.run("--max-retries", "1")
    assert done.returncode == 1
    assert "iteration 1: refused" in done.stdout
    status = stories.spool("run", "--status", "-c", CHANGE).stdout
    assert "completed" not in status
    assert re.search(r"^1  refused .*boxes are open: 1\.1$", status, re.MULTILINE)


def test_no_work_is_said_to_be_kept_where_there_is_none(stories: Scratch) -> None:
    stories.script([{"promise": "FAILED: no"}])
    assert "is in the working tree" not in stories.run("--max-retries", "0").stdout
    stories.script([{"write": "half.txt"}, {"promise": "FAILED: no"}])
    assert "the work of story 1 is in the working tree" in stories.run("--max-retries", "0").stdout


def test_an_interrupted_iteration_lasts_until_its_last_sign_of_life(scratch: Scratch) -> None:
    scratch.script([{"say": "Working"}, {"sleep": 600}])
    process = scratch.start("ralph", "Go", "-c", CHANGE, "--harness", "scripted")
    log = scratch.state / "logs" / "0001.out"
    wait_for(lambda: log.exists() and b"Working" in log.read_bytes())
    process.kill()
    process.wait()
    hours_ago = time.time() - 7_200
    state = scratch.load_state()
    began = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(hours_ago - 60))}Z"
    state["in_flight"]["started_at"] = began
    (scratch.state / "state.json").write_text(json.dumps(state))
    for path in (scratch.state / "journal.jsonl", *scratch.state.glob("logs/0001.*")):
        os.utime(path, (hours_ago, hours_ago))
    scratch.script([COMPLETE])
    scratch.ralph("Go", "--harness", "scripted")
    assert scratch.history()[0]["outcome"] == "interrupted"
    assert scratch.history()[0]["duration_s"] == pytest.approx(60, abs=5)


def test_people_read_their_own_time_and_files_have_utc(scratch: Scratch) -> None:
    scratch.env["TZ"] = "XXX-5:30"
    scratch.script([{"say": "Hello"}], [COMPLETE])
    done = scratch.ralph("Go", "--harness", "scripted")
    started = scratch.history()[0]["started_at"]
    assert started.endswith("Z")
    hours, minutes = int(started[11:13]), int(started[14:16])
    local = f"{(hours * 60 + minutes + 330) // 60 % 24:02}:{(minutes + 30) % 60:02}:{started[17:19]}"
    assert f"--- iteration 1 (1 of 50 in this run), {local}" in done.stdout
    assert "UTC" not in done.stdout
    status = scratch.ralph("--status").stdout
    assert "UTC" not in status
    assert re.search(rf"^1  no promise .* {local}", status, re.MULTILINE)


def test_iterations_are_set_apart_and_a_traceback_keeps_its_lines(scratch: Scratch) -> None:
    scratch.script([{"run": ["python3", "-c", "def f():\n    raise KeyError('x')\nf()"]}], [COMPLETE])
    said = scratch.ralph("Go", "--harness", "scripted", "--verbose").stdout
    assert "\n\n--- iteration 2 " in said
    assert re.search(r'^    Traceback .*\n      File "<string>", line 3, in <module>\n', said, re.MULTILINE)


def test_notes_say_how_long_they_stay(scratch: Scratch) -> None:
    said = scratch.ralph("--add-context", "Mind the gap").stdout
    assert "every later prompt includes it" in said
    assert f"spool ralph --clear-context --change {CHANGE}" in said


def test_a_finished_change_is_asked_about_before_it_costs_more(scratch: Scratch) -> None:
    scratch.script([COMPLETE])
    words = ["ralph", "Go", "-c", CHANGE, "--harness", "scripted"]
    assert scratch.spool(*words).returncode == 0
    screen, exit_code = on_a_terminal(scratch, words, answers=[(b"Run another iteration?", b"n")])
    assert exit_code == 0, screen
    assert len(scratch.history()) == 1
    screen, exit_code = on_a_terminal(scratch, words, answers=[(b"Run another iteration?", b"y")])
    assert exit_code == 0, screen
    assert len(scratch.history()) == 2
    screen, exit_code = on_a_terminal(scratch, [*words, "--no-interactive"], answers=[])
    assert exit_code == 0, screen
    assert len(scratch.history()) == 3


@pytest.mark.parametrize(
    ("step", "next_command"),
    [
        ({"denied": "Write"}, "--harness scripted --allow-all"),
        ({"error": "Invalid API key", "error_kind": "auth"}, "then: spool ralph Go"),
        ({"error": "no such model", "error_kind": "config"}, "then: spool ralph Go"),
    ],
)
def test_what_only_a_person_can_mend_ends_the_loop_at_once(
    scratch: Scratch, step: dict[str, str], next_command: str
) -> None:
    scratch.script([step])
    done = scratch.spool("ralph", "Go", "-c", CHANGE, "--harness", "scripted")
    assert done.returncode == 4, done.stdout
    assert len(scratch.history()) == 1
    assert scratch.load_state()["status"] == "stuck"
    assert next_command in done.stderr
    done = scratch.spool("run", CHANGE, "--harness", "scripted")
    assert done.returncode == 4
    again = scratch.ralph("Go", "--harness", "scripted", "--error-threshold", "0", "--max-iterations", "2")
    assert (again.returncode, len(scratch.history())) == (3, 3)


@pytest.mark.parametrize("words", [[], ["--detach"]])
def test_a_script_that_is_not_there_is_noticed_before_anything_starts(scratch: Scratch, words: list[str]) -> None:
    done = scratch.ralph("Go", "--harness", "scripted", *words)
    assert done.returncode == 2
    assert "scripted needs a script" in done.stderr
    assert not scratch.state.exists()


def test_a_kill_from_outside_is_still_a_signal(scratch: Scratch) -> None:
    scratch.script([{"say": "Working"}, {"sleep": 600}])
    process = scratch.start("ralph", "Go", "-c", CHANGE, "--harness", "scripted")
    log = scratch.state / "logs" / "0001.out"
    wait_for(lambda: log.exists() and b"Working" in log.read_bytes())
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=PATIENCE_S)
    assert scratch.load_state()["reason"] == "stopped by SIGTERM"
