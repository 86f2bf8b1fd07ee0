"""`spool run A B C --parallel N`: several loops, one screen, one stream, one exit code."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import PATIENCE_S, Scratch, make_scratch, wait_for
from tests.support.terminal import terminal
from tests.support.worktrees import is_gone

AGENT = """
import json, os, pathlib, re, subprocess, sys, time
sys.stdin.read()
change, folder = os.environ["SPOOL_CHANGE"], pathlib.Path(os.environ["SPOOL_CHANGE_DIR"])
home = pathlib.Path(os.environ["HOME"])
with open(home / "order", "a") as file:
    file.write(f"start {change}\\n")
plan = json.loads((home / "plan.json").read_text()).get(change, {})
for name in plan.get("wait_for", []):
    while not (home / name).exists():
        time.sleep(0.02)
(home / f"started-{change}").touch()
if plan.get("hang"):
    time.sleep(300)
for name, text in plan.get("write", {change + ".txt": change}).items():
    pathlib.Path(name).write_text(text)
if plan.get("needs"):
    assert pathlib.Path(plan["needs"]).exists(), plan
if plan.get("fail"):
    print("<promise>FAILED: " + plan["fail"] + "</promise>")
else:
    tasks = folder / "tasks.md"
    tasks.write_text(tasks.read_text().replace("- [ ]", "- [x]"))
    print("<promise>COMPLETE</promise>")
with open(home / "order", "a") as file:
    file.write(f"end {change}\\n")
"""


class Batch:
    """A repository with several changes, and an agent that follows a plan for each."""

    def __init__(self, scratch: Scratch) -> None:
        self.scratch = scratch
        scratch.agent(AGENT)
        subprocess.run(["rm", "-r", scratch.change], check=True)
        self.plan()

    def plan(self, **each: dict[str, Any]) -> None:
        (self.scratch.home / "plan.json").write_text(json.dumps(each))

    def write(self, *changes: str, **needs: str) -> None:
        for change in (*changes, *needs):
            folder = self.scratch.root / ".spool" / "changes" / change
            folder.mkdir(parents=True)
            front = f"---\ndepends_on: [{needs[change]}]\n---\n" if needs.get(change) else ""
            (folder / "proposal.md").write_text(f"{front}# {change}\n\nDo it.\n")
            (folder / "tasks.md").write_text("## 1. Do\n\n- [ ] 1.1 it\n")
        self.scratch.git("add", "--all")
        self.scratch.git("commit", "--quiet", "--message", "changes")

    def run(self, *words: str, **kwargs: Any) -> subprocess.CompletedProcess[str]:
        return self.scratch.spool("run", *words, "--harness", "opencode", "--max-retries", "0", **kwargs)

    def start(self, *words: str, **kwargs: Any) -> subprocess.Popen[bytes]:
        return self.scratch.start("run", *words, "--harness", "opencode", "--max-retries", "0", **kwargs)

    def order(self) -> list[str]:
        return (self.scratch.home / "order").read_text().splitlines()

    def started(self, change: str) -> bool:
        return (self.scratch.home / f"started-{change}").exists()

    def files(self, change: str) -> set[str]:
        return set(self.scratch.git("ls-tree", "-r", "--name-only", f"change/{change}").splitlines())

    def state(self, change: str) -> dict[str, Any]:
        path = self.scratch.root / ".spool" / ".state" / "run" / change / "state.json"
        found: dict[str, Any] = json.loads(path.read_text())
        return found


def said_by(command: subprocess.Popen[bytes], *parts: bytes) -> None:
    """Read what a command prints until all parts have come, however they are cut."""
    assert command.stdout is not None
    seen = b""
    while not all(part in seen for part in parts):
        read = os.read(command.stdout.fileno(), 1 << 16)
        assert read, seen
        seen += read


@pytest.fixture
def batch(scratch: Scratch) -> Iterator[Batch]:
    yield Batch(scratch)
    scratch.spool("stop", "--all-projects")


@pytest.mark.parametrize("kind", ["worktree", "clone"])
def test_three_changes_at_once_each_on_its_branch(batch: Batch, kind: str) -> None:
    batch.write("a", "b", "c")
    meet = ["started-a", "started-b", "started-c"]
    batch.plan(**{one: {"wait_for": []} for one in "abc"})
    agent = batch.scratch.bin / "opencode"
    agent.write_text(
        agent.read_text().replace(
            'if plan.get("hang")',
            f"""
for name in {meet!r}:
    while not (home / name).exists():
        time.sleep(0.02)
if plan.get("hang")""",
        )
    )
    done = batch.run("a", "b", "c", "--parallel", "3", "--in", kind)
    assert done.returncode == 0, done.stdout + done.stderr
    for change in "abc":
        assert f"{change}.txt" in batch.files(change)
        assert batch.state(change)["workspace"]["kind"] == kind
    assert batch.scratch.git("status", "--short") == ""


def test_at_most_n_at_a_time(batch: Batch) -> None:
    batch.write("a", "b", "c")
    done = batch.run("a", "b", "c")
    assert done.returncode == 0, done.stderr
    assert batch.order() == [f"{what} {change}" for change in "abc" for what in ("start", "end")]


def test_all_runs_the_open_changes(batch: Batch) -> None:
    batch.write("a", "b")
    tasks = batch.scratch.root / ".spool" / "changes" / "a" / "tasks.md"
    tasks.write_text(tasks.read_text().replace("[ ]", "[x]"))
    batch.scratch.git("commit", "--quiet", "--all", "--message", "a is done")
    done = batch.run("--all")
    assert done.returncode == 0, done.stderr
    assert batch.order() == ["start b", "end b"]


@pytest.mark.parametrize("kind", ["worktree", "clone"])
def test_a_dependant_starts_after_and_from_the_branch_of_its_dependency(batch: Batch, kind: str) -> None:
    batch.write("c", b="c", a="b")
    batch.plan(b={"needs": "c.txt"}, a={"needs": "b.txt"})
    done = batch.run("a", "b", "c", "--parallel", "3", "--in", kind)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line for line in batch.order() if line.startswith("start")] == ["start c", "start b", "start a"]
    assert {"a.txt", "b.txt", "c.txt"} <= batch.files("a")


def test_two_dependencies_are_merged_and_a_conflict_leaves_the_dependant(batch: Batch) -> None:
    batch.write("a", "b", both="a, b", clash="x, y", x="", y="")
    batch.plan(x={"write": {"same.txt": "x"}}, y={"write": {"same.txt": "y"}}, both={"needs": "a.txt"})
    done = batch.run("--all", "--parallel", "4")
    assert done.returncode == 1
    assert {"a.txt", "b.txt", "both.txt"} <= batch.files("both")
    assert "change/x and change/y conflict in same.txt" in done.stdout
    assert not batch.started("clash")


def test_a_failed_dependency_leaves_its_dependants_and_the_rest_goes_on(batch: Batch) -> None:
    batch.write("a", "d", b="a", c="b")
    batch.plan(a={"fail": "cannot"})
    done = batch.run("--all", "--parallel", "2")
    assert done.returncode == 1
    assert "not started: a did not end as done" in done.stdout
    assert "not started: b did not end as done" in done.stdout
    assert "d.txt" in batch.files("d")
    assert not batch.started("b")


def test_a_stuck_dependency_gives_its_exit_code_to_what_waits_for_it(batch: Batch) -> None:
    batch.write("a", b="a")
    batch.plan(a={"hang": True})
    done = batch.run("a", "b", "--max-duration", "3")
    assert done.returncode == 4, done.stdout


def test_a_cycle_and_an_unknown_or_open_dependency_are_usage_errors(batch: Batch) -> None:
    batch.write("z", a="b", b="a", lost="nowhere", open="z")
    cycle = batch.run("a", "b")
    assert (cycle.returncode, "a -> b -> a" in cycle.stderr) == (2, True)
    lost = batch.run("lost", "z")
    assert (lost.returncode, "'nowhere', which is not a change" in lost.stderr) == (2, True)
    missing = batch.run("open", "--parallel", "2")
    assert (missing.returncode, "open depends on z, which is open" in missing.stderr) == (2, True)
    assert not (batch.scratch.home / "order").exists()


def test_one_json_stream_for_all(batch: Batch) -> None:
    batch.write("a", b="a", c="b")
    batch.plan(b={"fail": "cannot"})
    done = batch.run("--all", "--parallel", "2", "--json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    ends = {event["change"]: event["exit_code"] for event in events if event["type"] == "RunEnded"}
    assert ends == {"a": 0, "b": 1}
    skipped = [(event["change"], event["reason"]) for event in events if event["type"] == "NotStarted"]
    assert skipped == [("c", "b did not end as done")]
    runs = {event["change"]: event["run_id"] for event in events if event["type"] == "RunStarted"}
    assert all(event["run_id"] == runs[event["change"]] for event in events if event["type"] != "NotStarted")


def test_what_several_changes_cannot_do(batch: Batch) -> None:
    batch.write("a", "b")
    for words in (["a", "b", "--in", "here"], ["a", "b", "--status"], ["a", "--all"]):
        assert batch.run(*words).returncode == 2, words
    assert batch.run("--parallel", "0", "a").returncode == 2


def test_ctrl_c_stops_all_and_the_same_command_continues(batch: Batch) -> None:
    batch.write("a", "b", "c")
    batch.plan(a={"hang": True}, b={"hang": True})
    process = batch.start("a", "b", "c", "--parallel", "2", start_new_session=True)
    wait_for(lambda: batch.started("a") and batch.started("b"))
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    assert {batch.state(one)["status"] for one in "ab"} == {"stopped"}
    assert not batch.started("c")
    batch.plan()
    done = batch.run("a", "b", "c", "--parallel", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {f"{one}.txt" for one in "abc"} == {f"{one}.txt" for one in "abc" if f"{one}.txt" in batch.files(one)}


def test_a_second_ctrl_c_forces(batch: Batch) -> None:
    batch.write("a", "b")
    batch.scratch.agent(
        "import signal, pathlib, os, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\nhome = pathlib.Path(os.environ['HOME'])\n"
        "(home / ('started-' + os.environ['SPOOL_CHANGE'])).touch()\ntime.sleep(300)\n"
    )
    process = batch.start("a", "b", "--parallel", "2", start_new_session=True)
    wait_for(lambda: batch.started("a") and batch.started("b"))
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    wait_for(lambda: all(is_gone(batch.state(one)["runner"]["pid"]) for one in "ab"))


def test_the_runners_outlive_the_command_and_the_same_command_watches_them(batch: Batch) -> None:
    batch.write("a", b="a")
    batch.plan(a={"wait_for": ["go"]})
    process = batch.start("a", "b", "--parallel", "2", start_new_session=True)
    wait_for(lambda: (batch.scratch.home / "order").exists())
    process.kill()
    process.wait()
    assert "a" in batch.scratch.spool("ps").stdout
    again = batch.start("a", "b", "--parallel", "2", stdout=subprocess.PIPE, start_new_session=True)
    said_by(again, b"iteration 1")
    (batch.scratch.home / "go").touch()
    assert again.wait(PATIENCE_S) == 0
    assert batch.order() == ["start a", "end a", "start b", "end b"]


@pytest.mark.parametrize("kind", ["worktree", "clone"])
def test_two_equal_commands_at_once_share_the_loops(batch: Batch, kind: str) -> None:
    batch.write("a", "b")
    batch.plan(a={"wait_for": ["go"]}, b={"wait_for": ["go"]})
    words = ("a", "b", "--parallel", "2", "--in", kind)
    both = [batch.start(*words, stdout=subprocess.PIPE, start_new_session=True) for _ in range(2)]
    for one in both:
        said_by(one, b"a  iteration 1", b"b  iteration 1")
    (batch.scratch.home / "go").touch()
    said = [one.communicate(timeout=PATIENCE_S)[0].decode() for one in both]
    assert [one.returncode for one in both] == [0, 0], said
    assert sorted(batch.order()) == ["end a", "end b", "start a", "start b"]


def test_a_run_that_another_command_started_first_is_watched(batch: Batch) -> None:
    """As if the other command had begun between the look at the state and the start of the runner."""
    batch.write("a")
    batch.plan(a={"wait_for": ["go"]})
    first = batch.start("a", "--parallel", "1", start_new_session=True)
    wait_for(lambda: (batch.scratch.home / "order").exists())
    blind = "from spool.app.starting.batch import Batch; Batch._found = lambda *_: None; "
    blind += "from spool.__main__ import main; main()"
    words = ("run", "a", "--parallel", "1", "--harness", "opencode", "--max-retries", "0")
    second = subprocess.Popen(
        [sys.executable, "-c", blind, *words], cwd=batch.scratch.root, env=batch.scratch.env, stdout=subprocess.PIPE
    )
    said_by(second, b"iteration 1")
    (batch.scratch.home / "go").touch()
    assert (second.wait(PATIENCE_S), first.wait(PATIENCE_S)) == (0, 0)
    assert batch.order() == ["start a", "end a"]


def test_a_reader_that_goes_away_holds_up_nothing(batch: Batch) -> None:
    batch.write("a", "b")
    process = batch.start("a", "b", "--json", stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    process.wait(PATIENCE_S)
    assert {"a.txt"} <= batch.files("a")
    assert {"b.txt"} <= batch.files("b")


def test_the_exit_code_of_several(batch: Batch) -> None:
    batch.write("a", "b")
    batch.plan(b={"fail": "cannot"})
    assert batch.run("a", "b", "--parallel", "2").returncode == 1
    batch.plan()
    assert batch.run("a", "b", "--parallel", "2").returncode == 0


def test_a_loop_that_cannot_start_is_named_with_its_reason(batch: Batch, tmp_path: Path) -> None:
    batch.write("a", "b")
    (tmp_path / "project-wt-a").mkdir()
    done = batch.run("a", "b", "--parallel", "2")
    assert done.returncode == 1
    assert "project-wt-a already exists" in done.stdout
    assert "b.txt" in batch.files("b")


def test_no_agent_is_noticed_before_anything_is_made(tmp_path: Path) -> None:
    scratch = make_scratch(tmp_path)
    batch = Batch(scratch)
    batch.write("a", "b")
    done = scratch.spool("run", "a", "b", "--harness", "gemini", env={"PATH": f"{scratch.bin}:/usr/bin:/bin"})
    assert done.returncode == 1
    assert not list(tmp_path.glob("project-wt-*"))


def journal(batch: Batch, change: str) -> list[dict[str, Any]]:
    path = batch.scratch.root / ".spool" / ".state" / "run" / change / "journal.jsonl"
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]  # the last may be written only in part


def test_a_rate_limit_that_one_loop_meets_holds_back_the_others_with_the_same_agent(batch: Batch) -> None:
    batch.write("a", "b", "c")
    batch.scratch.script([{"error": "429 too many requests", "error_kind": "rate_limit", "retry_after_s": 600}])
    words = ("run", "--harness", "scripted", "--detach", "--in", "worktree")
    assert batch.scratch.spool(*words, "a").returncode == 0
    wait_for(lambda: any(event["type"] == "Waiting" for event in journal(batch, "a")))
    assert batch.scratch.spool(*words, "b").returncode == 0
    wait_for(lambda: any(event["type"] == "Waiting" for event in journal(batch, "b")))
    (waits,) = [event for event in journal(batch, "b") if event["type"] == "Waiting"]
    assert "met by another loop with scripted: 429 too many requests" in waits["reason"]
    assert 500 < waits["seconds"] <= 700
    assert not [event for event in journal(batch, "b") if event["type"] == "IterationStarted"]
    assert batch.run("c", "--in", "worktree").returncode == 0, "another agent is not held back"


def test_budgets_hold_over_the_sum(batch: Batch) -> None:
    batch.write("a", "b", "c", "d")
    spend = {"usage": {"cost_usd": 0.4}}
    batch.scratch.script([spend, {"tick": 1}, {"promise": "COMPLETE"}])
    words = ("run", "a", "b", "c", "d", "--harness", "scripted", "--max-cost", "1.0")
    done = batch.scratch.spool(*words)
    assert done.returncode == 4, done.stdout + done.stderr
    spent = sum(batch.state(one)["usage"]["cost_usd"] for one in "abc")
    assert spent == pytest.approx(1.2)
    assert "not started: the budget of $1.00 is used up" in done.stdout
    assert not (batch.scratch.root / ".spool" / ".state" / "run" / "d").exists()
    more = batch.scratch.spool(*words[:-1], "5")
    assert more.returncode == 0, more.stdout + more.stderr
    again = batch.scratch.spool(*words[:-1], "1.5", "--fresh")
    assert again.returncode == 0, again.stdout + again.stderr


@pytest.mark.long
def test_the_time_limit_is_that_of_the_whole_command(batch: Batch) -> None:
    batch.write("a", "b", "c")
    batch.plan(a={"hang": True}, b={"hang": True})
    done = batch.run("a", "b", "c", "--parallel", "2", "--max-duration", "20")  # time for both to start
    assert done.returncode == 4, done.stdout + done.stderr
    assert not batch.started("c")
    assert {batch.state(one)["limit"] for one in "ab"} == {"duration"}


@pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux here")
def test_one_screen_for_all(batch: Batch) -> None:
    batch.write("a", "b", c="a")
    batch.plan(a={"wait_for": ["go"]}, b={"hang": True})
    with terminal(batch.scratch, width=100, height=30) as at:
        at.spool("run", "a", "b", "c", "--parallel", "2", "--harness", "opencode", "--max-retries", "0")

        def table() -> list[str]:
            """Return the head and three rows; a look may come while they are drawn."""
            lines = re.findall(r"(?m)^(?:change +now|[ab] +story 1 · iteration 1|c +waiting)", at.text())[-4:]
            return lines if [line[0] for line in lines] == ["c", "a", "b", "c"] else []

        at.until(table)
        head, *rows = wait_for(table)
        assert {row.index(re.split(" +", row)[1]) for row in rows} == {head.index("now")}  # one below the other
        (batch.scratch.home / "go").touch()
        at.until(lambda: re.search(r"(?m)^a +done", at.text()))
        at.until(lambda: re.search(r"(?m)^c +done", at.text()))
        at.keys("C-c")
        at.until(lambda: re.search(r"(?m)^b +stopped +change/b", at.text()))
        at.until(lambda: "Continue with:\n" in at.text() and "spool land" in at.text())
        at.until(lambda: at.flag("cursor_flag") == "1")
        assert not re.search(r"(?m)^change +now", at.text())


def test_a_program_stops_all_by_standard_input(batch: Batch) -> None:
    batch.write("a", "b")
    batch.plan(a={"hang": True}, b={"hang": True})
    words = batch.scratch.argv("run", "a", "b", "--parallel", "2", "--harness", "opencode", "--json")
    process = subprocess.Popen(
        words, cwd=batch.scratch.root, env=batch.scratch.env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    assert process.stdin is not None
    wait_for(lambda: batch.started("a") and batch.started("b"))
    process.stdin.write(b'{"type":"stop"}\n')
    process.stdin.flush()
    assert process.wait(30) == 130
    process.stdin.close()
    assert {batch.state(one)["status"] for one in "ab"} == {"stopped"}


def test_an_open_dependency_holds_back_a_run_of_one_change(batch: Batch) -> None:
    batch.write("a1", b1="a1")
    done = batch.run("b1")
    assert done.returncode == 2
    assert "b1 depends on a1, which is open" in done.stderr
    assert not (batch.scratch.home / "order").exists()
    assert batch.run("a1").returncode == 0
    assert batch.run("b1").returncode == 0, "a1 is closed: its boxes are ticked"


def test_several_changes_run_in_the_background_with_detach(batch: Batch) -> None:
    batch.write("a1", "a2", b1="a1")
    done = batch.run("a1", "a2", "b1", "--parallel", "2", "--detach")
    assert done.returncode == 0, done.stderr
    assert "Started 3 changes in the background, 2 at a time" in done.stdout
    wait_for(lambda: "end b1" in (batch.order() if (batch.scratch.home / "order").exists() else []))
    pid = int(re.search(r"pid (\d+)", done.stdout)[1])  # type: ignore[index]
    wait_for(lambda: is_gone(pid))
    assert batch.order().index("end a1") < batch.order().index("start b1")
    assert {"change/a1", "change/a2", "change/b1"} <= set(
        batch.scratch.git("branch", "--format=%(refname:short)").split()
    )
