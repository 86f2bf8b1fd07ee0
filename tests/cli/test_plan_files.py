"""Plan files: any Markdown list is a change."""

import json
import os
import re
import signal
import stat
from pathlib import Path

import pytest

from tests.support import Scratch, wait_for

BOXED = "# Login\n\nSome prose.\n\n## Form\n\n- [ ] write it\n- [ ] test it\n\n## Session\n\n- [ ] keep it\n"
PLAIN = "# Login\n\n## Form\n\n- write it\n- test it\n\n## Session\n\n- keep it\n"
COMPLETE = {"promise": "COMPLETE"}


@pytest.fixture
def empty(scratch: Scratch) -> Scratch:
    """A repository that has never heard of Spool."""
    scratch.git("rm", "-rq", ".spool")
    (scratch.root / "README.md").write_text("# Project\n")
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", "nothing of Spool")
    return scratch


def plan(scratch: Scratch, text: str, path: str = "PLAN.md") -> Path:
    found = scratch.root / path
    found.parent.mkdir(parents=True, exist_ok=True)
    found.write_text(text)
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", "a plan")
    return found


def events(scratch: Scratch, *words: str) -> list[dict[str, object]]:
    done = scratch.spool(*words, "--harness", "scripted", "--json")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_mistyped_plan_is_suggested(empty: Scratch) -> None:
    plan(empty, BOXED, "docs/Login Plan.md")
    done = empty.spool("run", "docs/login-plan.md")
    assert done.returncode == 2
    assert done.stderr == "spool: no such plan file: docs/login-plan.md\n  did you mean: docs/Login Plan.md?\n"
    assert "its path is relative to" in empty.spool("run", "nowhere/x.md").stderr


def test_without_a_change_or_a_plan_the_ways_to_one_are_named(empty: Scratch) -> None:
    for words in (("run",), ("run", "PLAN.txt"), ("list",)):
        done = empty.spool(*words)
        assert done.returncode == 2
        assert "spool new" in done.stderr and "spool run PLAN.md" in done.stderr


def test_the_same_command_on_a_finished_plan_keeps_what_was_proved(empty: Scratch) -> None:
    plan(empty, PLAIN)
    empty.script([{"write": "form.txt", "text": "x"}, COMPLETE], [{"write": "session.txt", "text": "x"}, COMPLETE])
    words = ("run", "PLAN.md", "--harness", "scripted", "--verify", "test -e form.txt")
    first = empty.spool(*words)
    assert first.returncode == 0, first.stdout + first.stderr
    said = [line for line in first.stdout.splitlines() if line.startswith("--- unbroken: ")]
    for _ in range(2):
        again = empty.spool(*words)
        assert again.returncode == 0, again.stdout + again.stderr
        assert said and said[0] in again.stdout.splitlines(), again.stdout
    (empty.root / "form.txt").unlink()
    red = empty.spool(*words)
    assert red.returncode == 4, red.stdout
    assert "no box is open, but a check is red: `test -e form.txt`" in red.stdout


def test_a_test_that_a_later_story_names_does_not_hold_up_an_earlier_one(empty: Scratch) -> None:
    plan(empty, "# Text\n\n## Slugs\n\n- write `slugged`\n\n## Ends\n\n- write `shortened`\n")
    (empty.root / "check.sh").write_text(
        "echo TAP version 13\necho 1..2\nred=0\n"
        "test -e slugged && echo ok 1 - slugged || { echo not ok 1 - slugged; red=1; }\n"
        "test -e shortened && echo ok 2 - shortened || { echo not ok 2 - shortened; red=1; }\n"
        "exit $red\n"
    )
    empty.git("add", "--all")
    empty.git("commit", "--quiet", "--message", "tests")
    made = {name: [{"write": name, "text": "x"}, COMPLETE] for name in ("other", "slugged", "shortened")}
    empty.script(made["other"], made["slugged"], made["shortened"])
    done = empty.spool("run", "PLAN.md", "--harness", "scripted", "--verify", "sh check.sh")
    assert done.returncode == 0, done.stdout + done.stderr
    refused = [
        line.strip() for line in done.stdout.splitlines() if line.endswith(" still fails, and the change names it")
    ]
    assert "slugged still fails, and the change names it" in refused
    assert not any(line.startswith("shortened") for line in refused)


def test_run_ticks_the_boxes_of_a_plan_story_by_story(empty: Scratch) -> None:
    path = plan(empty, BOXED)
    empty.script([{"write": "form.txt", "text": "x"}, {"tick": 2}, COMPLETE], [{"tick": 1}, COMPLETE])
    found = events(empty, "run", "PLAN.md", "--verify", "test -e form.txt", "--allow-empty")
    assert [event["title"] for event in found if event["type"] == "StoryDone"] == ["Form", "Session"]
    assert found[-1]["type"] == "RunEnded" and found[-1]["exit_code"] == 0
    assert path.read_text() == BOXED.replace("[ ]", "[x]")
    prompt = (empty.root / ".spool/.state/run/PLAN.md/logs/0001.prompt.md").read_text()
    assert "tick its box in `PLAN.md`" in prompt and "Some prose." in prompt and "- [ ] 1.1 write it" in prompt


def test_a_plan_whose_boxes_are_open_is_refused_and_a_reworded_task_is_still_open(empty: Scratch) -> None:
    path = plan(empty, "- [ ] write it\n- [ ] test it\n")
    reword = ["python3", "-c", f"open({str(path)!r}, 'w').write('- [x] write it\\n')"]
    empty.script(
        [{"write": "a.txt", "text": "x"}, {"tick": 1}, COMPLETE],
        [{"run": reword}, COMPLETE],
        [{"run": ["python3", "-c", f"open({str(path)!r}, 'a').write('- [x] test it\\n')"]}, COMPLETE],
    )
    found = events(empty, "run", "PLAN.md")
    assert [event["type"] for event in found].count("Retrying") == 2
    for iteration in ("0002", "0003"):
        prompt = (empty.root / f".spool/.state/run/PLAN.md/logs/{iteration}.prompt.md").read_text()
        assert "You said that the work is done, but these tasks are open: 1.2" in prompt
    assert found[-1]["exit_code"] == 0


def test_plain_items_are_left_alone_and_spool_keeps_what_is_done(empty: Scratch) -> None:
    path = plan(empty, PLAIN)
    empty.script([{"write": "form.txt", "text": "x"}, COMPLETE], [{"promise": "FAILED: no"}])
    first = empty.spool("run", "PLAN.md", "--harness", "scripted", "--max-retries", "0")
    assert first.returncode == 1
    assert "Items without a box" in first.stderr
    assert path.read_text() == PLAIN
    shown = json.loads(empty.spool("stories", "PLAN.md", "--json").stdout)
    assert [story["complete"] for story in shown["stories"]] == [True, False]
    prompt = (empty.root / ".spool/.state/run/PLAN.md/logs/0001.prompt.md").read_text()
    assert "have no boxes: leave that file as it is" in prompt and "- 1.1 write it" in prompt
    empty.script([], [], [COMPLETE])
    found = events(empty, "run", "PLAN.md")
    assert [event["title"] for event in found if event["type"] == "StoryDone"] == ["Session"]
    assert path.read_text() == PLAIN
    assert events(empty, "run", "PLAN.md")[-1]["exit_code"] == 0
    empty.script([COMPLETE])
    again = events(empty, "run", "PLAN.md", "--fresh")
    assert [event["title"] for event in again if event["type"] == "StoryDone"] == ["Form", "Session"]
    report = empty.spool("report", "PLAN.md").stdout
    assert "failed" not in report, report


def test_a_reverted_story_of_plain_items_is_not_done(empty: Scratch) -> None:
    plan(empty, "- write it\n")
    empty.script([{"write": "half.txt", "text": "x"}, {"promise": "FAILED: stuck"}], [COMPLETE])
    found = events(empty, "run", "PLAN.md")
    kinds = [event["type"] for event in found]
    assert kinds.index("Reverted") < kinds.index("StoryDone")
    assert not (empty.root / "half.txt").exists()


def test_tick_adds_boxes_and_keeps_everything_else(empty: Scratch) -> None:
    text = PLAIN.replace("\n", "\r\n")
    path = empty.root / "PLAN.md"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    path.chmod(0o640)
    empty.git("add", "--all")
    empty.git("commit", "--quiet", "--message", "a plan")
    empty.script([{"tick": 2}, COMPLETE], [{"tick": 1}, COMPLETE])
    found = events(empty, "run", "PLAN.md", "--tick")
    assert found[-1]["exit_code"] == 0
    assert path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n") == PLAIN.replace("- ", "- [x] ")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_steps_that_are_headings_run_one_by_one(empty: Scratch) -> None:
    text = "# Login\n\n## Step 1: Add the model\n\nA table.\n\n## Step 2: Show it\n\nA page.\n"
    plan(empty, text)
    assert "no place for boxes" in empty.spool("run", "PLAN.md", "--tick").stderr
    empty.script([{"write": "one.txt"}, COMPLETE], [{"write": "two.txt"}, COMPLETE])
    found = events(empty, "run", "PLAN.md")
    assert found[-1]["exit_code"] == 0
    done = [one["title"] for one in found if one["type"] == "StoryDone"]
    assert done == ["Step 1: Add the model", "Step 2: Show it"]
    assert (empty.root / "PLAN.md").read_text() == text


def test_a_document_without_steps_is_refused_with_the_next_step(empty: Scratch) -> None:
    plan(empty, "# Design\n\n## Storage\n\nRows.\n\n## Interface\n\nA page.\n")
    done = empty.spool("run", "PLAN.md")
    assert (done.returncode, "has no list of tasks" in done.stderr) == (2, True)
    assert "## Step 1: Add a login form" in " ".join(done.stderr.split())


def test_tick_is_for_plan_files(scratch: Scratch) -> None:
    done = scratch.run("--tick")
    assert done.returncode == 2
    assert "is not a plan file" in done.stderr


def test_ralph_loops_over_a_plan_until_its_boxes_are_ticked(empty: Scratch) -> None:
    plan(empty, BOXED, "docs/plan.md")
    empty.script([{"write": "a.txt", "text": "x"}, {"tick": 2}, COMPLETE], [{"tick": 1}, COMPLETE])
    words = ("ralph", "Do it", "--plan", "plan.md", "--harness", "scripted", "--gate", "tasks")
    done = empty.spool(*words, cwd=empty.root / "docs")
    assert done.returncode == 0, done.stderr
    state = empty.root / ".spool/.state/ralph/docs_-plan.md"
    assert len((state / "history.jsonl").read_text().splitlines()) == 2
    assert "The task list is `docs/plan.md`." in (state / "logs/0001.prompt.md").read_text()


@pytest.mark.parametrize("words", [("--plan", "PLAN.md"), ("PLAN.md",)])
def test_ralph_needs_no_prompt_for_a_plan(empty: Scratch, words: tuple[str, ...]) -> None:
    plan(empty, PLAIN)
    empty.script([{"write": "a.txt", "text": "x"}, COMPLETE])
    done = empty.spool("ralph", *words, "--harness", "scripted", "--gate", "tasks")
    assert done.returncode == 0, done.stderr
    shown = json.loads(empty.spool("stories", "PLAN.md", "--json").stdout)
    assert shown["completed"] == 2
    prompt = (empty.root / ".spool/.state/ralph/PLAN.md/logs/0001.prompt.md").read_text()
    assert "Implement the plan." in prompt and "Its items have no boxes" in prompt


@pytest.mark.parametrize("words", [("run", "PLAN.md"), ("ralph", "--plan", "PLAN.md")], ids=["run", "ralph"])
def test_items_without_a_box_count_once_they_are_accepted(empty: Scratch, words: tuple[str, ...]) -> None:
    plan(empty, PLAIN)
    empty.script(*([[{"write": f"{name}.txt", "text": "x"}, COMPLETE] for name in ("form", "session")]))
    done = empty.spool(*words, "--harness", "scripted")
    assert done.returncode == 0, done.stdout + done.stderr
    for form in ((), ("--markdown",)):
        assert re.search(r"Boxes\W+3 of 3 ticked, 0 at the start", empty.spool("report", *form).stdout)
    (loop,) = json.loads(empty.spool("report", "--json").stdout)["loops"]
    over_time = {"run": [0, 2, 3], "ralph": [0, 3]}[words[0]]
    assert [(point["done"], point["total"]) for point in loop["account"]["boxes"]] == [(one, 3) for one in over_time]


def test_a_plan_that_says_nothing_new_is_no_work(empty: Scratch) -> None:
    plan(empty, "- [ ] write it\n")
    empty.script([{"tick": 1}, COMPLETE])
    found = events(empty, "run", "PLAN.md", "--verify", "true", "--max-retries", "0")
    assert found[-1]["exit_code"] == 1
    assert "no files changed except the plan" in json.dumps(found)


def test_a_loop_on_a_plan_is_found_watched_stopped_and_continued(empty: Scratch) -> None:
    plan(empty, BOXED, "docs/plan.md")
    empty.script([{"say": "Working"}, {"sleep": 600}])
    started = empty.spool("run", "docs/plan.md", "--harness", "scripted", "--detach")
    assert started.returncode == 0, started.stderr
    log = empty.root / ".spool/.state/run/docs_-plan.md/logs/0001.out"
    wait_for(lambda: log.exists() and b"Working" in log.read_bytes())
    assert "docs_-plan.md" in empty.spool("ps").stdout
    assert "iteration 1" in empty.spool("run", "docs/plan.md", "--status").stdout.lower()
    assert "Working" in empty.spool("logs", "docs/plan.md").stdout
    second = empty.spool("run", "docs/plan.md", "--harness", "scripted")
    assert second.returncode == 1
    assert "watch it with: spool attach" in second.stderr
    assert empty.spool("run", "--status", "--change", "docs_-plan.md").returncode == 0
    assert empty.spool("stop", "docs/plan.md").returncode == 0
    empty.script([], [{"tick": 2}, COMPLETE], [{"tick": 1}, COMPLETE])
    found = events(empty, "run", "docs/plan.md")
    assert found[-1]["exit_code"] == 0
    assert "docs/plan.md" not in empty.git("ls-files", "--others")


def test_ctrl_c_says_how_to_continue(empty: Scratch) -> None:
    plan(empty, BOXED)
    empty.script([{"say": "Working"}, {"sleep": 600}])
    with (empty.home / "err").open("wb") as err:
        process = empty.start("run", "PLAN.md", "--harness", "scripted", stderr=err)
        log = empty.root / ".spool/.state/run/PLAN.md/logs/0001.out"
        wait_for(lambda: log.exists() and b"Working" in log.read_bytes())
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
    assert "spool run PLAN.md --harness scripted" in (empty.home / "err").read_text()


def test_commits_take_the_plan_along(empty: Scratch) -> None:
    (empty.root / "PLAN.md").write_text(BOXED)  # a plan of today is not committed yet
    empty.script([{"write": "a.txt", "text": "x"}, {"tick": 2}, COMPLETE], [{"tick": 1}, COMPLETE])
    found = events(empty, "run", "PLAN.md", "--commit-stories")
    assert found[-1]["exit_code"] == 0
    assert empty.git("log", "--format=%s", "-2").splitlines() == ["Story 2: Session", "Story 1: Form"]
    assert empty.git("status", "--short") == ""


def test_an_ignored_plan_is_reverted_like_any_other(empty: Scratch) -> None:
    (empty.root / ".gitignore").write_text("PLAN.md\n")
    empty.git("add", "--all")
    empty.git("commit", "--quiet", "--message", "ignore plans")
    (empty.root / "PLAN.md").write_text("- [ ] write it\n")
    empty.script([{"tick": 1}, {"promise": "FAILED: no"}], [{"tick": 1}, {"write": "a.txt", "text": "x"}, COMPLETE])
    found = events(empty, "run", "PLAN.md")
    assert found[-1]["exit_code"] == 0
    assert (empty.root / "a.txt").exists()


def test_a_verification_by_hand_takes_a_plan(empty: Scratch) -> None:
    plan(empty, BOXED)
    done = empty.spool("verify", "PLAN.md", "--gate", "tasks")
    assert done.returncode == 1
    assert "0 of 3 boxes are ticked" in done.stdout


LARGE = "- [ ] a\n" * (5 << 17)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "PLAN.md is empty"),
        (b"# Title\n\nprose\n", "PLAN.md has no list of tasks"),
        (b"- caf\xe9\n", "PLAN.md is not UTF-8 text (byte 5)"),
        (LARGE.encode(), "is larger than 1 MiB"),
    ],
    ids=["empty", "no list", "latin-1", "5 MB"],
)
@pytest.mark.parametrize("words", [("run", "PLAN.md"), ("ralph", "--plan", "PLAN.md"), ("stories", "PLAN.md")])
def test_a_plan_that_cannot_be_read(empty: Scratch, content: bytes, complaint: str, words: tuple[str, ...]) -> None:
    (empty.root / "PLAN.md").write_bytes(content)
    done = empty.spool(*words)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert not (empty.root / ".spool").exists()


@pytest.mark.parametrize("place", ["worktree", "clone"])
def test_a_plan_runs_in_a_workspace_of_its_own(empty: Scratch, place: str) -> None:
    path = plan(empty, BOXED, "docs/plan.md")
    empty.script([{"write": "a.txt", "text": "x"}, {"tick": 2}, COMPLETE], [{"tick": 1}, COMPLETE])
    found = events(empty, "run", "docs/plan.md", "--in", place, "--commit-stories")
    assert found[-1]["exit_code"] == 0, found[-1]
    assert path.read_text() == BOXED and not (empty.root / "a.txt").exists()
    assert empty.git("show", "change/docs_-plan.md:docs/plan.md") == BOXED.replace("[ ]", "[x]")


def test_several_plans_run_one_after_the_other(empty: Scratch) -> None:
    plan(empty, "- [ ] write it\n", "A.md")
    (empty.root / "B.md").write_text("- [ ] write that\n")  # not committed: it is brought along
    empty.script([{"write": "a.txt", "text": "x"}, {"tick": 1}, COMPLETE])
    done = empty.spool("run", "A.md", "B.md", "--harness", "scripted", "--commit-stories")
    assert done.returncode == 0, done.stdout + done.stderr
    assert empty.git("show", "change/B.md:B.md") == "- [x] write that\n"


@pytest.mark.parametrize("act", [{"delete": "PLAN.md"}, {"write": "PLAN.md", "text": ""}])
def test_an_agent_that_destroys_the_plan_is_not_done(empty: Scratch, act: dict[str, str]) -> None:
    path = plan(empty, BOXED)
    empty.script([act, COMPLETE], [{"promise": "FAILED: sorry"}], [{"tick": 2}, COMPLETE], [{"tick": 1}, COMPLETE])
    done = empty.spool("run", "PLAN.md", "--harness", "scripted", "--max-retries", "1")
    assert done.returncode not in (0, 2), done.stdout
    assert "internal error" not in done.stderr
    path.write_text(BOXED)
    assert empty.spool("run", "PLAN.md", "--harness", "scripted", "--on-resume", "keep").returncode == 0


def test_a_plan_outside_or_behind_a_link_is_refused(empty: Scratch) -> None:
    outside = empty.home / "PLAN.md"
    outside.write_text(BOXED)
    (empty.root / "LINK.md").symlink_to(outside)
    assert f"is outside of {empty.root}" in empty.spool("run", str(outside)).stderr
    assert "LINK.md is a link" in empty.spool("run", "LINK.md").stderr
    missing = empty.spool("run", "docs/NONE.md")
    assert (missing.returncode, "no such plan file: docs/NONE.md" in missing.stderr) == (2, True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_read_only_plan_is_refused_where_boxes_are_ticked_in_it(empty: Scratch) -> None:
    path = plan(empty, BOXED)
    path.chmod(0o444)
    assert "PLAN.md is read-only" in empty.spool("run", "PLAN.md").stderr


def test_completion_offers_plans(empty: Scratch) -> None:
    plan(empty, BOXED, "docs/plan.md")
    env = {"_SPOOL_COMPLETE": "bash_complete", "COMP_WORDS": "spool run docs/", "COMP_CWORD": "2"}
    assert "plain,docs/plan.md" in empty.spool(env=env).stdout


def test_prd_json_is_marked_by_spool_and_an_agents_own_mark_is_taken_back(empty: Scratch) -> None:
    stories = [
        {"id": "US-1", "title": "Store it", "acceptanceCriteria": ["form.txt is there"], "passes": False, "notes": ""},
        {"id": "US-2", "title": "Show it", "passes": False, "notes": ""},
    ]
    path = plan(empty, json.dumps({"userStories": stories}, indent=1), "prd.json")
    lie = json.dumps({"userStories": [{**one, "passes": True} for one in stories]}, indent=1)
    empty.script(
        [{"write": "form.txt", "text": "x"}, {"write": "prd.json", "text": lie}, COMPLETE],
        [{"promise": "FAILED"}],
    )
    done = empty.spool("run", "prd.json", "--harness", "scripted", "--verify", "test -e form.txt", "--max-retries", "0")
    assert done.returncode == 1, done.stdout + done.stderr
    first, second = json.loads(path.read_text())["userStories"]
    assert (first["passes"], second["passes"], second["notes"]) == (True, False, "")
    assert first["notes"].startswith("Spool: ")
    prompt = (empty.root / ".spool/.state/run/prd.json/logs/0001.prompt.md").read_text()
    assert "It is accepted when this holds:\n\n- form.txt is there" in prompt
