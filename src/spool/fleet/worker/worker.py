"""A worker: takes changes from the queue, and runs each as an attempt under a lease."""

import asyncio
import logging
import signal
import time
from contextlib import suppress
from datetime import timedelta
from typing import Protocol

from temporalio import activity
from temporalio.activity import ActivityCancellationDetails
from temporalio.client import (
    AsyncActivityCancelledError,
    AsyncActivityHandle,
    Client,
    WorkflowExecutionStatus,
    WorkflowFailureError,
)
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import PollerBehaviorSimpleMaximum, Worker

from spool.domain.loop.verdict import ExitCode
from spool.domain.text.plain_text import counted
from spool.errors import FencedOff, SpoolError
from spool.fleet.queue.connection import connect
from spool.fleet.queue.payloads import Turn, TurnReport, packed
from spool.fleet.queue.workflows import RUNS, AccountQueue, ChangeRun
from spool.fleet.values import PROTOCOL, Token, lease_left, protocol_of, queue_of
from spool.fleet.worker.fleet_run import FleetRun, NoSnapshot, ReportStep
from spool.fleet.worker.hosts import Host, sweep, tidy_stores
from spool.fleet.worker.readiness import CannotRun

_ELSEWHERE = timedelta(seconds=30)
"""Before a change that cannot run here is offered again."""
_RECONNECT_S = 2.0
_CHORES = 4
_STICKY = timedelta(seconds=2)
"""The wait of a workflow for the worker that knows it; its history is short, so any other will do."""
_SEE_OFF_S = 30.0
_GIVEN_AWAY = "the queue has given the change to another host"


class Say(Protocol):
    """Prints for the person who started the worker."""

    def __call__(self, line: str, *, hint: str = "") -> None:
        """Print a line, and what to do about it."""


class Service:
    """One worker process."""

    def __init__(
        self, host: Host, *, slots: int, account: str = "", once: bool = False, report: ReportStep, say: Say
    ) -> None:
        self._host = host
        self._slots = 1 if once else slots
        self._account = account
        self._once = once
        self._report = report
        self._say = say
        self._leaving = asyncio.Event()
        self._client: Client | None = None
        self._taken = ""
        self._ended = False

    async def run(self) -> ExitCode:
        """Take work until a signal comes, or for one change; return whether that one has ended."""
        loop = asyncio.get_running_loop()
        for signum in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(signum, self._leaving.set)
        logging.getLogger("temporalio.activity").setLevel(logging.ERROR)  # it prints a traceback for each lost lease
        if swept := sweep():
            self._say(f"Removed what workers that died have left: {', '.join(swept)}")
        self._client = client = await self._connected()
        if client is None:
            return ExitCode.COMPLETE
        queue = queue_of(self._account)
        flow = Worker(
            client,
            task_queue=queue,
            workflows=[ChangeRun, AccountQueue],
            activities=[self.still_open],
            max_concurrent_activities=_CHORES,
            sticky_queue_schedule_to_start_timeout=_STICKY,
            identity=self._host.holder,
        )
        # Plain slots and one poll at a time: slot suppliers of one's own deadlock with heartbeats (SDK 1.35).
        runs = Worker(
            client,
            task_queue=f"{queue}{RUNS}",
            activities=[self.run_change],
            max_concurrent_activities=self._slots,
            activity_task_poller_behavior=PollerBehaviorSimpleMaximum(maximum=1),
            identity=self._host.holder,
        )
        async with flow:
            async with runs:
                self._say(f"Worker {self._host.name} takes changes from {queue}, {self._slots} at a time.")
                await self._say_if_too_old(client)
                tidying = asyncio.create_task(tidy_stores())
                await self._leaving.wait()
                tidying.cancel()
                self._say("Stopping; other workers continue what runs here.")
            await self._see_off(client)
        return ExitCode.POSTPONED if self._once and self._taken and not self._ended else ExitCode.COMPLETE

    async def _say_if_too_old(self, client: Client) -> None:
        """Warn if changes wait for a newer protocol's workers: this one takes none of them."""
        query = "WorkflowType = 'ChangeRun' AND ExecutionStatus = 'Running'"
        with suppress(RPCError):
            queues = [execution.task_queue async for execution in client.list_workflows(query)]
            if newer := sum(protocol_of(queue) > PROTOCOL for queue in queues):
                what = counted(newer, "change")
                self._say(f"This worker is too old for {what} in the queue (protocol {PROTOCOL}): upgrade Spool here.")

    async def _see_off(self, client: Client) -> None:
        """With one change to run, stay until the queue has noted its end: there may be no other worker."""
        if self._ended and self._once:
            with suppress(TimeoutError, WorkflowFailureError, RPCError):
                async with asyncio.timeout(_SEE_OFF_S):
                    await client.get_workflow_handle(self._taken).result()

    async def _connected(self) -> Client | None:
        """Return a client once the server answers; None if a signal comes first."""
        said = False
        while not self._leaving.is_set():
            try:
                return await connect()
            except SpoolError as error:
                if error.exit_code != 1:
                    raise
                if not said:
                    self._say(f"{error}; trying again", hint=error.hint)
                said = True
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._leaving.wait(), _RECONNECT_S)
        return None

    @activity.defn(name="still_open")
    async def still_open(self, ids: list[str]) -> list[str]:
        """Return those of some changes that have not ended."""
        assert self._client is not None  # noqa: S101 - activities run once there is a client
        found = []
        for change_id in ids:
            with suppress(RPCError):  # NOT_FOUND: the server has forgotten it
                described = await self._client.get_workflow_handle(change_id).describe()
                if described.status is WorkflowExecutionStatus.RUNNING:
                    found.append(change_id)
        return found

    @activity.defn(name="run_change")
    async def run_change(self, turn: Turn) -> TurnReport:
        """Run a change until it ends, waits, or is another host's."""
        assert self._client is not None  # noqa: S101 - as above
        info = activity.info()
        self._taken = info.workflow_id or ""
        attempt = FleetRun(turn.task, Token(turn.started, turn.turn, info.attempt), self._host, self._report)
        handle = self._client.get_async_activity_handle(task_token=info.task_token)
        lease = _Lease(attempt, handle, turn.task.heartbeat_s)
        try:
            report = await lease.hold()
            self._ended = not report.retry_at
            return report
        except SpoolError as error:
            self._say(f"{turn.task.change}: {error}")
            raise _for_the_queue(error) from None
        finally:
            if self._once:
                self._leaving.set()


class _Lease:
    """Runs an attempt for as long as the server agrees that it is this worker's."""

    def __init__(self, attempt: FleetRun, handle: AsyncActivityHandle, timeout_s: float) -> None:
        self._attempt = attempt
        self._handle = handle
        self._timeout_s = timeout_s
        self._renewed = _now()

    async def hold(self) -> TurnReport:
        """Return how the attempt ended; raise FencedOff if the lease is lost first."""
        body = asyncio.create_task(self._attempt.run())
        keeping = asyncio.create_task(self._keep())
        try:
            while not body.done():
                try:
                    await asyncio.wait({body, keeping}, return_when=asyncio.FIRST_COMPLETED)
                except asyncio.CancelledError:
                    self._heed(activity.cancellation_details())
                    continue
                if keeping.done() and not body.done():
                    raise FencedOff(keeping.result())
            return body.result()
        finally:
            keeping.cancel()
            await _ended(body)

    def _heed(self, details: ActivityCancellationDetails | None) -> None:
        """Stop the run if a person asks for it; else raise, and the run ends without a last snapshot."""
        if details is not None and details.cancel_requested:
            self._attempt.stop()
        elif details is not None and not details.worker_shutdown:
            raise FencedOff(_GIVEN_AWAY) from None
        else:
            raise SpoolError("the worker is stopping") from None

    async def _keep(self) -> str:
        """Renew the lease until it is lost, and return why.

        `AsyncActivityHandle.heartbeat` is the only heartbeat whose success is known; the other one is throttled and
        silent, but without it the SDK takes the activity for dead. The last request has a twentieth of the timeout, so
        that an agent that takes 8 s to stop has stopped before 60 s are over, and a worker that was frozen still asks.
        """
        timeout_s = self._timeout_s
        while True:
            began, summary = _now(), self._attempt.summary()
            details = [packed(summary)] if summary else []
            activity.heartbeat(*details)
            try:
                limit_s = min(timeout_s / 4, max(self._left(), timeout_s / 20))
                await asyncio.wait_for(self._handle.heartbeat(*details), limit_s)
                self._renewed = began
            except AsyncActivityCancelledError:
                self._renewed = began
                self._attempt.stop()
            except RPCError as error:
                if error.status is RPCStatusCode.NOT_FOUND:
                    return _GIVEN_AWAY
            except TimeoutError:
                pass
            if self._left() <= 0:
                return f"the lease could not be renewed for {_now() - self._renewed:.0f} s"
            await asyncio.sleep(min(timeout_s / 5, self._left()))

    def _left(self) -> float:
        return lease_left(_now() - self._renewed, self._timeout_s)


async def _ended(body: asyncio.Task[TurnReport]) -> None:
    """Cancel an attempt and wait until its child has ended.

    The queue may cancel more than once. A cancelled `await body` would cancel the attempt a second time, and its clone
    would be removed under a runner that is still writing.
    """
    body.cancel()
    while not body.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait({body})
    if not body.cancelled():
        body.exception()  # asked for, so that asyncio does not report it as lost


def _for_the_queue(error: SpoolError) -> ApplicationError:
    """Return an error with which the queue offers the change again, or not."""
    return ApplicationError(
        str(error),
        type=type(error).__name__,
        non_retryable=isinstance(error, NoSnapshot),
        next_retry_delay=_ELSEWHERE if isinstance(error, CannotRun) else None,
    )


def _now() -> float:
    """Return seconds on a clock that runs on while a machine sleeps: a lease does as well."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
