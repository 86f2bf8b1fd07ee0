"""What the engine needs of the world, each as small as it can be. `host` and `harness` provide them."""

from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from spool.domain.events import Event
from spool.domain.invocation import AgentRequest, Invocation, Traits
from spool.domain.state import Changes, IterationRecord, LoopState
from spool.domain.stream import StreamEvent

Emit = Callable[[Event], None]


class Decoder(Protocol):
    """Translates one agent's output, as it arrives, into stream events."""

    def feed(self, chunk: bytes) -> Iterable[StreamEvent]:
        """Take the next bytes of standard output."""
        ...

    def pause(self) -> Iterable[StreamEvent]:
        """The agent has fallen silent for a moment: give what is certain of an unfinished line."""
        ...

    def finish(self, stderr: str, side: str = "") -> Iterable[StreamEvent]:
        """The output is over; `stderr` is the end of standard error, `side` the side file of the invocation."""
        ...


class Harness(Protocol):
    """The adapter to one agent CLI."""

    @property
    def name(self) -> str:
        """How a person selects it."""
        ...

    @property
    def traits(self) -> Traits:
        """What a person should know of it."""
        ...

    def invoke(self, request: AgentRequest) -> Invocation:
        """Say what to run."""
        ...

    def decoder(self) -> Decoder:
        """Return a fresh decoder for one run's output."""
        ...


class Agent(Protocol):
    """A running agent process."""

    def read(self) -> bytes:
        """Return the next piece of standard output, or nothing if there is none now."""
        ...

    @property
    def exited(self) -> bool:
        """Whether the process, and everything it started, is gone."""
        ...

    @property
    def exit_code(self) -> int | None:
        """The exit code; negative for a signal, None while it runs."""
        ...

    @property
    def truncated(self) -> bool:
        """Whether somebody cut the output while it was read."""
        ...

    @property
    def bytes_seen(self) -> int:
        """Bytes on standard output and standard error so far."""
        ...

    @property
    def strays(self) -> int:
        """How many processes were left behind and ended."""
        ...

    @property
    def left(self) -> tuple[int, ...]:
        """The processes that were left behind and cannot be ended."""
        ...

    def stop(self) -> None:
        """Begin the ladder: ask, end, kill."""
        ...

    def kill(self) -> None:
        """End it at once, with everything it started."""
        ...

    def stderr_tail(self) -> str:
        """Return the end of standard error."""
        ...

    def side_text(self) -> str:
        """Return what the agent wrote to the side file of its invocation, if it has one."""
        ...


class Agents(Protocol):
    """Starts agents. Leaving the context ends the agent and all that it started."""

    def start(
        self, invocation: Invocation, *, iteration: int, prompt: str, wake: Callable[[], None]
    ) -> AbstractAsyncContextManager[Agent]:
        """Start an agent; `wake` is called when it prints or exits."""
        ...

    def log_path(self, iteration: int) -> str:
        """Return where the output of an iteration is kept, byte for byte."""
        ...

    def prompt_path(self, iteration: int) -> str:
        """Return where the prompt of an iteration is kept."""
        ...

    def side_path(self, iteration: int) -> str:
        """Return where an agent may put what does not go through its output."""
        ...


class Store(Protocol):
    """Where a loop's state lives."""

    def save(self, state: LoopState) -> None:
        """Replace the current state, durably."""
        ...

    def append(self, record: IterationRecord) -> None:
        """Add an iteration to the history, durably."""
        ...


class Worktree(Protocol):
    """Tells what changed in the working tree."""

    async def mark(self) -> None:
        """Remember the tree as it is now."""
        ...

    async def changes(self, ignoring: tuple[str, ...]) -> Changes | None:
        """Return what changed since the last mark, and mark anew; None where nothing can be told."""
        ...

    async def commit(self, message: str) -> str | None:
        """Commit everything but Spool's own files; None if there was nothing to commit."""
        ...


class Clock(Protocol):
    """Time and chance."""

    def now(self) -> datetime:
        """Return the wall clock's time, in UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds on a clock that never goes back."""
        ...

    def jitter(self) -> float:
        """Return a random number from 0 to 1."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


@dataclass(frozen=True, kw_only=True)
class Ports:
    """All that the composition root hands to the engine."""

    agents: Agents
    store: Store
    emit: Emit
    worktree: Worktree
    clock: Clock
