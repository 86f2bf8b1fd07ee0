"""Runs several loops at once, each in a workspace and a runner of its own.

The runners are detached: if this process is killed they continue, `spool ps` lists them, and the same command watches
them again. What is shown comes from their journals, in a thread of its own, so that a terminal that does not read holds
up nothing.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from spool.app.loops.batch_feed import BatchFeed, BatchView
from spool.app.loops.loop_list import loop_at
from spool.app.starting.batch_loop import BatchLoop, starting
from spool.app.starting.launch import in_background
from spool.app.starting.signals import listening
from spool.app.starting.workspace_start import place
from spool.domain.change.workspaces import Kind
from spool.domain.loop.budget import Exceeded, Limit, exceeded
from spool.domain.loop.events import NotStarted, Working
from spool.domain.loop.spec import LoopSpec, Show
from spool.domain.loop.start_order import Member, Stand, may_start, never_start, total_exit_code
from spool.domain.loop.summary import LoopKind
from spool.domain.loop.verdict import ExitCode
from spool.domain.text.plain_text import one_line
from spool.engine.ports import Clock
from spool.engine.stop_request import Stop
from spool.errors import SpoolError
from spool.host.clock import SystemClock
from spool.host.git.checkpoints.pace import Pace, Step
from spool.host.git.repository import Repository, find_repository
from spool.host.git.workspaces.bases import merged_base
from spool.host.state.spending_log import Peers

_TICK_S = 0.1


class BatchPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Several loops to run."""

    members: tuple[Member, ...]
    specs: tuple[LoopSpec, ...]
    """One for each member, in the same order, without workspaces."""
    kind: Kind
    parallel: int


class BatchEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The end of one loop of a batch."""

    change: str
    stand: Stand
    exit_code: int
    reason: str = ""
    branch: str = ""


@dataclass
class Batch:
    """One run of a batch."""

    plan: BatchPlan
    view: BatchView
    as_json: bool = False
    clock: Clock = field(default_factory=SystemClock)
    ended: list[BatchEnd] = field(default_factory=list)
    _loops: dict[str, BatchLoop] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._specs = {spec.change: spec for spec in self.plan.specs}
        self._stands = {member.change: Stand.WAITING for member in self.plan.members}
        self._needs = {member.change: member.depends_on for member in self.plan.members}
        self._began_s = self.clock.monotonic()
        fresh = any(spec.fresh for spec in self.plan.specs)
        self._since = self.clock.now() if fresh else None
        self._spending = Peers([spec.folder for spec in self.plan.specs], self._since)
        self._closed = ""
        """The reason to start nothing more."""
        self._stop = Stop()

    def run(self) -> int:
        """Run all loops to their ends and return the exit code."""
        with BatchFeed(self.view) as feed:
            return asyncio.run(self._run(feed))

    async def _run(self, feed: BatchFeed) -> int:
        stop, starting = self._stop, set[asyncio.Task[None]]()
        with listening(stop, None, stdin=self.as_json, asked_by=lambda: ""), stop.waking(self._stop_all):
            while True:
                self._collect(feed)
                self._skip(feed)
                if not starting and not stop.requested:
                    starting = {self._start_soon(one, feed) for one in self._ready()[:1]}
                if not starting and Stand.RUNNING not in self._stands.values() and not self._ready():
                    break
                await asyncio.sleep(_TICK_S)
                starting = {task for task in starting if not task.done() or task.result()}
                if stop.forced and starting:
                    os._exit(ExitCode.INTERRUPTED)  # a clone in the making; the next run removes what is left of it
        codes = [one.exit_code for one in self.ended]
        return total_exit_code([*codes, *([ExitCode.INTERRUPTED] if stop.requested else [])])

    def _ready(self) -> list[str]:
        return [] if self._closed else may_start(self.plan.members, self._stands, parallel=self.plan.parallel)

    def _start_soon(self, change: str, feed: BatchFeed) -> "asyncio.Task[None]":
        """Start a loop in a thread: a clone may take long."""
        self._stands[change] = Stand.RUNNING
        return asyncio.create_task(asyncio.to_thread(self._start, change, feed))

    def _start(self, change: str, feed: BatchFeed) -> None:
        spec = self._specs[change]
        with ExitStack() as alone:
            try:
                alone.enter_context(starting(spec))
                loop = self._found(spec) or self._launched(spec, feed)
            except (SpoolError, OSError) as error:
                self._end(change, Stand.FAILED, getattr(error, "exit_code", 1), str(error), feed)
                return
            if loop is None:
                self._end(change, Stand.SKIPPED, int(ExitCode.INTERRUPTED), "stopped", feed)
                return
            self._watch(loop, feed)
            if loop.launched is not None:
                threading.Thread(target=loop.settle, args=(alone.pop_all(),), daemon=True).start()

    def _found(self, spec: LoopSpec) -> BatchLoop | None:
        running = loop_at(Path(spec.root), LoopKind.RUN, spec.change)
        return BatchLoop(spec, found=running) if running is not None and running.running else None

    def _launched(self, spec: LoopSpec, feed: BatchFeed) -> BatchLoop | None:
        """Start a runner; None if a person stops all meanwhile."""

        def pace(step: Step, share: float, files: int) -> None:
            feed.see(spec.change, Working(step=step, share=round(share, 2), files=files))

        placed = self._placed(spec, pace, lambda note: feed.say(spec.change, note))
        if self._stop.requested:
            return None
        return BatchLoop(placed, launched=in_background(placed), began=self.clock.now())

    def _watch(self, loop: BatchLoop, feed: BatchFeed) -> None:
        self._loops[loop.spec.change] = loop
        loop.obey(self._stop)
        feed.follow(loop.spec.change, loop.run_id, Path(loop.spec.folder))

    def _placed(self, spec: LoopSpec, pace: Pace, note: Callable[[str], object]) -> LoopSpec:
        branches = [self._loops[one].branch for one in self._needs[spec.change]]
        base = asyncio.run(_base(spec, branches)) if branches else ""
        placed = place(spec, self.plan.kind, base=base, pace=pace, note=note)
        settings = placed.settings
        if settings.max_duration:
            left_s = settings.max_duration - (self.clock.monotonic() - self._began_s)
            settings = msgspec.structs.replace(settings, max_duration=max(1.0, left_s))
        peers = tuple(one.folder for one in self.plan.specs if one.change != spec.change)
        shared = {"settings": settings, "peers": peers, "peers_since": self._since}
        return msgspec.structs.replace(placed, **shared, show=Show.NOTHING)

    def _collect(self, feed: BatchFeed) -> None:
        """Record the loops that have ended."""
        for change, loop in list(self._loops.items()):
            code = loop.exit_code() if self._stands[change] is Stand.RUNNING else None
            if code is None:
                continue
            summary = loop.summary()
            if summary is None and (other := loop.of_another_command()) is not None:
                self._watch(BatchLoop(loop.spec, found=other), feed)
                continue
            reason = summary.reason if summary else loop.why_not()
            stand = Stand.DONE if code == ExitCode.COMPLETE else Stand.FAILED
            self._end(change, stand, code, reason, feed, seen=summary is not None, branch=loop.branch)
            if summary is not None and summary.limit not in (None, Limit.STALL):
                self._closed = summary.reason

    def _skip(self, feed: BatchFeed) -> None:
        """Record the changes that will not start any more."""
        stop = self._stop
        waiting = [change for change, stand in self._stands.items() if stand is Stand.WAITING]
        if waiting and (spent := self._exceeded()):
            self._closed = self._closed or spent.reason
        if stop.requested or self._closed:
            code = ExitCode.INTERRUPTED if stop.requested else ExitCode.STUCK
            for change in waiting:
                self._end(change, Stand.SKIPPED, int(code), "stopped" if stop.requested else self._closed, feed)
        for change, lost in never_start(self.plan.members, self._stands).items():
            code_of = {one.change: one.exit_code for one in self.ended}
            self._end(change, Stand.SKIPPED, code_of[lost], f"{lost} did not end as done", feed)

    def _exceeded(self) -> Exceeded | None:
        """Return the budget of all that is used up, if any."""
        run_s = self.clock.monotonic() - self._began_s
        return exceeded(self.plan.specs[0].limits, self._spending.usage(), run_s=run_s)

    def _end(
        self,
        change: str,
        stand: Stand,
        code: int,
        reason: str,
        feed: BatchFeed,
        *,
        seen: bool = False,
        branch: str = "",
    ) -> None:
        self._stands[change] = stand
        self.ended.append(
            BatchEnd(change=change, stand=stand, exit_code=code, reason=one_line(reason, 400), branch=branch)
        )
        if not seen:
            feed.see(change, NotStarted(change=change, reason=one_line(reason, 400)))

    def _stop_all(self) -> None:
        for change, loop in list(self._loops.items()):
            if self._stands[change] is Stand.RUNNING:
                loop.obey(self._stop)


async def _base(spec: LoopSpec, branches: Sequence[str]) -> str:
    timeout_s = spec.settings.command_timeout
    repository = await find_repository(Path(spec.root), timeout_s=timeout_s)
    return await merged_base(repository, branches, timeout_s=timeout_s) if isinstance(repository, Repository) else ""
