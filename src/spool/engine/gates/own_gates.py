"""Gates: checks that Spool runs when the agent claims completion."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from spool.domain.change.story import StoryList
from spool.domain.judging.gates.gate import GateResult
from spool.domain.loop.criteria import check_boxes, check_command, check_tasks
from spool.engine.gates.task_book import TaskBook

BY_HAND = "marked as done by a person"


class Gate(Protocol):
    """One check."""

    async def check(self) -> GateResult:
        """Run the check and return its result."""


async def run_gates(gates: Sequence[Gate]) -> tuple[GateResult, ...]:
    """Run gates in order, up to the first that refuses."""
    results: list[GateResult] = []
    for gate in gates:
        results.append(await gate.check())
        if not results[-1].passed:
            break
    return tuple(results)


class StoryBoxes:
    """Passes when all boxes of a story are ticked, as a person left them."""

    def __init__(self, story_id: str, read: Callable[[], Awaitable[StoryList]]) -> None:
        self._story_id = story_id
        self._read = read

    async def check(self) -> GateResult:
        """Look for open boxes."""
        story = (await self._read()).find(self._story_id)
        return check_boxes(story.open if story else ())


class BoxesGate:
    """Passes when no box in tasks.md is open, as a person left them."""

    def __init__(self, read: Callable[[], Awaitable[str | None]], book: TaskBook) -> None:
        self._read = read
        self._book = book

    async def check(self) -> GateResult:
        """Look for open boxes."""
        return check_tasks(await self._read(), self._book.ledger)


class Command:
    """Passes when the user's command succeeds."""

    def __init__(self, command: str, run: Callable[[], Awaitable[int | None]]) -> None:
        self._command = command
        self._run = run

    async def check(self) -> GateResult:
        """Run the command."""
        return check_command(self._command, await self._run())


class ByHand:
    """Passes when a person marked the work as done."""

    def __init__(self, *, done: bool) -> None:
        self._done = done

    async def check(self) -> GateResult:
        """Return whether a person marked it."""
        return GateResult(name="manual", passed=self._done, why=BY_HAND if self._done else "a person decides")
