"""`spool run`, `spool stories` and `spool checkpoint` beyond the specification's scenarios."""

import json
import shlex
import subprocess
import sys

import pytest

from tests.cli.stories import COMPLETE, TASKS, TICK, stopped_in_story_one, types
from tests.support import CHANGE, PATIENCE_S, Scratch, wait_for


@pytest.fixture
def stories(scratch: Scratch) -> Scratch:
    (scratch.change / "tasks.md").write_text(TASKS)
    scratch.git("commit", "--quiet", "--all", "--message", "two stories")
    return scratch


def test_complete_with_open_boxes_keeps_the_work_and_names_them(stories: Scratch) -> None:
    stories.script([{"write": "a.txt", "text": "kept"}, TICK, COMPLETE], [TICK, COMPLETE], [TICK, COMPLETE])
    events = stories.run_events()
    assert "Reverted" not in types(events)
    assert types(events).count("Retrying") == 1
    prompt = (stories.run_state / "logs" / "0002.prompt.md").read_text()
    assert "You said that the work is done, but these tasks are open: 1.2" in prompt
    assert (stories.root / "a.txt").read_text() == "kept"


def test_a_story_whose_boxes_were_ticked_with_a_promise_for_later_is_retried(stories: Scratch) -> None:
    later = {"say": "I will print `<promise>COMPLETE</promise>` at the end, not yet"}
    stories.script([{"tick": 2}, later], [COMPLETE], [TICK, COMPLETE])
    events = stories.run_events()
    assert [event["story_id"] for event in events if event["type"] == "StoryDone"] == ["1", "2"]
    assert [(event["story_id"], event["attempt"]) for event in events if event["type"] == "Retrying"] == [("1", 2)]
    outcomes = [event["record"]["outcome"] for event in events if event["type"] == "IterationEnded"]
    assert outcomes == ["no promise", "completed", "completed"]


def test_a_story_whose_boxes_were_ticked_before_a_kill_is_not_complete_without_its_promise(stories: Scratch) -> None:
    stories.script([{"tick": 2}, {"say": "Working"}, {"sleep": 600}])
    process = stories.start("run", CHANGE, "--harness", "scripted")
    log = stories.run_state / "logs" / "0001.out"
    wait_for(lambda: log.exists() and b"Working" in log.read_bytes())
    process.kill()
    process.wait(timeout=120)
    stories.script([], [COMPLETE], [TICK, COMPLETE])
    events = stories.run_events()
    assert [event["story_id"] for event in events if event["type"] == "StoryDone"] == ["1", "2"]


def test_a_box_that_a_person_ticks_after_a_stop_counts(stories: Scratch) -> None:
    stopped_in_story_one(stories)
    tasks = stories.change / "tasks.md"
    tasks.write_text(tasks.read_text().replace("[ ] 1.", "[x] 1."))
    stories.script([], [TICK, COMPLETE])
    events = stories.run_events()
    assert [event["story_id"] for event in events if event["type"] == "StoryDone"] == ["2"]
    assert types(events)[-1] == "RunEnded"
    assert "Complete" in types(events)


def test_where_the_agent_ticked_all_boxes_itself_every_face_says_that_it_is_its_word(stories: Scratch) -> None:
    stories.script([{"write": "a.txt", "text": "x"}, {"tick": 2}, COMPLETE], [TICK, COMPLETE])
    said = stories.run().stdout
    assert "--- nothing will be checked: --verify CMD, or spool init\n" in said
    assert "=== story 1 is complete on the agent's word: Form\n" in said
    rests_on = "done on the agent's word: tasks: all boxes are ticked; no test was run; --verify CMD checks"
    assert f"--- {rests_on}\n" in said
    assert f"Checked   {rests_on}\n" in stories.spool("run", "--status", "--change", CHANGE).stdout
    assert "on the agent's word: all stories are complete" in stories.spool("ps", "--all").stdout
    report = stories.spool("report").stdout
    assert report.splitlines()[1].startswith("~ done: all stories are complete; done on the agent's word")
    assert "Stories  2 agent's word" in report
    assert stories.spool("report", "--markdown").stdout.count("| agent's word |") == 2
    assert json.loads(stories.spool("report", "--json").stdout)["loops"][0]["account"]["proof"] == "agent's word"
    status = json.loads(stories.spool("run", "--status", "--json", "--change", CHANGE).stdout)
    assert status["state"]["memory"]["proof"] == "agent's word"
    assert {record["proof"] for record in status["recent"]} == {"agent's word"}
    for face in (said, report, json.dumps(status)):
        assert "unbroken" not in face


def test_a_check_is_named_at_the_start_by_its_absence_only(stories: Scratch) -> None:
    stories.script([{"write": "a.txt", "text": "x"}, {"tick": 2}, COMPLETE], [{"write": "b.txt"}, TICK, COMPLETE])
    assert "nothing will be checked" not in stories.run("--verify", "true").stdout


def test_commit_stories_makes_one_commit_for_each(stories: Scratch) -> None:
    stories.script([{"write": "form.txt", "text": "x"}, {"tick": 2}, COMPLETE], [TICK, COMPLETE])
    events = stories.run_events("--commit-stories")
    assert stories.git("log", "--format=%s", "-2").splitlines() == ["Story 2: Login", "Story 1: Form"]
    commits = [event["commit"] for event in events if event["type"] == "StoryDone"]
    assert commits == stories.git("log", "--format=%H", "-2").split()[::-1]
    assert ".state" not in stories.git("ls-files")


def test_after_a_stop_the_story_starts_again_from_its_checkpoint(stories: Scratch) -> None:
    stopped_in_story_one(stories)
    assert json.loads(stories.spool("checkpoint", "list", "--json").stdout)["checkpoints"][0]["change"] == CHANGE
    stories.script([], [{"run": ["test", "!", "-e", "half.txt"]}, {"tick": 2}, COMPLETE], [TICK, COMPLETE])
    events = stories.run_events()
    assert types(events).count("Reverted") == 1
    assert types(events)[-1] == "RunEnded"
    assert not (stories.root / "half.txt").exists()
    assert "Complete" in types(events)


def test_an_explicit_revert_sets_aside_what_a_person_did_and_reports_it(stories: Scratch) -> None:
    stopped_in_story_one(stories)
    (stories.root / "mine.txt").write_text("mine\n")
    stories.git("add", "mine.txt")
    stories.git("commit", "--quiet", "--message", "my own commit")
    stories.script([], [{"tick": 2}, COMPLETE], [TICK, COMPLETE])
    events = stories.run_events("--on-resume", "revert")
    [reverted] = [event for event in events if event["type"] == "Reverted"]
    assert reverted["resumed"]
    assert "Complete" in types(events)
    stories.git("checkout", "--quiet", "--", ".")
    assert stories.spool("checkpoint", "restore", reverted["kept_as"]).returncode == 0
    assert (stories.root / "mine.txt").read_text() == "mine\n"
    assert "my own commit" in stories.git("log", "-1", "--format=%s")


def test_on_resume_keep_goes_on_from_the_tree_as_it_is(stories: Scratch) -> None:
    stopped_in_story_one(stories)
    stories.script([], [{"tick": 2}, COMPLETE], [TICK, COMPLETE])
    events = stories.run_events("--on-resume", "keep")
    assert "Reverted" not in types(events)
    assert (stories.root / "half.txt").exists()
    assert "Complete" in types(events)


def test_after_kill_9_the_same_command_goes_on_with_the_story(stories: Scratch) -> None:
    stories.script([{"write": "half.txt", "text": "half"}, {"say": "Working"}, {"sleep": 600}])
    process = stories.start("run", CHANGE, "--harness", "scripted")
    log = stories.run_state / "logs" / "0001.out"
    wait_for(lambda: log.exists() and b"Working" in log.read_bytes())
    process.kill()
    process.wait()
    stories.script([], [{"tick": 2}, COMPLETE], [TICK, COMPLETE])
    events = stories.run_events()
    assert [event["story_id"] for event in events if event["type"] == "StoryProgress"] == ["1", "2"]
    assert "Reverted" not in types(events)
    assert types(events).count("TreeKept") == 1
    assert (stories.root / "half.txt").exists()
    records = [json.loads(line) for line in (stories.run_state / "history.jsonl").read_text().splitlines()]
    assert [(record["iteration"], record["outcome"]) for record in records] == [
        (1, "interrupted"),
        (2, "completed"),
        (3, "completed"),
    ]


def test_a_discarded_attempt_can_be_looked_at_and_brought_back(stories: Scratch) -> None:
    stories.script(
        [{"write": "idea.txt", "text": "a good idea\n"}, {"promise": "FAILED: tired"}], [{"tick": 2}, COMPLETE]
    )
    events = stories.run_events()
    kept = next(event["kept_as"] for event in events if event["type"] == "Reverted")
    assert kept in stories.spool("checkpoint", "list").stdout
    assert "idea.txt" in stories.spool("checkpoint", "show", kept).stdout
    assert "+a good idea" in stories.spool("checkpoint", "diff", kept).stdout
    assert not (stories.root / "idea.txt").exists()
    done = stories.spool("checkpoint", "restore", kept)
    assert done.returncode == 0, done.stderr
    assert (stories.root / "idea.txt").read_text() == "a good idea\n"
    assert "is kept as" in done.stdout


def test_an_unknown_attempt_is_an_error(stories: Scratch) -> None:
    done = stories.spool("checkpoint", "show", "nothing")
    assert done.returncode == 1
    assert "spool checkpoint list" in done.stderr


def test_stories_shows_what_is_done_and_what_is_next(stories: Scratch) -> None:
    (stories.change / "tasks.md").write_text(TASKS.replace("[ ] 1.", "[x] 1.") + "- [?] 2.2 Ask\n")
    told = stories.spool("stories", CHANGE).stdout
    assert "done  1  Form" in told
    assert "next  2  Login" in told
    assert "[?] 2.2 Ask  (for a person)" in told
    as_json = json.loads(stories.spool("stories", CHANGE, "--json").stdout)
    assert (as_json["completed"], as_json["total"], as_json["next"]) == (1, 2, "2")
    assert [story["complete"] for story in as_json["stories"]] == [True, False]


def test_a_half_planned_change_is_reported_before_anything_is_written(stories: Scratch) -> None:
    (stories.change / "tasks.md").unlink()
    for words in (("run", CHANGE, "--harness", "scripted"), ("stories", CHANGE)):
        done = stories.spool(*words)
        assert done.returncode == 2
        assert "half-planned" in done.stderr
    assert not stories.run_state.exists()


def test_run_needs_git(stories: Scratch) -> None:
    import shutil

    shutil.rmtree(stories.root / ".git")
    stories.script([COMPLETE])
    done = stories.run()
    assert done.returncode == 1
    assert "a git repository is required" in done.stderr
    assert not stories.run_state.exists()


def test_nothing_is_left_to_do(stories: Scratch) -> None:
    (stories.change / "tasks.md").write_text(TASKS.replace("[ ]", "[x]"))
    stories.script([{"say": "The agent must not start."}])
    done = stories.run("--json")
    assert done.returncode == 0
    assert "IterationStarted" not in done.stdout


def test_learnings_survive_a_revert_and_are_named_in_every_prompt(stories: Scratch) -> None:
    learnings = f".spool/.state/run/{CHANGE}/learnings.md"
    stories.script(
        [{"append": learnings, "text": "The port is 8080.\n"}, {"promise": "FAILED: no"}],
        [{"tick": 2}, COMPLETE],
        [TICK, COMPLETE],
    )
    stories.run_events()
    assert (stories.root / learnings).read_text() == "The port is 8080.\n"
    for iteration in (1, 2, 3):
        assert learnings in (stories.run_state / "logs" / f"{iteration:04d}.prompt.md").read_text()


def test_status_of_a_run(stories: Scratch) -> None:
    stories.script([{"promise": "FAILED: no"}], [{"tick": 2}, COMPLETE], [TICK, COMPLETE])
    stories.run()
    told = stories.spool("run", "--status", "-c", CHANGE).stdout
    assert "Story     2 Login (2 of 2)" in told
    assert "1.2" in told
    assert "failed" in told


def test_a_rate_limit_spends_no_retry(stories: Scratch) -> None:
    limited: list[dict[str, object]] = [
        {"error": "slow down", "error_kind": "rate_limit", "retry_after_s": 1.0},
        {"exit": 1},
    ]
    stories.script(limited, limited, [{"tick": 2}, COMPLETE], [TICK, COMPLETE])
    events = stories.run_events("--max-retries", "0")
    assert types(events).count("Waiting") == 2
    assert "Complete" in types(events)


def test_the_json_reader_may_go_away(stories: Scratch) -> None:
    stories.script([{"say": "x" * 100_000}, {"tick": 2}, COMPLETE], [TICK, COMPLETE])
    reader = [sys.executable, "-c", "import sys; sys.stdin.readline()"]
    process = stories.start("run", CHANGE, "--harness", "scripted", "--json", stdout=subprocess.PIPE)
    subprocess.run(reader, stdin=process.stdout, check=True)
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(timeout=PATIENCE_S) == 0


def test_two_waves_of_one_number_are_two_stories_and_end(stories: Scratch) -> None:
    wave = "## Wave 1: {0}\n### Task 1.{1}: {0}\n- **Status**: [ ] pending\n"
    (stories.change / "tasks.md").write_text(wave.format("one", 1) + wave.format("two", 2))
    stories.agent(
        "import os, pathlib\n"
        "tasks = pathlib.Path(os.environ['SPOOL_CHANGE_DIR']) / 'tasks.md'\n"
        "tasks.write_text(tasks.read_text().replace('[ ] pending', '[x] complete', 1))\n"
        "print('<promise>COMPLETE</promise>')\n"
    )
    done = stories.spool("run", CHANGE, "--json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert [event["story_id"] for event in events if event["type"] == "StoryProgress"] == ["1", "1-2"]


REMOVALS = {
    "tasks.unlink()": "Reverted",
    "tasks.parent.rename('elsewhere')": "Reverted",
    "tasks.write_text('- [x] x')": "Retrying",
    "cut(tasks)": "Retrying",
}


@pytest.mark.parametrize("attack", REMOVALS)
def test_an_agent_that_removes_its_own_tasks_has_not_done_them(stories: Scratch, attack: str) -> None:
    stories.agent(
        "import os, pathlib\n"
        "tasks = pathlib.Path(os.environ['SPOOL_CHANGE_DIR']) / 'tasks.md'\n"
        "def cut(path):\n"
        "    path.write_text(path.read_text().replace('- [ ] 1.2 Test\\n', '').replace('[ ] 1.1', '[x] 1.1'))\n"
        f"{attack}\n"
        "print('<promise>COMPLETE</promise>')\n"
    )
    done = stories.spool("run", CHANGE, "--json", "--max-retries", "1")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1, done.stdout
    assert types(events).count(REMOVALS[attack]) == 1


@pytest.mark.parametrize("through", ["", "| tee "])
def test_events_led_into_the_tree_survive_every_revert(stories: Scratch, through: str) -> None:
    """The revert left 2 of 26 events: it replaced the file under its writer."""
    stories.script(
        [{"write": "idea.txt", "text": "an idea\n"}, {"promise": "FAILED: tired"}],
        [{"tick": 2}, COMPLETE],
        [TICK, COMPLETE],
    )
    command = shlex.join(stories.argv("run", CHANGE, "--harness", "scripted", "--json"))
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} {through or '> '}events.jsonl"],
        cwd=stories.root, env=stories.env, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in (stories.root / "events.jsonl").read_text().splitlines()]
    kinds = [event["type"] for event in events]
    assert "Reverted" in kinds
    assert kinds[-1] == "RunEnded"
    named = [event for event in events if "events.jsonl is being written" in event.get("message", "")]
    assert len(named) == 1
    assert not (stories.root / "idea.txt").exists()


def test_a_revert_that_git_does_not_finish_is_never_recommended_and_the_next_run_finishes_it(stories: Scratch) -> None:
    (stories.root / "form.txt").write_text("mine\n")
    stories.git("add", "form.txt")
    stories.git("commit", "--quiet", "--message", "a form")
    stories.script([{"write": "form.txt", "text": "agent\n"}, {"promise": "FAILED: tired"}], [{"tick": 2}, COMPLETE])
    folder, hangs = stories.home / "slow", stories.home / "hangs"
    folder.mkdir()
    hangs.touch()
    path = stories.env["PATH"]
    (folder / "git").write_text(
        f'#!/bin/sh\nPATH="{path}"\n'
        f'case " $* " in *" checkout-index "*) [ ! -e "{hangs}" ] || sleep 3600;; esac\nexec git "$@"\n'
    )
    (folder / "git").chmod(0o755)
    slow = {**stories.env, "PATH": f"{folder}:{path}"}
    words = ("run", CHANGE, "--harness", "scripted", "--max-retries", "1", "--command-timeout", "5")
    cut = stories.spool(*words, env=slow)
    assert cut.returncode not in (0, None)
    assert "--on-resume keep" not in cut.stdout + cut.stderr
    assert "the tree is only partly restored" in cut.stdout + cut.stderr
    listed = stories.spool("checkpoint", "list")
    assert f"The restore of {CHANGE} was cut short" in listed.stderr
    hangs.unlink()
    stories.script([{"run": ["grep", "-q", "mine", "form.txt"]}, {"tick": 2}, COMPLETE], [TICK, COMPLETE])
    done = stories.spool("run", CHANGE, "--harness", "scripted", "--on-resume", "keep")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"the restore of {CHANGE} had been cut short, and is finished" in done.stdout + done.stderr
    assert (stories.root / "form.txt").read_text() == "mine\n"
