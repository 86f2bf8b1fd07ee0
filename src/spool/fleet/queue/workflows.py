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


class AccountBook:
    """What waits and runs in an account, for its workflow and for whoever reads its history."""

    def __init__(self, state: AccountState) -> None:
        self.cap = state.cap
        self.inherited = set(state.running)
        """Started by an earlier part of the history, which has other children."""
        self.started: set[str] = set()
        self.waiting: dict[str, QueuedChange] = {}
        for one in state.waiting:
            self.enqueue(one)

    @property
    def running(self) -> set[str]:
        """The ids of all that was started and has not ended."""
        return self.started | self.inherited

    @property
    def state(self) -> AccountState:
        """All of it, for the next part of the history."""
        common: dict[QueuedChange, dict[str, str]] = {}
        for change_id, task in self.waiting.items():
            common.setdefault(replace(task, change=""), {})[change_id] = task.change
        waiting = [WaitingChanges(common=task, changes=changes) for task, changes in common.items()]
        return AccountState(cap=self.cap, waiting=waiting, running=sorted(self.running))

    def enqueue(self, waiting: WaitingChanges) -> None:
        """Add changes; one that is waiting or running already stays as it is."""
        for change_id, change in waiting.changes.items():
            if change_id not in self.running:
                self.waiting.setdefault(change_id, replace(waiting.common, change=change))

    def withdraw(self, ids: list[str]) -> None:
        """Remove changes that have not started."""
        for change_id in ids:
            self.waiting.pop(change_id, None)

    def start(self, change_id: str) -> None:
        """Note that a change starts."""
        self.started.add(change_id)
        self.waiting.pop(change_id, None)


@workflow.defn(name="Account")
class AccountQueue:
    """Starts the changes of one account, never more at once than its cap.

    Each is a child: if it ends in any way, killed by an operator included, the server says so, and its slot is free.
    """

    @workflow.init
    def __init__(self, ledger: AccountState) -> None:
        self._book = AccountBook(ledger)

    @workflow.run
    async def run(self, ledger: AccountState) -> None:  # noqa: ARG002 - `__init__` takes it
        """Start changes as long as the account exists."""
        watching = asyncio.create_task(self._watch())
        while True:
            await workflow.wait_condition(lambda: self._may_start() or self._is_long())
            if self._is_long() and workflow.all_handlers_finished():
                watching.cancel()
                workflow.continue_as_new(self._book.state)
            while self._may_start():
                await self._start(next(iter(self._book.waiting)))

    @workflow.signal
    def enqueue(self, waiting: WaitingChanges) -> None:
        """Add changes; one that is waiting or running already stays as it is."""
        self._book.enqueue(waiting)

    @workflow.signal
    def set_cap(self, cap: int) -> None:
        """Change the cap; what runs continues."""
        self._book.cap = cap

    @workflow.signal
    def withdraw(self, ids: list[str]) -> None:
        """Remove changes that have not started from the queue."""
        self._book.withdraw(ids)

    def _may_start(self) -> bool:
        book = self._book
        return bool(book.waiting) and (not book.cap or len(book.running) < book.cap)

    def _is_long(self) -> bool:
        return workflow.info().is_continue_as_new_suggested()

    async def _start(self, change_id: str) -> None:
        task = self._book.waiting[change_id]
        self._book.start(change_id)
        try:
            child = await workflow.start_child_workflow(
                ChangeRun.run,
                Course(task=task),
                id=change_id,
                memo={"remote": task.remote, "account": task.account},
                parent_close_policy=workflow.ParentClosePolicy.ABANDON,
            )
        except WorkflowAlreadyStartedError:
            self._book.started.discard(change_id)
            return
        asyncio.create_task(self._outlast(change_id, child))  # noqa: RUF006 - the workflow's own loop keeps it

    async def _outlast(self, change_id: str, child: "workflow.ChildWorkflowHandle[ChangeRun, TurnReport]") -> None:
        try:
            await child
        except ChildWorkflowError:
            pass  # it ended, and that is all that counts here
        finally:
            self._book.started.discard(change_id)

    async def _watch(self) -> None:
        """Poll until the changes that an earlier part of the history started have ended: this has other children."""
        while self._book.inherited:
            still = await workflow.execute_activity(
                "still_open", sorted(self._book.inherited), result_type=list[str], start_to_close_timeout=_CHORE
            )
            self._book.inherited = set(still)
            if still:
                await workflow.sleep(_LOOK)
