"""The queue as a person uses it: start, list, stop and retry changes, and set the cap of an account."""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

import msgspec

from spool.decoders import decoded
from spool.domain.loop.summary import LoopSummary
from spool.domain.text.plain_text import one_line
from spool.errors import Hint, UsageError
from spool.fleet.queue.connection import connect, require_extra
from spool.fleet.queue.payloads import QueuedChange, TurnReport, unpacked
from spool.fleet.values import queue_of

require_extra()
from temporalio.api.workflow.v1 import PendingActivityInfo  # noqa: E402 - the error above names the extra
from temporalio.client import (  # noqa: E402
    Client,
    WorkflowExecution,
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowHandle,
)
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy  # noqa: E402
from temporalio.exceptions import WorkflowAlreadyStartedError  # noqa: E402
from temporalio.service import RPCError, RPCStatusCode  # noqa: E402

from spool.fleet.queue.account_history import AccountLedger, AccountStanding, account_id, read_ledger  # noqa: E402
from spool.fleet.queue.workflows import AccountQueue, AccountState, ChangeRun, Course, WaitingChanges  # noqa: E402

_Result = TypeVar("_Result")
_AT_ONCE = 64
_CHANGE_RUN = "ChangeRun"
_BATCH = 1_000
"""Changes in one message to an account."""
_TAKEN = "it is already in the fleet"
_FRESH = 3
"""Events in the history of a change that no worker has seen."""
_UNSTARTED = "stopped before it ran"
_UNTAKEN = "stopped while no host had it"
_WAIT_S = 60.0


class FleetRow(msgspec.Struct, frozen=True, kw_only=True):
    """One change in the fleet."""

    id: str
    change: str
    status: str
    """queued, running, waiting, done, stuck, stopped or failed."""
    account: str = ""
    holder: str = ""
    attempt: int = 0
    reason: str = ""
    exit_code: int | None = None
    remote: str = ""
    loop: LoopSummary | None = None
    """The loop, as of its last sign of life."""


class Queue:
    """The changes in the fleet."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def taken(self, ids: Sequence[str]) -> dict[str, str]:
        """Return those of some changes that are waiting or running."""
        waiting = {change_id for ledger in await self._ledgers() for change_id in ledger.standing.ids}
        if len(ids) > _AT_ONCE:  # a list may lag behind by a moment; the start of a change is what refuses for sure
            query = f"WorkflowType = '{_CHANGE_RUN}' AND ExecutionStatus = 'Running'"
            waiting |= {execution.id async for execution in self._client.list_workflows(query, page_size=_BATCH)}
            return {key: _TAKEN for key in ids if key in waiting}
        return await self.opened(ids) | {key: _TAKEN for key in ids if key in waiting}

    async def opened(self, ids: Sequence[str]) -> dict[str, str]:
        """Return those of some changes that run, or wait for a worker, at this moment."""
        found = await _gathered([self._described(change_id) for change_id in ids])
        return {key: _TAKEN for key, one in zip(ids, found, strict=True) if _is_open(one)}

    async def start(self, common: QueuedChange, changes: Mapping[str, str]) -> dict[str, str]:
        """Put changes into the queue, by their ids; return those that were refused, and why."""
        if common.account:
            await self._enqueue(common, changes)
            return {}
        tasks = {key: replace(common, change=change) for key, change in changes.items()}
        found = await _gathered([self._started(key, task) for key, task in tasks.items()])
        return {key: _TAKEN for key, is_new in zip(tasks, found, strict=True) if not is_new}

    async def rows(self, repository: str = "") -> list[FleetRow]:
        """Return all changes that the server knows, the running ones with their loops; of one repository or all."""
        prefix = f" AND WorkflowId STARTS_WITH '{repository}/'" if repository else ""
        query = f"WorkflowType = '{_CHANGE_RUN}'{prefix}"
        latest: dict[str, WorkflowExecution] = {}
        async for execution in self._client.list_workflows(query):
            latest.setdefault(execution.id, execution)  # newest first
        rows = await _gathered([self._row(execution) for execution in latest.values()])
        found = {row.id: row for row in rows}
        for ledger in await self._ledgers():
            waiting = {key: _queued(key, task) for key, task in ledger.waiting.items()}
            found |= {
                key: row for key, row in waiting.items() if key.startswith(f"{repository}/" if repository else "")
            }
        return sorted(found.values(), key=lambda row: row.id)

    async def row(self, change_id: str) -> FleetRow:
        """Return one change."""
        described = await self._described(change_id)
        if not _is_open(described) and (task := await self._waiting(change_id)) is not None:
            return _queued(change_id, task)
        if described is None:
            raise _unknown(change_id)
        return await self._row(described)

    async def stop(self, change_id: str) -> FleetRow:
        """Stop a change, wait until its agent has exited, and return how it ended."""
        if (task := await self._waiting(change_id)) is not None:
            await self._account(task.account).signal(AccountQueue.withdraw, [change_id])
            return msgspec.structs.replace(_queued(change_id, task), status="stopped", reason=_UNSTARTED)
        row = await self.row(change_id)
        handle = self._client.get_workflow_handle(change_id)
        if row.status == "queued":  # at once: there may be no worker to hear a request
            await handle.terminate(_UNTAKEN)
        elif row.status in ("running", "waiting"):
            await handle.cancel()
            with suppress(WorkflowFailureError, TimeoutError):
                async with asyncio.timeout(_WAIT_S):
                    await handle.result()
        return await self.row(change_id)

    async def task_of(self, change_id: str) -> QueuedChange:
        """Return what was submitted last under an id."""
        if (task := await self._waiting(change_id)) is not None:
            return task
        handle = self._client.get_workflow_handle(change_id)
        if await self._described(change_id) is None:
            raise _unknown(change_id)
        try:
            async for event in handle.fetch_history_events():
                started = event.workflow_execution_started_event_attributes
                (course,) = await self._client.data_converter.decode(started.input.payloads, [Course])
                assert isinstance(course, Course)  # noqa: S101 - for the type checker
                return course.task
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
        raise _unknown(change_id)

    async def set_cap(self, account: str, cap: int) -> None:
        """Set the cap of an account."""
        await self._client.start_workflow(
            AccountQueue.run,
            AccountState(),
            id=account_id(account),
            task_queue=queue_of(account),
            start_signal="set_cap",
            start_signal_args=[cap],
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        )

    async def standing(self, account: str) -> AccountStanding:
        """Return what waits and runs in an account."""
        return (await read_ledger(self._client, account)).standing

    async def _ledgers(self) -> list[AccountLedger]:
        query = "WorkflowType = 'Account' AND ExecutionStatus = 'Running'"
        names = sorted({one.id.removeprefix(account_id("")) async for one in self._client.list_workflows(query)})
        return await _gathered([read_ledger(self._client, name) for name in names])

    async def _waiting(self, change_id: str) -> QueuedChange | None:
        """Return the task of a change that waits for its account."""
        found = (ledger.waiting.get(change_id) for ledger in await self._ledgers())
        return next((task for task in found if task is not None), None)

    async def _enqueue(self, common: QueuedChange, changes: Mapping[str, str]) -> None:
        keys = list(changes)
        for batch in (keys[at : at + _BATCH] for at in range(0, len(keys), _BATCH)):
            waiting = WaitingChanges(common=common, changes={key: changes[key] for key in batch})
            await self._client.start_workflow(
                AccountQueue.run,
                AccountState(),
                id=account_id(common.account),
                task_queue=queue_of(common.account),
                start_signal="enqueue",
                start_signal_args=[waiting],
                id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            )

    async def _started(self, change_id: str, task: QueuedChange) -> bool:
        try:
            await self._client.start_workflow(
                ChangeRun.run,
                Course(task=task),
                id=change_id,
                task_queue=queue_of(task.account),
                memo={"remote": task.remote, "account": task.account},
                id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            )
        except WorkflowAlreadyStartedError:
            return False
        return True

    async def _described(self, change_id: str) -> WorkflowExecutionDescription | None:
        """Return the workflow of a change; None for an account's or another program's."""
        try:
            found = await self._client.get_workflow_handle(change_id).describe()
            return found if found.workflow_type == _CHANGE_RUN else None
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise

    async def _row(self, execution: WorkflowExecution) -> FleetRow:
        memo = await execution.memo()
        row = FleetRow(
            id=execution.id,
            change=execution.id.partition("/")[2],
            status="failed",
            account=str(memo.get("account", "")),
            remote=str(memo.get("remote", "")),
        )
        handle = self._client.get_workflow_handle_for(ChangeRun.run, execution.id, run_id=execution.run_id)
        if execution.status is WorkflowExecutionStatus.RUNNING:
            return _live(row, await handle.describe())
        try:
            return _ended(row, await handle.result() if _has_result(execution) else None, execution)
        except WorkflowFailureError as error:
            return msgspec.structs.replace(row, reason=one_line(str(error.cause.__cause__ or error.cause), 300))

    def _account(self, account: str) -> WorkflowHandle[AccountQueue, None]:
        return self._client.get_workflow_handle_for(AccountQueue.run, account_id(account))


def _queued(change_id: str, task: QueuedChange) -> FleetRow:
    return FleetRow(id=change_id, change=task.change, status="queued", account=task.account, remote=task.remote)


async def open_queue() -> Queue:
    """Connect, and return the queue."""
    return Queue(await connect())


def _has_result(execution: WorkflowExecution) -> bool:
    return execution.status in (WorkflowExecutionStatus.COMPLETED, WorkflowExecutionStatus.FAILED)


def _live(row: FleetRow, described: WorkflowExecutionDescription) -> FleetRow:
    """Return a change that has not ended, with what its worker said last."""
    pending = list(described.raw_description.pending_activities)
    if not pending:
        untaken = described.raw_description.HasField("pending_workflow_task")
        fresh = described.history_length <= _FRESH
        return msgspec.structs.replace(row, status="queued" if fresh else "running" if untaken else "waiting")
    one = pending[0]
    said = [payload.data for payload in one.heartbeat_details.payloads]
    started = one.state != 1  # PENDING_ACTIVITY_STATE_SCHEDULED
    return msgspec.structs.replace(
        row,
        status="running" if started else "queued",
        holder=one.last_worker_identity if started else "",
        attempt=one.attempt,
        reason=_last_failure(one),
        loop=unpacked(decoded(said[0], str)) if said else None,
    )


def _last_failure(activity: PendingActivityInfo) -> str:
    """Return why the attempt before this one ended; empty for the first."""
    if not activity.HasField("last_failure"):
        return ""
    if activity.last_failure.HasField("timeout_failure_info"):
        return f"taken back from a host that was silent, attempt {activity.attempt}"
    return one_line(activity.last_failure.message, 300)


def _ended(row: FleetRow, report: TurnReport | None, execution: WorkflowExecution) -> FleetRow:
    if report is None:
        status = execution.status.name.lower() if execution.status else "unknown"
        reason = _UNTAKEN if status == "terminated" else f"its workflow was {status}"
        return msgspec.structs.replace(row, status="stopped", reason=reason)
    return msgspec.structs.replace(
        row,
        status=report.stage,
        reason=report.reason,
        exit_code=report.exit_code,
        holder=report.holder,
        loop=unpacked(report.summary),
    )


async def _gathered(work: Sequence[Coroutine[Any, Any, _Result]]) -> list[_Result]:
    """Await many requests, some at a time, and return their results in order."""
    limit = asyncio.Semaphore(_AT_ONCE)

    async def one(request: Coroutine[Any, Any, _Result]) -> _Result:
        async with limit:
            return await request

    return await asyncio.gather(*map(one, work))


def _is_open(described: WorkflowExecutionDescription | None) -> bool:
    return described is not None and described.status is WorkflowExecutionStatus.RUNNING


def _unknown(change_id: str) -> UsageError:
    return UsageError(f"{one_line(change_id, 80)} is not in the fleet", hint=Hint.FLEET_LIST)
