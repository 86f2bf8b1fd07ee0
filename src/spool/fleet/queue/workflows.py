"""The workflows: one per change, and one per account with a cap.

They are deterministic, and their histories are replayed by later versions: change the order of their commands only
behind `workflow.patched`. `tests/fleet/histories` has recorded ones.
"""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, CancelledError, ChildWorkflowError, WorkflowAlreadyStartedError

with workflow.unsafe.imports_passed_through():
    from spool.fleet.queue.payloads import QueuedChange, Turn, TurnReport

RUNS = "/runs"
"""The suffix of the queue for runs; workflows and chores must not wait for a free slot."""
_LONGEST = timedelta(days=30)
_CHORE = timedelta(seconds=60)
_LOOK = timedelta(seconds=30)
_STOPPED = TurnReport(stage="stopped", reason="stopped before it ran")


@dataclass(frozen=True, kw_only=True)
class Course:
    """A change on its way; the rest is of an earlier part of its history."""

    task: QueuedChange
    started: int = 0
    turn: int = 0


@workflow.defn(name="ChangeRun")
class ChangeRun:
    """Runs one change: turn after turn, with a sleep in between where the agent has met a rate limit."""

    @workflow.run
    async def run(self, course: Course) -> TurnReport:
        """Return how the change ended."""
        started = course.started or int(workflow.info().start_time.timestamp() * 1e6)
        turn = course.turn
        while True:
            turn += 1
            try:
                report = await self._turn(Turn(task=course.task, started=started, turn=turn))
                if not report.retry_at:
                    return report
                await self._sleep(report.retry_at)
            except (ActivityError, asyncio.CancelledError) as error:
                if isinstance(error, ActivityError) and not isinstance(error.cause, CancelledError):
                    raise
                return _STOPPED
            if workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new(replace(course, started=started, turn=turn))

    async def _turn(self, turn: Turn) -> TurnReport:
        report: TurnReport = await workflow.execute_activity(
            "run_change",
            turn,
            result_type=TurnReport,
            task_queue=f"{workflow.info().task_queue}{RUNS}",
            start_to_close_timeout=_LONGEST,
            heartbeat_timeout=timedelta(seconds=turn.task.heartbeat_s),
            retry_policy=RetryPolicy(
                initial_interval=timedelta(seconds=1), backoff_coefficient=2.0, maximum_interval=timedelta(seconds=60)
            ),
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        )
        return report

    async def _sleep(self, until: str) -> None:
        seconds = (datetime.fromisoformat(until) - workflow.now()).total_seconds()
        if seconds > 0:
            await workflow.sleep(timedelta(seconds=seconds))


@dataclass(frozen=True, kw_only=True)
class WaitingChanges:
    """Changes that wait for their account, by id, with what they have in common: 10,000 fit into one payload."""

    common: QueuedChange
    changes: dict[str, str]
    """The change of each id."""


@dataclass(frozen=True, kw_only=True)
class AccountState:
    """An account's state, handed from one part of its history to the next."""

    cap: int = 0
    """The most changes that run at once; 0 for no limit."""
    waiting: list[WaitingChanges] = field(default_factory=list)
    running: list[str] = field(default_factory=list)
    """Ids of changes that an earlier part of the history has started."""


@workflow.defn(name="Account")
class AccountQueue:
    """Starts the changes of one account, never more at once than its cap.

    Each is a child: if it ends in any way, killed by an operator included, the server says so, and its slot is free.
    """

    @workflow.init
    def __init__(self, ledger: AccountState) -> None:
        self._cap = ledger.cap
        self._waiting = {waiting_id: replace(one.common, change=change) for one in ledger.waiting
                         for waiting_id, change in one.changes.items()}  # fmt: skip
        self._inherited = set(ledger.running)
        self._started: set[str] = set()

    @workflow.run
    async def run(self, ledger: AccountState) -> None:  # noqa: ARG002 - `__init__` takes it
        """Start changes as long as the account exists."""
        watching = asyncio.create_task(self._watch())
        while True:
            await workflow.wait_condition(lambda: self._may_start() or self._is_long())
            if self._is_long() and workflow.all_handlers_finished():
                watching.cancel()
                workflow.continue_as_new(self._ledger())
            while self._may_start():
                change_id = next(iter(self._waiting))
                await self._start(change_id, self._waiting.pop(change_id))

    @workflow.signal
    def enqueue(self, waiting: WaitingChanges) -> None:
        """Add changes; one that is waiting or running already stays as it is."""
        for change_id, change in waiting.changes.items():
            if change_id not in self._started | self._inherited:
                self._waiting.setdefault(change_id, replace(waiting.common, change=change))

    @workflow.signal
    def set_cap(self, cap: int) -> None:
        """Change the cap; what runs continues."""
        self._cap = cap

    @workflow.signal
    def withdraw(self, ids: list[str]) -> None:
        """Remove changes that have not started from the queue."""
        for change_id in ids:
            self._waiting.pop(change_id, None)

    def _may_start(self) -> bool:
        running = len(self._started) + len(self._inherited)
        return bool(self._waiting) and (not self._cap or running < self._cap)

    def _is_long(self) -> bool:
        return workflow.info().is_continue_as_new_suggested()

    async def _start(self, change_id: str, task: QueuedChange) -> None:
        self._started.add(change_id)
        try:
            child = await workflow.start_child_workflow(
                ChangeRun.run,
                Course(task=task),
                id=change_id,
                memo={"remote": task.remote, "account": task.account},
                parent_close_policy=workflow.ParentClosePolicy.ABANDON,
            )
        except WorkflowAlreadyStartedError:
            self._started.discard(change_id)
            return
        asyncio.create_task(self._outlast(change_id, child))  # noqa: RUF006 - the workflow's own loop keeps it

    async def _outlast(self, change_id: str, child: "workflow.ChildWorkflowHandle[ChangeRun, TurnReport]") -> None:
        try:
            await child
        except ChildWorkflowError:
            pass  # it ended, and that is all that counts here
        finally:
            self._started.discard(change_id)

    async def _watch(self) -> None:
        """Poll until the changes that an earlier part of the history started have ended: this has other children."""
        while self._inherited:
            still = await workflow.execute_activity(
                "still_open", sorted(self._inherited), result_type=list[str], start_to_close_timeout=_CHORE
            )
            self._inherited = set(still)
            if self._inherited:
                await workflow.sleep(_LOOK)

    def _ledger(self) -> AccountState:
        common: dict[QueuedChange, dict[str, str]] = {}
        for change_id, task in self._waiting.items():
            common.setdefault(replace(task, change=""), {})[change_id] = task.change
        return AccountState(
            cap=self._cap,
            waiting=[WaitingChanges(common=task, changes=changes) for task, changes in common.items()],
            running=sorted(self._started | self._inherited),
        )
