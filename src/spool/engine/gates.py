"""Gates: checks that Spool runs when the agent claims completion."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from spool.domain.criteria import check_command, check_tasks
from spool.domain.gate import GateResult
from spool.domain.story import StoryList, missing_from
from spool.errors import ChangeError

BY_HAND = "marked as done by a person"


class Gate(Protocol):
    """One check."""

    async def check(self) -> GateResult:
        """Run the check and return its result."""
        ...


async def run_gates(gates: Sequence[Gate]) -> tuple[GateResult, ...]:
    """Run gates in order, up to the first that refuses."""
    results: list[GateResult] = []
    for gate in gates:
        results.append(await gate.check())
        if not results[-1].passed:
            break
    return tuple(results)


class StoryBoxes:
    """Passes when all boxes of the next story are ticked. A deleted box is an error, not a finished task."""

    def __init__(self, story_id: str, known: StoryList, read: Callable[[], Awaitable[StoryList]]) -> None:
        self._story_id = story_id
        self._known = known
        self._read = read

    async def check(self) -> GateResult:
        """Compare the story with the one given to the agent."""
        now = await self._read()
        if gone := missing_from(now, self._known):
            raise ChangeError(f"the agent removed {gone} from tasks.md")
        story = now.find(self._story_id)
        if story is None:
            raise ChangeError(f"the agent removed story {self._story_id} from tasks.md")
        still_open = ", ".join(task.id for task in story.open)
        if not still_open:
            return GateResult(name="tasks", passed=True, why="all boxes are ticked")
        return GateResult(
            name="tasks",
            passed=False,
            why=f"boxes are open: {still_open}",
            tell_agent=f"You said COMPLETE, but these tasks are open: {still_open}",
        )


class TaskList:
    """Passes when no box in tasks.md is open."""

    def __init__(self, read: Callable[[], Awaitable[str | None]]) -> None:
        self._read = read

    async def check(self) -> GateResult:
        """Read tasks.md."""
        return check_tasks(await self._read())


class Command:
    """Passes when the user's command succeeds."""

    def __init__(self, command: str, run: Callable[[str], Awaitable[int | None]]) -> None:
        self._command = command
        self._run = run

    async def check(self) -> GateResult:
        """Run the command."""
        return check_command(self._command, await self._run(self._command))


class ByHand:
    """Passes when a person marked the work as done."""

    def __init__(self, *, done: bool) -> None:
        self._done = done

    async def check(self) -> GateResult:
        """Return whether a person marked it."""
        return GateResult(name="manual", passed=self._done, why=BY_HAND if self._done else "a person decides")
