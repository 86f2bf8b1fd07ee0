"""Many loops on one machine, made of real events in real journals; the running ones have this process as runner."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from spool.domain.agent.stream import Usage
from spool.domain.loop.events import Event
from spool.domain.loop.plan_memory import StoryMemory, StoryState
from spool.domain.loop.receipt import Receipt
from spool.domain.loop.state import LoopState
from spool.domain.loop.summary import (
    LoopKind,
    LoopSummary,
    Phase,
    Runner,
    state_path,
    summarized,
)
from spool.domain.loop.verdict import Limits, Status
from spool.host.runner.identity import this_runner
from spool.host.state.journal import JournalWriter
from spool.host.state.loop_store import StateFolder
from spool.host.state.run_registry import Registry
from tests.support import Scratch
from tests.support.scene import PROPOSAL, TASKS, Clock, half_way

GONE = Runner(pid=1, start_time="", boot_id="", host="")
REASONS = {
    Status.DONE: "all stories are complete",
    Status.STUCK: "the limit of 1 retry is reached, the last attempt: no promise",
    Status.STOPPED: "stopped by spool stop",
    Status.RUNNING: "",
}


def add_loop(
    machine: Scratch,
    number: int,
    status: Status = Status.RUNNING,
    events: Iterable[Event] = (),
    *,
    project: str = "shop",
    change: str = "add-auth",
    step: timedelta = timedelta(seconds=11),
) -> LoopSummary:
    """Add a loop with its project, its journal and its entry in the registry."""
    root = machine.root.parent / "projects" / f"{project}-{number}"
    folder = StateFolder(Path(state_path(str(root), LoopKind.RUN, change)))
    described = root / ".spool" / "changes" / change
    described.mkdir(parents=True)
    (described / "proposal.md").write_text(PROPOSAL)
    (described / "tasks.md").write_text(TASKS)
    told = list(events) or half_way()
    now = datetime.now(UTC) - timedelta(minutes=7 * number)
    clock = Clock(now - step * (len(told) + 1), step)
    folder.prepare()
    run_id = f"{now:%Y%m%dT%H%M%S}-{number:06x}"
    writer = JournalWriter(folder.journal, run_id=run_id, now=clock.now)
    for event in told:
        writer.emit(event)
    writer.close()
    usage = Usage(tokens_in=21_400 * (number + 1), tokens_out=1_900, cost_usd=0.11 + 0.3 * number)
    state = LoopState(
        run_id=run_id,
        door=LoopKind.RUN,
        change=change,
        project=str(root),
        worktree=str(root),
        root=str(root),
        folder=str(folder.path),
        harness="claude",
        model="sonnet",
        status=status,
        reason=REASONS[status],
        phase=Phase.AGENT,
        phase_since=now,
        iteration=3,
        run_iteration=3,
        limits=Limits(max_iterations=20, max_cost_usd=5.0),
        usage=usage,
        receipt=Receipt(iterations=2, agent_s=212.0, gates_s=40.0, usage=usage),
        memory=StoryMemory(
            story=StoryState(id="2", title="Check requests", current=2, total=3, completed=1, attempt=2)
        ),
        runner=this_runner() if status is Status.RUNNING else GONE,
        started_at=clock.at - step * len(told),
        updated_at=now,
        ended_at=None if status is Status.RUNNING else now,
    )
    folder.save(state)
    loop = summarized(state)
    Registry(machine.home / ".local" / "state" / "spool" / "loops").enter(loop)
    return loop
