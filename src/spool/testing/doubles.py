"""In-memory doubles for the engine's ports."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from spool.domain.agent.invocation import Invocation
from spool.domain.agent.stream import Usage
from spool.domain.judging.gates.boxes import BoxLedger
from spool.domain.loop.checkpoint import Beginning, Checkpoint, Discarded, Losses
from spool.domain.loop.pacing import RateLimit
from spool.domain.loop.state import Changes, IterationRecord, LoopState
from spool.engine.gates.task_book import TaskBook

START = datetime(2026, 1, 1, tzinfo=UTC)


class ManualClock:
    """A clock that moves only by `advance` and `sleep`."""

    def __init__(self, at: datetime = START) -> None:
        self._start = at
        self.passed_s = 0.0

    def advance(self, seconds: float) -> None:
        """Move the clock forward."""
        self.passed_s += seconds

    def now(self) -> datetime:
        """Return the current time."""
        return self._start + timedelta(seconds=self.passed_s)

    def monotonic(self) -> float:
        """Return the seconds that have passed."""
        return self.passed_s

    def jitter(self) -> float:
        """Return 0: no randomness."""
        return 0.0

    async def sleep(self, seconds: float) -> None:
        """Move the clock instead of waiting."""
        self.advance(seconds)


class MemoryStore:
    """A loop's state and history in memory."""

    def __init__(self) -> None:
        self.state: LoopState | None = None
        self.history: list[IterationRecord] = []

    def save(self, state: LoopState) -> None:
        """Replace the current state."""
        self.state = state

    def append(self, record: IterationRecord) -> None:
        """Add an iteration to the history."""
        self.history.append(record)


class MemoryLedger:
    """The boxes of a change, in memory."""

    def __init__(self) -> None:
        self.saved = BoxLedger()

    def book(self) -> TaskBook:
        """Return a book that keeps its ledger here."""
        return TaskBook(lambda: self.saved, self._save)

    def _save(self, ledger: BoxLedger) -> None:
        self.saved = ledger


class MemoryExpenses:
    """The spending of a day, in memory."""

    def __init__(self, spent: Usage | None = None) -> None:
        self._spent = spent or Usage()
        self.added: set[tuple[str, int]] = set()

    def add(self, record: IterationRecord) -> None:
        """Add an iteration, once."""
        if (record.run_id, record.iteration) not in self.added:
            self.added.add((record.run_id, record.iteration))
            self._spent += record.usage

    def others(self) -> Usage:
        """Return nothing: no other loop shares the budget."""
        return Usage()

    def today(self) -> Usage:
        """Return what was added, and what was spent before."""
        return self._spent


class MemoryRateLimits:
    """Keeps the rate limits that loops meet."""

    def __init__(self) -> None:
        self.noted: dict[str, RateLimit] = {}

    def known(self, harness: str) -> RateLimit | None:
        """Return the rate limit that was noted last, if any."""
        return self.noted.get(harness)

    def note(self, harness: str, limit: RateLimit) -> None:
        """Note a rate limit."""
        self.noted[harness] = limit


@dataclass(frozen=True, kw_only=True)
class Said:
    """A fake agent's work, its output and its exit code."""

    output: str
    exit_code: int = 0
    stderr: str = ""
    work: Callable[[], object] = field(default=lambda: None)


def says(output: str, *, exit_code: int = 0, stderr: str = "", work: Callable[[], object] = lambda: None) -> Said:
    """Return an agent that does some work, prints this and exits."""
    return Said(output=output, exit_code=exit_code, stderr=stderr, work=work)


class FakeAgent:
    """An agent that has already printed everything and exited."""

    exited = True
    truncated = False
    over_memory = False
    left: tuple[int, ...] = ()

    def __init__(self, said: Said) -> None:
        self._said = said
        self._unread = said.output.encode()
        self.exit_code: int | None = said.exit_code
        self.bytes_seen = len(self._unread)

    def read(self) -> bytes:
        """Return the output, once."""
        data, self._unread = self._unread, b""
        return data

    def stop(self) -> None:
        """Do nothing: it has exited."""

    def kill(self) -> None:
        """Do nothing: it has exited."""

    def stderr_tail(self) -> str:
        """Return its standard error."""
        return self._said.stderr

    def side_text(self) -> str:
        """Return nothing: it has no side file."""
        return ""


Line = Said | Callable[[str], Said]
"""An agent's line, or its answer to a prompt."""


class FakeAgents:
    """Starts the given agents in turn and repeats the last one."""

    def __init__(self, *lines: Line) -> None:
        self._lines = lines
        self.prompts: list[str] = []

    @asynccontextmanager
    async def start(
        self,
        invocation: Invocation,  # noqa: ARG002 - the protocol's signature
        *,
        iteration: int,  # noqa: ARG002 - the protocol's signature
        prompt: str,
        memory_limit: int,  # noqa: ARG002 - the protocol's signature
        wake: Callable[[], None],  # noqa: ARG002 - the protocol's signature
    ) -> AsyncIterator[FakeAgent]:
        """Start the next agent."""
        line = self._lines[min(len(self.prompts), len(self._lines) - 1)]
        self.prompts.append(prompt)
        said = line if isinstance(line, Said) else line(prompt)
        said.work()
        yield FakeAgent(said)

    def log_path(self, iteration: int) -> str:
        """Return the path of an iteration's output."""
        return f"{iteration:04}.out"

    def prompt_path(self, iteration: int) -> str:
        """Return the path of an iteration's prompt."""
        return f"{iteration:04}.prompt.md"

    def side_path(self, iteration: int) -> str:
        """Return the path of an iteration's side file."""
        return f"{iteration:04}.side"


class FakeTree:
    """A working tree with one text, which counts changes and commits."""

    def __init__(self, content: str = "") -> None:
        self.content = content
        self.commits: list[str] = []
        self._marked = self._committed = content

    async def mark(self) -> None:
        """Record the content."""
        self._marked = self.content

    async def changes(self, ignoring: Sequence[str]) -> Changes | None:  # noqa: ARG002 - the protocol's signature
        """Return whether the content has changed since the last mark."""
        before, self._marked = self._marked, self.content
        changed = self.content != before
        return Changes(count=int(changed), files=("content",) if changed else (), trees=(before, self.content))

    async def commit(self, message: str, *, leaving: tuple[str, ...] = ()) -> str | None:  # noqa: ARG002
        """Remember a commit; None if there was nothing to commit."""
        if self.content == self._committed:
            return None
        self._committed = self.content
        self.commits.append(message)
        return f"commit-{len(self.commits)}"

    async def fingerprint(self) -> str:
        """Return the content and the number of commits."""
        return f"{len(self.commits)}:{self.content}"


class FakeBeginnings:
    """Beginnings of a fake tree, in which nothing is ever lost."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def begin_run(self, *, anew: bool) -> tuple[str, ...]:
        """Note the run."""
        self.seen.append("run anew" if anew else "run")
        return ()

    async def begin_attempt(self, story: str = "") -> None:
        """Note the story."""
        self.seen.append(story)

    async def accept(self, what: Beginning) -> None:
        """Note what is accepted."""
        self.seen.append(f"{what} accepted")

    async def losses(self) -> Losses:
        """Return nothing."""
        return Losses()


class FakeCheckpoints:
    """Checkpoints of a fake tree."""

    def __init__(self, tree: FakeTree) -> None:
        self._tree = tree
        self._saved: tuple[Checkpoint, str] | None = None
        self.discarded: list[str] = []

    async def save(self, label: str) -> Checkpoint:
        """Save the tree."""
        checkpoint = Checkpoint(change="change", label=label, saved_at=START, tree=f"tree of {label}", head=None)
        self._saved = (checkpoint, self._tree.content)
        return checkpoint

    async def current(self) -> Checkpoint | None:
        """Return the current checkpoint, if any."""
        return self._saved[0] if self._saved else None

    async def revert(self, checkpoint: Checkpoint) -> Discarded | None:
        """Restore the tree, and keep the discarded content."""
        assert self._saved is not None  # noqa: S101 - a revert needs a checkpoint
        before, self._tree.content = self._tree.content, self._saved[1]
        if before == self._tree.content:
            return None
        self.discarded.append(before)
        name = f"discarded-{len(self.discarded)}"
        return Discarded(name=name, change="change", label=checkpoint.label, discarded_at=START, files=1, head=None)

    async def differs(self, checkpoint: Checkpoint) -> bool:  # noqa: ARG002 - the protocol's signature
        """Whether the tree differs from the checkpoint."""
        return self._saved is not None and self._saved[1] != self._tree.content

    async def set_aside(self, checkpoint: Checkpoint) -> str:  # noqa: ARG002 - the protocol's signature
        """Keep the checkpoint's content under a name."""
        assert self._saved is not None  # noqa: S101 - there is a checkpoint
        self.discarded.append(self._saved[1])
        return f"discarded-{len(self.discarded)}"

    async def drop(self, checkpoint: Checkpoint) -> None:  # noqa: ARG002 - the protocol's signature
        """Remove the checkpoint."""
        self._saved = None

    async def cleanup(self) -> None:
        """Remove the checkpoint."""
        self._saved = None
