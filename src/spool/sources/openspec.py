"""OpenSpec: its folders, and its command. Stories come from the files, since the command drops their groups."""

from typing import TypeVar

import msgspec

from spool.decoders import decoded
from spool.domain.change.story import StoryList
from spool.domain.text.plain_text import one_line
from spool.errors import SpoolError
from spool.sources.change_folders import ChangeFolders
from spool.sources.source import Printed, Run

_Result = TypeVar("_Result")
_LONGEST = 500


class _OpenSpecCommand:
    """Runs `openspec`. What it says before a story is advice, never a verdict."""

    name = "openspec"
    # Spool sends nothing that nobody configured; the notice about telemetry would also stand before what it says.
    env = {"OPENSPEC_TELEMETRY": "0"}  # noqa: RUF012 - a constant

    async def concerns(self, change_id: str, stories: StoryList, run: Run, *, first: bool) -> list[str]:
        """Return openspec's objections; planning and validity are checked only once."""
        found = await _numbers(change_id, stories, run)
        return found + (await _planning(change_id, run) + await _validity(change_id, run) if first else [])

    async def objections(self, change_id: str, run: Run) -> str:
        """Return what `openspec validate` says against a change; empty if it is valid."""
        done = await run(("validate", change_id, "--strict", "--no-interactive"))
        return "" if done.exit_code == 0 else _said(done) or f"exit code {done.exit_code}"

    async def archive(self, change_id: str, run: Run) -> str:
        """Archive a change and merge its specs."""
        done = await run(("archive", change_id, "--yes"))
        if done.exit_code != 0:
            raise SpoolError(f"openspec archive failed: {_said(done)}")
        return done.output.decode("utf-8", "replace").strip() or f"Archived {change_id}."


OPENSPEC = ChangeFolders("openspec", "openspec/changes", "OpenSpec", _OpenSpecCommand(), numbered=False)


def _said(done: Printed) -> str:
    return one_line((done.output.strip() or done.errors).decode("utf-8", "replace"), _LONGEST)


async def _planning(change_id: str, run: Run) -> list[str]:
    answer = await _query(run, _OpenspecStatus, "status", "--change", change_id, "--json")
    # `isComplete` means that the planning artifacts exist, not that the tasks are done.
    if answer is None or answer.isComplete:
        return []
    return [f"openspec: the planning of '{change_id}' is not finished"]


async def _validity(change_id: str, run: Run) -> list[str]:
    answer = await _query(run, _Validation, "validate", change_id, "--strict", "--json")
    issues = [issue.message for item in (answer.items if answer else []) for issue in item.issues if not item.valid]
    return [f"openspec: '{change_id}' is not valid: {'; '.join(issues[:3])}"] if issues else []


async def _numbers(change_id: str, stories: StoryList, run: Run) -> list[str]:
    answer = await _query(run, _Listing, "list", "--json")
    ours = sum(len(story.tasks) for story in stories.stories)
    for change in answer.changes if answer else []:
        if change.name == change_id and change.totalTasks != ours:
            return [f"openspec counts {change.totalTasks} tasks in '{change_id}', Spool counts {ours}"]
    return []


async def _query(run: Run, kind: type[_Result], *words: str) -> _Result | None:
    try:
        return decoded((await run(words)).output, kind)
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
