"""Reads an account from its history, so that no worker of the account has to answer."""

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
from temporalio.api.common.v1 import Payload
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client
from temporalio.converter import DataConverter
from temporalio.service import RPCError, RPCStatusCode

from spool.fleet.queue.payloads import QueuedChange
from spool.fleet.queue.workflows import AccountBook, AccountState, WaitingChanges

_Value = TypeVar("_Value")
_ENDS = ("completed", "failed", "canceled", "timed_out", "terminated")
_OVER = {f"workflow_execution_{end}_event_attributes" for end in _ENDS}
_CHILD_OVER = {f"child_workflow_execution_{end}_event_attributes" for end in _ENDS}


class AccountStanding(msgspec.Struct, frozen=True, kw_only=True):
    """An account's queue."""

    cap: int = 0
    changes: dict[str, str] = {}
    """The changes that wait, by id."""
    running: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all its changes."""
        return (*self.changes, *self.running)


def account_id(account: str) -> str:
    """Return the id of an account's workflow."""
    return f"account/{account}"


async def read_ledger(client: Client, account: str) -> "AccountLedger":
    """Return the ledger of an account; an empty one if there is no such account."""
    ledger = AccountLedger(client.data_converter)
    try:
        async for event in client.get_workflow_handle(account_id(account)).fetch_history_events():
            await ledger.see(event)
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
    return ledger


class AccountLedger:
    """An account as its workflow knows it, event by event."""

    def __init__(self, converter: DataConverter) -> None:
        self._converter = converter
        self._book = AccountBook(AccountState())

    @property
    def waiting(self) -> dict[str, QueuedChange]:
        """The changes that wait, by id."""
        return self._book.waiting

    @property
    def standing(self) -> AccountStanding:
        """Its cap and changes."""
        changes = {key: task.change for key, task in self.waiting.items()}
        return AccountStanding(cap=self._book.cap, changes=changes, running=tuple(sorted(self._book.running)))

    async def see(self, event: HistoryEvent) -> None:
        """Process one event."""
        kind, book = event.WhichOneof("attributes") or "", self._book
        about: Any = getattr(event, kind, None)
        match kind:
            case "workflow_execution_started_event_attributes":
                self._book = AccountBook(await self._decoded(about.input.payloads, AccountState))
            case "workflow_execution_signaled_event_attributes":
                await self._signalled(about.signal_name, about.input.payloads)
            case "start_child_workflow_execution_initiated_event_attributes":
                book.start(about.workflow_id)
            case "start_child_workflow_execution_failed_event_attributes":
                book.started.discard(about.workflow_id)
            case "activity_task_completed_event_attributes":  # which changes of an earlier part still run
                book.inherited = set(await self._decoded(about.result.payloads, list[str]))
            case _ if kind in _CHILD_OVER:
                book.started.discard(about.workflow_execution.workflow_id)
            case _ if kind in _OVER:
                self._book = AccountBook(AccountState(cap=book.cap))

    async def _signalled(self, name: str, payloads: Sequence[Payload]) -> None:
        match name:
            case "enqueue":
                self._book.enqueue(await self._decoded(payloads, WaitingChanges))
            case "set_cap":
                self._book.cap = await self._decoded(payloads, int)
            case "withdraw":
                self._book.withdraw(await self._decoded(payloads, list[str]))

    async def _decoded(self, payloads: Sequence[Payload], kind: type[_Value]) -> _Value:
        (value,) = await self._converter.decode(payloads, [kind])
        found: _Value = value
        return found
