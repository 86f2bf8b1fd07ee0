"""The server, the remotes and the answers to pushes fail; no work is lost, and no agent starts without a snapshot."""

import os
import time
from pathlib import Path

import pytest

from tests.fleet.support import Fleet, Server, WorkerHost
from tests.support import PATIENCE_S, wait_for

pytestmark = pytest.mark.long  # waits for a server or a remote that is down

CHANGE = "001-01_work"


def test_a_server_restart_shorter_than_the_heartbeat_costs_nothing(fleet: Fleet, server: Server) -> None:
    fleet.make(CHANGE)
    fleet.host("one")
    fleet.hold(CHANGE)
    fleet.submit(CHANGE, heartbeat=60)
    fleet.working(CHANGE)
    server.kill()
    server.start()
    fleet.release(CHANGE)
    fleet.ends(CHANGE)
    fleet.is_exact(CHANGE)
    assert fleet.history(CHANGE) == [(1, "completed"), (2, "completed")]
    assert len(fleet.agents(CHANGE)) == 2


def test_a_server_outage_longer_than_the_heartbeat_redoes_the_iteration(fleet: Fleet, server: Server) -> None:
    fleet.make(CHANGE)
    host = fleet.host("one")
    fleet.hold(CHANGE)
    fleet.submit(CHANGE)
    fleet.working(CHANGE)
    server.kill()
    wait_for(lambda: "could not be renewed" in host.said(), "the end of the lease")
    server.start()
    fleet.release(CHANGE)
    fleet.ends(CHANGE)
    fleet.is_exact(CHANGE)
    assert fleet.history(CHANGE) == [(1, "interrupted"), (2, "completed"), (3, "completed")]


def test_no_agent_starts_while_the_remote_for_snapshots_is_down(fleet: Fleet) -> None:
    host, away = _working_without(fleet, fleet.snapshots)
    ended = wait_for(lambda: fleet.agents(CHANGE, "end"), "the first agent")[0]["t"]
    wait_for(lambda: time.time() - ended > 3, "three seconds without a remote")
    assert len(fleet.agents(CHANGE)) == 1
    away.rename(fleet.snapshots)
    fleet.ends(CHANGE)
    fleet.is_exact(CHANGE)
    assert fleet.history(CHANGE) == [(1, "completed"), (2, "completed")]
    assert [one["step"] for one in host.steps()].count("claim") == 1


def test_a_change_is_stopped_while_its_gate_waits_for_the_remote(fleet: Fleet) -> None:
    host, away = _working_without(fleet, fleet.snapshots)
    ended = wait_for(lambda: fleet.agents(CHANGE, "end"), "the first agent")[0]["t"]
    wait_for(lambda: time.time() - ended > 2, "a gate that waits")
    stopping = fleet.start("fleet", "stop", CHANGE)
    wait_for(lambda: "end" in {one["step"] for one in host.steps()}, "the end of the run")
    away.rename(fleet.snapshots)
    assert stopping.wait(timeout=PATIENCE_S) == 0
    assert fleet.mark(CHANGE)["stage"] == "stopped"
    assert fleet.spool("fleet", "retry", CHANGE).returncode == 0
    fleet.ends(CHANGE)
    fleet.is_exact(CHANGE)
    assert fleet.history(CHANGE) == [(1, "completed"), (2, "interrupted"), (3, "completed")]


def test_a_result_waits_for_the_remote_of_the_code_and_can_be_stopped_meanwhile(fleet: Fleet) -> None:
    host, away = _working_without(fleet, fleet.code)
    wait_for(lambda: "result" in {one["step"] for one in host.steps()}, "the end of the run")
    assert fleet.row(CHANGE)["status"] == "running"
    stopped = fleet.spool("fleet", "stop", CHANGE)
    assert "its branch was not updated: it was stopped before its remote answered" in stopped.stdout
    assert fleet.row(CHANGE)["exit_code"] == 5
    away.rename(fleet.code)
    assert fleet.spool("fleet", "retry", CHANGE).returncode == 0
    wait_for(lambda: fleet.row(CHANGE)["exit_code"] == 0, "the result")
    fleet.is_exact(CHANGE)
    assert len(fleet.agents(CHANGE)) == 2


def test_a_push_whose_answer_was_lost_has_arrived(fleet: Fleet) -> None:
    """Each push to the snapshots and to the code succeeds there and fails here."""
    fleet.make(CHANGE)
    folder = fleet.base / "bin"
    folder.mkdir()
    _lose_answers(folder)
    host = fleet.host("one", env={"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"})
    fleet.submit(CHANGE, heartbeat=60)
    fleet.ends(CHANGE)
    fleet.is_exact(CHANGE)
    assert fleet.history(CHANGE) == [(1, "completed"), (2, "completed")]
    assert [one["step"] for one in host.steps()].count("claim") == 1
    lost = (folder / "lost").read_text().split()
    assert len(lost) == 6, lost  # the claim, two snapshots, the end, the result, and that it was delivered


def _working_without(fleet: Fleet, remote: Path) -> tuple[WorkerHost, Path]:
    """Take a remote away while the first agent works; return the host, and where the remote is meanwhile."""
    fleet.make(CHANGE)
    host = fleet.host("one")
    fleet.hold(CHANGE)
    fleet.submit(CHANGE, heartbeat=60)
    fleet.working(CHANGE)
    away = remote.with_suffix(".away")
    remote.rename(away)
    fleet.release(CHANGE)
    return host, away


def _lose_answers(folder: Path) -> None:
    """Put a git on PATH that pushes, and then fails as if the line had been cut."""
    git = next(path for path in os.environ["PATH"].split(os.pathsep) if (Path(path) / "git").exists())
    program = folder / "git"
    program.write_text(
        "#!/bin/sh\n"
        f'"{git}/git" "$@"; code=$?\n'
        f'case " $* " in *" push "*) echo lost >> "{folder}/lost"; exit 128;; esac\n'
        "exit $code\n"
    )
    program.chmod(0o755)
