"""The protocols through which the engine reaches the machine. `host` and `harness` implement them."""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from spool.domain.agent.invocation import AgentOptions, Invocation, Traits
from spool.domain.agent.stream import StreamEvent, Usage
from spool.domain.loop.checkpoint import Beginning, Losses
from spool.domain.loop.events import Event
from spool.domain.loop.pacing import RateLimit
from spool.domain.loop.state import Changes, IterationRecord, LoopState

Emit = Callable[[Event], None]
Deliver = Callable[[], Awaitable[None]]
"""Brings the commits of a loop to where the person finds them."""


async def delivered_already() -> None:
    """Do nothing: the commits are made where the person finds them."""


class Decoder(Protocol):
    """Translates one agent's output, as it arrives, into stream events."""

    def feed(self, chunk: bytes) -> Iterable[StreamEvent]:
        """Decode the next bytes of standard output."""

    def pause(self) -> Iterable[StreamEvent]:
        """Return what is certain of an unfinished line while the agent is silent."""

    def finish(self, stderr: str, side: str = "") -> Iterable[StreamEvent]:
        """Decode the rest; `stderr` is the end of standard error, `side` the invocation's side file."""


class Harness(Protocol):
    """Adapts one agent CLI."""

    @property
    def name(self) -> str:
        """The name that selects it."""

    @property
    def traits(self) -> Traits:
        """Its features and installation."""

    def invoke(self, options: AgentOptions, /) -> Invocation:
        """Return the command to run."""

    def decoder(self) -> Decoder:
        """Return a fresh decoder for one run's output."""


class Agent(Protocol):
    """A running agent process."""

    def read(self) -> bytes:
        """Return the next chunk of standard output, or nothing if none is available."""

    @property
    def exited(self) -> bool:
        """Whether the process and everything it started have exited."""

    @property
    def exit_code(self) -> int | None:
        """The exit code; negative for a signal, None while it runs."""

    @property
    def truncated(self) -> bool:
        """Whether the output was truncated while it was read."""

    @property
    def bytes_seen(self) -> int:
        """Bytes on standard output and standard error so far."""

    @property
    def left(self) -> tuple[int, ...]:
        """The leftover processes that cannot be ended."""

    @property
    def over_memory(self) -> bool:
        """Whether it and everything it started use more memory than its limit."""

    def stop(self) -> None:
        """Stop it in steps: interrupt, terminate, kill."""

    def kill(self) -> None:
        """Kill it immediately, with everything it started."""

    def stderr_tail(self) -> str:
        """Return the end of standard error."""

    def side_text(self) -> str:
        """Return the contents of the invocation's side file, if any."""


class Agents(Protocol):
    """Starts agents. Leaving the context ends the agent and everything it started."""

    def start(
        self, invocation: Invocation, *, iteration: int, prompt: str, memory_limit: int, wake: Callable[[], None]
    ) -> AbstractAsyncContextManager[Agent]:
        """Start an agent; `wake` is called when it prints or exits. A memory limit is in bytes, 0 for none."""

    def log_path(self, iteration: int) -> str:
        """Return the path of an iteration's raw output."""

    def prompt_path(self, iteration: int) -> str:
        """Return the path of an iteration's prompt."""

    def side_path(self, iteration: int) -> str:
        """Return the path of an iteration's side file."""


class Store(Protocol):
    """Saves a loop's state."""

    def save(self, state: LoopState) -> None:
        """Replace the current state, durably."""

    def append(self, record: IterationRecord) -> None:
        """Add an iteration to the history, durably."""


class Expenses(Protocol):
    """Keeps what all loops of the user spend."""

    def add(self, record: IterationRecord) -> None:
        """Add an iteration, durably; one that is added twice counts once."""
        ...

    def today(self) -> Usage:
        """Return the usage of all loops in the current local day."""
        ...

    def others(self) -> Usage:
        """Return the usage of the other loops that share this one's budgets."""
        ...


class RateLimits(Protocol):
    """Shares the rate limits that loops meet among all loops with the same agent."""

    def known(self, harness: str) -> RateLimit | None:
        """Return the rate limit that was noted last, if any."""

    def note(self, harness: str, limit: RateLimit) -> None:
        """Note a rate limit; one that ends later stays."""


class Unshared:
    """The rate limits of a loop that shares none."""

    def known(self, harness: str) -> RateLimit | None:  # noqa: ARG002 - the protocol's signature
        """Return None."""
        return None

    def note(self, harness: str, limit: RateLimit) -> None:
        """Do nothing."""


class Worktree(Protocol):
    """Reports and commits changes in the working tree."""

    async def mark(self) -> None:
        """Record the current tree."""

    async def changes(self, ignoring: tuple[str, ...]) -> Changes | None:
        """Return the changes since the last mark, and mark again; None if they are unknown."""

    async def commit(self, message: str, *, leaving: tuple[str, ...] = ()) -> str | None:
        """Commit everything but Spool's own files and those to leave; return None if there is nothing to commit."""

    async def fingerprint(self) -> str:
        """Return a text that differs once anybody has edited, staged or committed something; empty if unknown."""
        ...


class KeptBeginnings(Protocol):
    """Keeps trees that no attempt moves, for one change in one worktree."""

    async def begin_run(self, *, anew: bool) -> tuple[str, ...]:
        """Keep the tree as the run's beginning and return what is not saved; `anew` ends an unfinished story."""
        ...

    async def begin_attempt(self, story: str = "") -> None:
        """Keep the run's beginning, and the checkpoint as the story's, unless the story before is not accepted."""
        ...

    async def accept(self, what: Beginning) -> None:
        """Note that the work since then is accepted."""
        ...

    async def losses(self) -> Losses:
        """Return what happened to a person's files that no commit holds, since the story or the run began."""
        ...


class Clock(Protocol):
    """Time and randomness."""

    def now(self) -> datetime:
        """Return the current time, in UTC."""

    def monotonic(self) -> float:
        """Return seconds on a clock that never runs backwards."""

    def jitter(self) -> float:
        """Return a random number from 0 to 1."""

    async def sleep(self, seconds: float) -> None:
        """Sleep."""


class StartGate(Protocol):
    """Admits agents one by one, where more than the loop itself decides whether one may start."""

    @property
    def waits(self) -> bool:
        """Whether the loop waits for rate limits itself; if not, it ends and says when to start it again."""
        ...

    async def admit(self, state: LoopState) -> None:
        """Return when the agent of the iteration in flight may start; raise FencedOff if it may not."""


class Unguarded:
    """The admission of a loop that decides alone."""

    waits = True

    async def admit(self, state: LoopState) -> None:
        """Return at once."""


@dataclass(frozen=True, kw_only=True)
class Ports:
    """All ports of the engine."""

    agents: Agents
    store: Store
    emit: Emit
    worktree: Worktree
    clock: Clock
    expenses: Expenses
    deliver: Deliver = delivered_already
    rate_limits: RateLimits = field(default_factory=Unshared)
    admission: StartGate = field(default_factory=Unguarded)
