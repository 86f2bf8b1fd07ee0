"""Runs the `openspec` command, if installed. Stories come from the files, since it drops their groups."""

import shutil
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import msgspec

from spool.decoders import decoded
from spool.domain.change.story import StoryList

_Result = TypeVar("_Result")

Ask = Callable[[Sequence[str]], Awaitable[bytes]]
"""Runs a command in the project and returns its output; the composition root provides it."""


class OpenSpec:
    """Collects the `openspec` command's objections to a change. They are advice, never a verdict."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._checked = False

    @staticmethod
    def installed() -> bool:
        """Whether `openspec` is on PATH."""
        return shutil.which("openspec") is not None

    async def concerns(self, change_id: str, stories: StoryList) -> list[str]:
        """Return openspec's objections; planning and validity are checked only once."""
        found = await self._numbers(change_id, stories)
        if not self._checked:
            self._checked = True
            found += await self._planning(change_id)
            found += await self._validity(change_id)
        return found

    async def _planning(self, change_id: str) -> list[str]:
        answer = await self._query(["openspec", "status", "--change", change_id, "--json"], _OpenspecStatus)
        # `isComplete` means that the planning artifacts exist, not that the tasks are done.
        if answer is None or answer.isComplete:
            return []
        return [f"openspec: the planning of '{change_id}' is not finished"]

    async def _validity(self, change_id: str) -> list[str]:
        answer = await self._query(["openspec", "validate", change_id, "--strict", "--json"], _Validation)
        issues = [issue.message for item in (answer.items if answer else []) for issue in item.issues if not item.valid]
        return [f"openspec: '{change_id}' is not valid: {'; '.join(issues[:3])}"] if issues else []

    async def _numbers(self, change_id: str, stories: StoryList) -> list[str]:
        answer = await self._query(["openspec", "list", "--json"], _Listing)
        ours = sum(len(story.tasks) for story in stories.stories)
        for change in answer.changes if answer else []:
            if change.name == change_id and change.totalTasks != ours:
                return [f"openspec counts {change.totalTasks} tasks in '{change_id}', Spool counts {ours}"]
        return []

    async def _query(self, argv: Sequence[str], kind: type[_Result]) -> _Result | None:
        try:
            return decoded(await self._ask(argv), kind)
        except msgspec.MsgspecError:
            return None


class _OpenspecStatus(msgspec.Struct):
    isComplete: bool = True


class _Issue(msgspec.Struct):
    message: str = ""


class _OpenspecItem(msgspec.Struct):
    valid: bool = True
    issues: list[_Issue] = []


class _Validation(msgspec.Struct):
    items: list[_OpenspecItem] = []


class _Listed(msgspec.Struct):
    name: str = ""
    totalTasks: int = 0


class _Listing(msgspec.Struct):
    changes: list[_Listed] = []
