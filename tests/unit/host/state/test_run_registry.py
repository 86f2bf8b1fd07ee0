"""The registry keeps the last finished runs, and every running one."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from spool.domain.loop.summary import LoopKind, LoopSummary, Runner
from spool.domain.loop.verdict import Status
from spool.host.runner.identity import this_runner
from spool.host.state import run_registry
from spool.host.state.run_registry import Registry

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def entry(number: int, *, runner: Runner | None = None, ended: bool = True) -> LoopSummary:
    at = BEGAN + timedelta(seconds=number)
    return LoopSummary(
        run_id=f"20260101T000000-{number:06}",
        runner=runner or this_runner(),
        door=LoopKind.RALPH,
        change="add-auth",
        project="/project",
        worktree="/project",
        folder="/project/.spool/.state/ralph/add-auth",
        started_at=at,
        updated_at=at,
        ended_at=at if ended else None,
        status=Status.DONE if ended else Status.RUNNING,
    )


def test_the_oldest_finished_runs_are_forgotten_with_their_logs(tmp_path: Path) -> None:
    loops = Registry(tmp_path)
    loops.enter(entry(0, ended=False))
    for number in range(1, run_registry.KEPT + 4):
        loops.enter(entry(number))
    log = loops.beside(entry(1).run_id, "log")
    log.write_text("old")
    loops.prune()
    numbers = [int(found.id) for found in loops.runs()]
    assert numbers == [0, *range(4, run_registry.KEPT + 4)]
    assert not log.exists()


def test_a_run_of_another_boot_or_process_is_stopped(tmp_path: Path) -> None:
    loops = Registry(tmp_path)
    me = this_runner()
    others = [
        Runner(pid=me.pid, start_time=me.start_time, boot_id="another boot", host=me.host),
        Runner(pid=me.pid, start_time="1", boot_id=me.boot_id, host=me.host),
    ]
    for number, runner in enumerate(others):
        loops.enter(entry(number, runner=runner, ended=False))
    loops.enter(entry(9, ended=False))
    assert [found.status for found in loops.runs()] == [Status.STOPPED, Status.STOPPED, Status.RUNNING]
    assert [found.id for found in loops.running()] == ["000009"]
