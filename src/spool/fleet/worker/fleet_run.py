"""One attempt at a change on this host: fetch, claim, run, and leave the result.

The order is what makes it safe. A claim is pushed before anything runs; a snapshot is accepted by the remote before
each agent starts; the end is in the snapshot before the result is on its branch. Whoever continues finds the last of
these that happened, and repeats only what came after it.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import msgspec

from spool.domain.change.workspaces import branch_of_change
from spool.domain.loop.plan_memory import PlanMemory, PromptMemory, StoryMemory, loop_in
from spool.domain.loop.state import LoopState
from spool.domain.loop.summary import STATE, LoopSummary, summarized
from spool.domain.loop.verdict import ExitCode
from spool.domain.text.plain_text import one_line
from spool.errors import CommandFailed, FencedOff, SpoolError
from spool.fleet.queue.payloads import QueuedChange, TurnReport, packed
from spool.fleet.snapshots.carried_state import submitted_spec
from spool.fleet.snapshots.snapshot_store import Refused, SnapshotStore, StoredSnapshot
from spool.fleet.values import ChangeStage, RunStep, SnapshotMark, TakeOver, Token, claim_of, claimed, ref_of, stage_of
from spool.fleet.worker.child_process import Child, start_child
from spool.fleet.worker.host_run import HostRun, prepare_run
from spool.fleet.worker.hosts import SPEC as HOST_SPEC
from spool.fleet.worker.hosts import Host, remove_run
from spool.fleet.worker.link import RunnerRequest, WorkerAnswer
from spool.fleet.worker.readiness import CannotRun, check_agent

ReportStep = Callable[[RunStep, SnapshotMark], None]
_LAST_RESULT_S = 10.0
"""Seconds for the result of a change that a person stops when it is done."""
_LAST_PUSH_S = 60.0
"""Seconds for the last snapshot of a change that a person stopped."""


class NoSnapshot(SpoolError):
    """A change in the queue has no snapshot on its remote."""


class FleetRun:
    """Runs one change on this host."""

    def __init__(self, task: QueuedChange, token: Token, host: Host, report: ReportStep) -> None:
        self._task = task
        self._token = token
        self._host = host
        self._report = report
        self._ref = ref_of(task.change)
        self._stopping = asyncio.Event()
        self._run: HostRun | None = None

    async def run(self) -> TurnReport:
        """Take the change over, and run it until it ends or waits; raise FencedOff if another host has it."""
        store = self._host.store(self._task.snapshots)
        snapshot, ours = await self._claim(store)
        if not ours:
            return reported(await self._leave_result(store, snapshot), await _last_summary(store, snapshot))
        self._report(RunStep.CLAIM, snapshot.mark)
        home = self._host.new_run(self._task.change)
        try:
            run = self._run = await prepare_run(home, store, snapshot, self._host, self._task)
            return await self._through(run, store)
        finally:
            if self._run is not None:
                await self._run.release()
            await asyncio.to_thread(remove_run, home)

    def stop(self) -> None:
        """Stop the run; the attempt ends with a snapshot that says so."""
        self._stopping.set()

    def summary(self) -> LoopSummary | None:
        """Return where the loop stands now; None before it runs."""
        state = self._run.state() if self._run else None
        return lean(state) if state else None

    async def _claim(self, store: SnapshotStore) -> tuple[StoredSnapshot, bool]:
        """Return the snapshot to continue from, and whether it is ours now; else the change has ended."""
        while True:
            snapshot = await store.fetch(self._task.change)
            if snapshot is None:
                raise NoSnapshot(f"there is no snapshot of {self._task.change} at {self._task.snapshots}")
            self._report(RunStep.CLONE, snapshot.mark)
            match claim_of(snapshot.mark, self._token):
                case TakeOver.FINISHED:
                    return snapshot, False
                case TakeOver.REFUSED:
                    raise FencedOff(f"a later attempt has it: {snapshot.mark.holder}")
                case TakeOver.TAKE:
                    await self._check_agent(store, snapshot)
            mine = await store.remark(snapshot, claimed(snapshot.mark, self._token, self._host.holder))
            with suppress(FencedOff):  # the holder before was quicker by one snapshot: take that one
                await store.push(mine.commit, snapshot.commit, self._ref)
                return mine, True

    async def _check_agent(self, store: SnapshotStore, snapshot: StoredSnapshot) -> None:
        """Raise CannotRun before the claim: a host without the agent of a change leaves it to others."""
        settings = submitted_spec(await store.files(snapshot.commit)).settings
        await asyncio.to_thread(check_agent, settings)

    async def _through(self, run: "HostRun", store: SnapshotStore) -> TurnReport:
        child = await start_child(run.spec, run.home / HOST_SPEC, run.home / "child.log")
        try:
            code = await self._serve(run, child)
        finally:
            await asyncio.shield(child.end())
        if code == ExitCode.POSTPONED and run.taken_over:
            raise FencedOff(run.taken_over)
        state = run.state()
        if state is None or not run.has_ended(state, code):
            raise CannotRun(f"the run ended with exit code {code}: {child.said() or 'it printed nothing'}")
        self._report(RunStep.END, run.snapshot.mark)
        retry_at = state.waiting_until if code == ExitCode.POSTPONED else None
        ended = msgspec.structs.replace(
            _standing(run.snapshot.mark, state),
            stage=stage_of(state.status, retry_at),
            reason=one_line(state.reason, 300),
            exit_code=code,
            retry_at=retry_at,
        )
        async with asyncio.timeout(_LAST_PUSH_S if run.stopped else None):
            snapshot = await run.save(ended)
        self._report(RunStep.RESULT, snapshot.mark)
        return reported(await self._leave_result(store, snapshot), lean(state))

    async def _serve(self, run: "HostRun", child: Child) -> int:
        """Answer the child until it exits, and return its exit code."""
        exited = asyncio.ensure_future(child.exited())
        stopping = asyncio.ensure_future(self._stopping.wait())
        reading = asyncio.ensure_future(child.requests())
        handling: asyncio.Future[WorkerAnswer] | None = None
        admits = False
        try:
            while not exited.done():
                waited = {exited, reading if handling is None else handling}
                await asyncio.wait({*waited, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if stopping.done() and not run.stopped:
                    run.stop()
                    child.ask_to_stop()
                    stopping = asyncio.ensure_future(asyncio.Event().wait())
                    if handling is not None and not handling.done():
                        handling.cancel()
                        # No answer: the runner itself no longer waits for one, and a refusal would mean another end.
                        handling, reading = None, asyncio.ensure_future(child.requests())
                if handling is not None and handling.done():
                    await child.answer(handling.result())
                    if admits and handling.result().accepted:
                        self._report(RunStep.AGENT, run.snapshot.mark)
                    handling = None
                    reading = asyncio.ensure_future(child.requests())
                elif handling is None and reading.done():
                    request = reading.result()
                    if request is None:
                        return await exited
                    admits = request.admits
                    handling = asyncio.ensure_future(self._handle(run, request))
            return exited.result()
        finally:
            for task in (exited, stopping, reading, handling):
                if task is not None:
                    task.cancel()

    async def _handle(self, run: "HostRun", request: RunnerRequest) -> WorkerAnswer:
        try:
            await run.take(request)
            if request.admits:
                state = run.state()
                assert state is not None  # noqa: S101 - it is saved before the request
                snapshot = await run.save(_standing(run.snapshot.mark, state))
                self._report(RunStep.GATE, snapshot.mark)
        except FencedOff as error:
            run.taken_over = str(error)
            return WorkerAnswer(accepted=False, why=f"another host has taken the change over: {error}")
        except SpoolError as error:
            return WorkerAnswer(accepted=False, why=str(error))
        return WorkerAnswer(accepted=True)

    async def _leave_result(self, store: SnapshotStore, snapshot: StoredSnapshot) -> SnapshotMark:
        """Push the work of a change that is done to its branch, from where the branch was; return its mark.

        The snapshot says then that it was: without it, a queue that is rebuilt could not know.
        """
        mark = snapshot.mark
        if mark.stage is not ChangeStage.DONE or mark.delivered:
            return mark
        head = await store.head_of(snapshot.tree_commit)
        ref = f"refs/heads/{branch_of_change(mark.change)}"
        try:
            if held := [name for name in await store.names_in(head) if f"/{STATE}/" in f"/{name}"]:
                raise CommandFailed(f"its commits hold Spool's own state, {one_line(held[0], 200)}")
            await self._unless_stopped(store.push(head, mark.left, ref, url=self._task.remote))
            mark = msgspec.structs.replace(mark, delivered=True)
        except (FencedOff, Refused, CommandFailed) as error:
            reason = f"{mark.reason}, but its branch was not updated: {error}"
            mark = msgspec.structs.replace(mark, reason=reason, exit_code=int(ExitCode.UNCOMMITTED))
        self._report(RunStep.COMPLETION, mark)
        if mark.delivered:
            with suppress(FencedOff, CommandFailed):  # the work is where it belongs, whatever the snapshot says
                noted = await store.remark(snapshot, mark)
                await self._unless_stopped(store.push(noted.commit, snapshot.commit, self._ref))
        return mark

    async def _unless_stopped(self, push: Coroutine[Any, Any, None]) -> None:
        """Await a push for as long as nobody stops the change; a remote that answers has a moment more."""
        pushing, stopping = asyncio.ensure_future(push), asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({pushing, stopping}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({pushing}, timeout=_LAST_RESULT_S)
            if not pushing.done():
                raise CommandFailed("it was stopped before its remote answered")
            pushing.result()
        finally:
            pushing.cancel()
            stopping.cancel()


async def _last_summary(store: SnapshotStore, snapshot: StoredSnapshot) -> LoopSummary | None:
    """Return where a loop stood at its last snapshot."""
    data = (await store.files(snapshot.commit)).get("state.json")
    with suppress(msgspec.MsgspecError):
        return lean(loop_in(data, LoopState)) if data else None
    return None


def lean(state: LoopSummary) -> LoopSummary:
    """Return the summary of a loop without what agents and tests said: it goes through the queue."""
    memory: PlanMemory = PromptMemory(proof=state.memory.proof)
    if isinstance(state.memory, StoryMemory):
        memory = StoryMemory(story=state.story, retries=state.memory.retries, proof=state.memory.proof)
    return msgspec.structs.replace(summarized(state), memory=memory, task="", reason=one_line(state.reason, 200))


def _standing(mark: SnapshotMark, state: LoopState) -> SnapshotMark:
    """Return a mark with the figures of a loop's state."""
    return msgspec.structs.replace(
        mark,
        iteration=state.iteration,
        story=state.story.id if state.story else "",
        cost_usd=state.usage.cost_usd,
    )


def reported(mark: SnapshotMark, summary: LoopSummary | None) -> TurnReport:
    """Return the end of an attempt as it goes through the queue."""
    return TurnReport(
        stage=str(mark.stage),
        reason=mark.reason,
        exit_code=mark.exit_code,
        retry_at=mark.retry_at.isoformat() if mark.retry_at else "",
        iteration=mark.iteration,
        epoch=mark.epoch,
        holder=mark.holder,
        summary=packed(summary),
    )
