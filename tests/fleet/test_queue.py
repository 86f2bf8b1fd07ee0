"""What a person does with the queue: submit, list, show, stop, retry, and rebuild it."""

import json
from pathlib import Path

import pytest

from tests.fleet.support import Fleet, Server, git
from tests.support import wait_for

CHANGE = "001-01_work"


def test_a_second_submit_is_refused_and_a_done_change_can_be_shown(fleet: Fleet) -> None:
    fleet.make(CHANGE)
    fleet.hold(CHANGE)
    fleet.submit(CHANGE, heartbeat=60)
    again = fleet.spool("fleet", "submit", CHANGE, "--snapshots", "fleet://snapshots.git")
    assert again.returncode == 1
    assert "already in the fleet" in again.stderr
    assert fleet.row(CHANGE)["status"] == "queued"
    fleet.host("a")
    fleet.working(CHANGE)
    running = wait_for(lambda: (lambda row: row if row["loop"] else {})(fleet.row(CHANGE)), "the loop")
    assert running["status"] == "running"
    assert running["loop"]["iteration"] == 1
    assert running["holder"].startswith("a/")
    fleet.release(CHANGE)
    fleet.ends(CHANGE)
    shown = fleet.spool("fleet", "show", CHANGE)
    assert f"{CHANGE}: done, all stories are complete" in shown.stdout
    assert "2  completed" in shown.stdout
    assert f"  result: change/{CHANGE} at " in shown.stdout
    report = json.loads(fleet.spool("fleet", "show", CHANGE, "--json").stdout)
    assert report["snapshot"]["stage"] == "done"
    assert [one["outcome"] for one in report["history"]] == ["completed", "completed"]
    assert report["row"]["loop"]["status"] == "done"
    again = fleet.spool("fleet", "submit", "--all", "--snapshots", "fleet://snapshots.git")
    assert (again.returncode, "it is done, and you have not edited it since" in again.stderr) == (1, True)
    assert "--fresh" in again.stderr
    tasks = fleet.root / ".spool" / "changes" / CHANGE / "tasks.md"
    tasks.write_text(tasks.read_text().replace("[ ]", "[x]") + "\n## 3. Part 3\n\n- [ ] 3.1 one\n")
    fleet.submit(CHANGE, heartbeat=60)
    fleet.ends(CHANGE)
    fleet.is_exact(CHANGE, stories=3)


@pytest.mark.long
def test_attach_logs_and_stop_know_a_change_by_its_id(fleet: Fleet) -> None:
    fleet.make(CHANGE)
    fleet.hold(CHANGE)
    host = fleet.host("a")
    fleet.submit(CHANGE, heartbeat=60)
    fleet.working(CHANGE)
    change_id = fleet.row(CHANGE)["id"]
    listed = fleet.spool("ps", "--all", env={"HOME": str(host.home)})
    assert change_id in listed.stdout
    run = json.loads(fleet.spool("ps", "--all", "--json", env={"HOME": str(host.home)}).stdout)[0]
    assert run["fleet_id"] == change_id
    fleet.release(CHANGE)
    attached = fleet.spool("attach", change_id, "--json")
    assert attached.returncode == 0, attached.stderr
    events = [json.loads(line)["type"] for line in attached.stdout.splitlines()]
    assert (events[0], events[-1], events.count("IterationEnded")) == ("RunStarted", "RunEnded", 2)
    assert "Part 2" in fleet.spool("logs", change_id).stdout
    wait_for(lambda: not Path(run["folder"]).exists(), "the end of the clone")
    assert "Part 2" in fleet.spool("logs", run["id"], env={"HOME": str(host.home)}).stdout
    stopped = fleet.spool("stop", change_id)
    assert (stopped.returncode, "done" in stopped.stdout) == (0, True)


def test_what_depends_on_another_change_is_left_out(fleet: Fleet) -> None:
    first, second = "001-01_first", "002-01_second"
    fleet.make(first, second)
    proposal = fleet.root / ".spool" / "changes" / second / "proposal.md"
    proposal.write_text(f"---\ndepends_on: [{first}]\n---\n# Second\n\nWork.\n")
    named = fleet.spool("fleet", "submit", first, second, "--snapshots", "fleet://snapshots.git")
    assert (named.returncode, f"{second}: it depends on {first}" in named.stderr) == (2, True)
    done = fleet.spool("fleet", "submit", "--all", "--snapshots", "fleet://snapshots.git")
    assert (done.returncode, f"{second}: not submitted: it depends on {first}" in done.stderr) == (0, True)
    assert set(fleet.rows()) == {first}


def test_the_change_travels_uncommitted_and_nothing_else_does(fleet: Fleet) -> None:
    fleet.make(CHANGE)
    (fleet.root / "code.py").write_text("print('mine')\n")
    (fleet.root / "private.txt").write_text("mine\n")
    fleet.submit(CHANGE)
    files = git("ls-tree", "-r", "--name-only", f"refs/spool/fleet/{CHANGE}^1", cwd=fleet.snapshots).split()
    assert files == [f".spool/changes/{CHANGE}/proposal.md", f".spool/changes/{CHANGE}/tasks.md", "code.py"]
    assert git("show", f"refs/spool/fleet/{CHANGE}^1:code.py", cwd=fleet.snapshots) == "print(1)\n"
    assert fleet.git("status", "--short") == " M code.py\n?? .spool/\n?? private.txt\n"
    fleet.spool("fleet", "stop", CHANGE)


@pytest.mark.long
def test_a_stopped_change_continues_with_its_attempt_and_from_its_checkpoint(fleet: Fleet) -> None:
    fleet.make(CHANGE)
    fleet.hold(CHANGE)
    fleet.host("a")
    fleet.submit(CHANGE, heartbeat=60)
    fleet.working(CHANGE)
    refused = fleet.spool("fleet", "stop", CHANGE, "nothing")
    assert (refused.returncode, "/nothing is not in the fleet" in refused.stderr) == (2, True)
    assert fleet.row(CHANGE)["status"] == "running"
    stopped = fleet.spool("fleet", "stop", CHANGE)
    assert stopped.returncode == 0, stopped.stderr
    assert f"{CHANGE}: stopped by spool fleet stop" in stopped.stdout
    assert fleet.mark(CHANGE)["stage"] == "stopped"
    again = fleet.spool("fleet", "submit", CHANGE, "--snapshots", "fleet://snapshots.git")
    assert (again.returncode, "spool fleet retry CHANGE" in again.stderr) == (1, True)
    fleet.release(CHANGE)
    assert fleet.spool("fleet", "retry", CHANGE).returncode == 0
    fleet.ends(CHANGE)
    fleet.is_exact(CHANGE)
    assert fleet.history(CHANGE) == [(1, "interrupted"), (2, "completed"), (3, "completed")]
    refused = fleet.spool("fleet", "retry", CHANGE)
    assert (refused.returncode, "it is done" in refused.stderr) == (1, True)


@pytest.mark.long
def test_a_rate_limit_frees_the_slot_and_keeps_the_work(fleet: Fleet) -> None:
    fleet.make(CHANGE, stories=1)
    limited = {"error": "too many requests", "error_kind": "rate_limit", "retry_after_s": 15}
    work = [{"write": "half.txt", "text": "half\n"}, limited]
    rest = [{"append": "half.txt", "text": "whole\n"}, {"tick": 2}, {"promise": "COMPLETE"}]
    script = fleet.base / "script.json"
    script.write_text(json.dumps({"iteration": [{"steps": work}, {"steps": rest}]}))
    config = fleet.person / ".config" / "spool" / "config.toml"
    config.write_text(f'harness = "scripted"\n[harnesses.scripted]\nscript = "{script}"\n')
    host = fleet.host("a", slots=1)
    fleet.submit(CHANGE, heartbeat=60)
    wait_for(lambda: fleet.mark(CHANGE)["stage"] == "waiting", "the snapshot that waits")
    fleet.swept(host)  # its slot is free
    assert git("show", f"refs/spool/fleet/{CHANGE}^1:half.txt", cwd=fleet.snapshots) == "half\n"
    fleet.ends(CHANGE)
    assert git("show", f"change/{CHANGE}:half.txt", cwd=fleet.code) == "half\nwhole\n"
    assert [outcome for _, outcome in fleet.history(CHANGE)] == ["rate limited", "completed"]
    ends = [one for one in fleet.records(CHANGE, "journal.jsonl") if one["type"] == "RunEnded"]
    assert ends[0]["retry_at"] is not None
    assert (ends[0]["exit_code"], fleet.mark(CHANGE)["epoch"]) == (75, 2)


@pytest.mark.long
def test_a_lost_queue_is_rebuilt_from_the_snapshots(fleet: Fleet, server: Server) -> None:
    done, begun, unsent, waiting = "001-01_done", "002-01_begun", "003-01_unsent", "004-01_waiting"
    fleet.make(done, begun, unsent, waiting)
    host = fleet.host("a")
    fleet.submit(done)
    fleet.ends(done)
    fleet.hold(begun)
    fleet.submit(begun)
    fleet.working(begun)
    last = fleet.host("last", dead_at="result")
    fleet.submit(unsent)
    last.reaches("result")
    last.kill()
    fleet.submit(waiting)
    host.kill()
    server.kill()
    Path(server.about["database"]).unlink()
    for more in Path(server.about["database"]).parent.glob("temporal.db*"):
        more.unlink()
    server.start()
    assert fleet.rows() == {}
    again = fleet.spool("fleet", "submit", "--from-snapshots", "--snapshots", "fleet://snapshots.git", "--json")
    assert again.returncode == 0, again.stderr
    assert {row["change"]: row["refused"] for row in json.loads(again.stdout)} == {begun: "", unsent: "", waiting: ""}
    fleet.release(begun)
    fleet.host("b", slots=2)
    fleet.ends(begun, unsent, waiting)
    for change in (done, begun, unsent, waiting):
        fleet.is_exact(change)
    assert fleet.history(begun) == [(1, "interrupted"), (2, "completed"), (3, "completed")]


def test_a_branch_that_somebody_moved_is_left_alone(fleet: Fleet) -> None:
    fleet.make(CHANGE)
    fleet.hold(CHANGE)
    fleet.host("a")
    fleet.submit(CHANGE, heartbeat=60)
    fleet.working(CHANGE)
    git("branch", f"change/{CHANGE}", "main", cwd=fleet.code)
    fleet.release(CHANGE)
    fleet.ends(CHANGE)
    row = fleet.row(CHANGE)
    assert row["exit_code"] == 5
    assert "its branch was not updated" in row["reason"]
    assert git("log", "--format=%s", f"change/{CHANGE}", cwd=fleet.code) == "start\n"


def test_a_result_that_the_remote_refuses_is_kept_in_the_snapshot(fleet: Fleet) -> None:
    fleet.make(CHANGE, stories=1)
    hook = fleet.code / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho protected; exit 1\n")
    hook.chmod(0o755)
    fleet.host("a")
    fleet.submit(CHANGE, heartbeat=60)
    fleet.ends(CHANGE)
    row = fleet.row(CHANGE)
    assert (row["exit_code"], "the remote refuses" in row["reason"]) == (5, True)
    work = git("log", "--format=%s", f"refs/spool/fleet/{CHANGE}^^", cwd=fleet.snapshots).splitlines()
    assert work == ["Story 1: Part 1", "start"]


def test_commands_without_a_server_name_the_next_one(fleet: Fleet) -> None:
    fleet.make(CHANGE)
    done = fleet.spool("fleet", "list", env={"TEMPORAL_ADDRESS": "127.0.0.1:1"})
    assert done.returncode == 1
    assert "no Temporal server at 127.0.0.1:1" in done.stderr
    assert "spool fleet up" in done.stderr
    assert "tonic" not in done.stderr
    done = fleet.spool("fleet", "submit", CHANGE)
    assert (done.returncode, "spool fleet up" in done.stderr, "--snapshots" in done.stderr) == (2, True, True)


def test_a_url_with_a_secret_goes_nowhere(fleet: Fleet) -> None:
    fleet.make(CHANGE)
    for words in (["--remote", "https://me:s3cret@localhost/x"], ["--snapshots", "https://me:s3cret@localhost/x"]):
        done = fleet.spool("fleet", "submit", CHANGE, *words)
        assert (done.returncode, "a password or a token" in done.stderr) == (2, True)
        assert "s3cret" not in done.stdout + done.stderr
