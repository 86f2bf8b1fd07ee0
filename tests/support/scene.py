"""A project with a loop in the middle of its work, made of real events in a real journal."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from spool.app.loops.client import Client
from spool.domain.agent.stream import AgentRetry, Done, Message, StreamEvent, ToolResult, ToolUse, Usage
from spool.domain.judging.gates.gate import GatePurpose, Proof
from spool.domain.loop.events import (
    CheckpointDropped,
    CheckpointSaved,
    Complete,
    Error,
    Event,
    GateEnded,
    GateStarted,
    IterationEnded,
    IterationStarted,
    Retrying,
    Reverted,
    RunEnded,
    RunStarted,
    StoryDone,
    StoryEvent,
    StoryProgress,
    Warned,
)
from spool.domain.loop.outcome import OutcomeKind
from spool.domain.loop.plan_memory import StoryMemory, StoryState
from spool.domain.loop.settings import Settings
from spool.domain.loop.state import IterationRecord, LoopState
from spool.domain.loop.summary import LoopKind, LoopSummary, Phase, Runner, state_path
from spool.domain.loop.verdict import Limits, Status
from spool.host.runner.identity import this_runner
from spool.host.state.journal import JournalWriter
from spool.host.state.loop_store import StateFolder
from spool.sources.project import Project

CHANGE = "001-01_add-auth"
START = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
PROPOSAL = """\
# Add sign-in

People sign in with a **token**; every request is checked.

- Tokens are stored hashed.
- `GET /me` says who one is.
"""
TASKS = """\
## 1. Tokens

- [x] 1.1 Store hashed tokens
- [x] 1.2 Test the store

## 2. Check requests

- [x] 2.1 Write the middleware
- [ ] 2.2 Refuse requests without a token
- [ ] 2.3 Test both

## 3. Who am I

- [ ] 3.1 Add `GET /me`
"""
SPEC = """\
### Requirement: Sign-in

#### Scenario: No token
- **WHEN** a request has no token
- **THEN** the answer is 401
"""
DONE_RUNNER = Runner(pid=1, start_time="", boot_id="", host="")


@dataclass
class Clock:
    """A clock that goes on a second for each event."""

    at: datetime = START
    step: timedelta = timedelta(seconds=7)

    def now(self) -> datetime:
        self.at += self.step
        return self.at

    def monotonic(self) -> float:
        return self.at.timestamp()

    def jitter(self) -> float:
        return 0.0


@dataclass
class Scene:
    """The project, and the pen that writes its journal."""

    root: Path
    clock: Clock = field(default_factory=Clock)

    @property
    def folder(self) -> StateFolder:
        return StateFolder(self.root / ".spool/.state/run" / CHANGE)

    @property
    def loop(self) -> LoopSummary:
        return loop_in(self.root)

    @property
    def running(self) -> LoopSummary:
        """The loop, as if this very process were its runner."""
        return msgspec.structs.replace(self.loop, runner=this_runner())

    def client(self) -> Client:
        return Client(Project(self.root), Settings(harness="claude", model="sonnet"))

    def write(self, *events: Event) -> None:
        """Append events to the journal."""
        self.folder.prepare()
        writer = JournalWriter(self.folder.journal, run_id="run-1", now=self.clock.now)
        for event in events:
            writer.emit(event)
        writer.close()

    def finish(self) -> None:
        """Let all go well."""
        tasks = self.root / ".spool/changes" / CHANGE / "tasks.md"
        tasks.write_text(tasks.read_text().replace("[ ]", "[x]"))
        self.write(*finished())

    def state(
        self, status: Status, *, change: str = CHANGE, alive: bool = False, at: datetime | None = None, reason: str = ""
    ) -> None:
        """Write the state that the selection reads."""
        folder = StateFolder(self.root / ".spool/.state/run" / change)
        folder.prepare()
        now = at or self.clock.at
        folder.save(
            LoopState(
                door=LoopKind.RUN,
                change=change,
                root=str(self.root),
                folder=str(folder.path),
                harness="claude",
                status=status,
                reason=reason,
                phase=Phase.AGENT,
                phase_since=now,
                iteration=3,
                run_id="run-1",
                runner=this_runner() if alive else DONE_RUNNER,
                memory=StoryMemory(
                    story=StoryState(id="2", title="Check requests", current=2, total=3, completed=1, attempt=2)
                ),
                started_at=now,
                updated_at=now,
            )
        )


def loop_in(root: Path, change: str = CHANGE, runner: Runner = DONE_RUNNER) -> LoopSummary:
    """Return the loop of a change in a project."""
    return LoopSummary(
        run_id="run-1",
        door=LoopKind.RUN,
        change=change,
        root=str(root),
        folder=state_path(str(root), LoopKind.RUN, change),
        runner=runner,
        started_at=START,
        updated_at=START,
    )


def make_scene(base: Path) -> Scene:
    """Make the project; its loop has not run yet."""
    root = base / "project"
    change = root / ".spool/changes" / CHANGE
    (change / "specs/sign-in").mkdir(parents=True)
    (change / "proposal.md").write_text(PROPOSAL)
    (change / "tasks.md").write_text(TASKS)
    (change / "specs/sign-in/spec.md").write_text(SPEC)
    for name, title, tasks in (
        ("002-01_faster-search", "Search answers within 50 ms", "- [x] 1.1 Index\n- [x] 1.2 Query\n"),
        ("003-01_dark-mode", "A dark mode that remembers itself", "- [ ] 1.1 Colours\n- [ ] 1.2 Switch\n"),
    ):
        other = root / ".spool/changes" / name
        other.mkdir()
        (other / "proposal.md").write_text(f"# {title}\n")
        (other / "tasks.md").write_text(tasks)
    return Scene(root)


def said(story: str, iteration: int, *events: StreamEvent) -> list[Event]:
    return [StoryEvent(story_id=story, iteration=iteration, event=event) for event in events]


def record(iteration: int, story: str, attempt: int, outcome: OutcomeKind, **more: object) -> IterationRecord:
    values: dict[str, object] = {
        "iteration": iteration,
        "run_id": "run-1",
        "started_at": START,
        "ended_at": START,
        "duration_s": 61.0 + 30 * iteration,
        "harness": "claude",
        "model": "sonnet",
        "exit_code": 0,
        "outcome": outcome,
        "story_id": story,
        "attempt": attempt,
        "changed_files": 2,
        "files": ("src/tokens.py", "tests/test_tokens.py"),
        "insertions": 64,
        "deletions": 3,
        "usage": Usage(tokens_in=21_400 + 4_000 * iteration, tokens_out=1_900, cost_usd=0.11 + 0.03 * iteration),
        **more,
    }
    return msgspec.convert(values, IterationRecord)


def progress(story: str, title: str, number: int, attempt: int = 1) -> Event:
    return StoryProgress(
        story_id=story, title=title, current=number, total=3, completed=number - 1, attempt=attempt, max_attempts=2
    )


def begun(iteration: int) -> Event:
    return IterationStarted(iteration=iteration, run_iteration=iteration, max_iterations=None, prompt="")


def half_way() -> list[Event]:
    """The first story is done, the second is in its second attempt."""
    first = record(1, "1", 1, OutcomeKind.COMPLETED)
    failed = record(2, "2", 1, OutcomeKind.FAILED, reason="the test client sends no headers")
    return [
        RunStarted(change=CHANGE, harness="claude", model="sonnet", limits=Limits(), iteration=0),
        Warned(message="design.pdf is larger than 100 MB: it is neither saved nor touched"),
        progress("1", "Tokens", 1),
        CheckpointSaved(story_id="1", tree="4b825dc642cb"),
        begun(1),
        *said(
            "1",
            1,
            Message(text="I read the proposal and begin with the **token store**."),
            ToolUse(tool="write", summary="src/tokens.py", call_id="a"),
            ToolResult(output="ok", call_id="a"),
            Message(text="Both tasks are done and checked.\n\n<promise>COMPLETE</promise>"),
            Done(usage=first.usage),
        ),
        IterationEnded(record=first),
        CheckpointDropped(story_id="1"),
        StoryDone(story_id="1", title="Tokens"),
        progress("2", "Check requests", 2),
        CheckpointSaved(story_id="2", tree="4b825dc642cb"),
        begun(2),
        *said(
            "2",
            2,
            Message(text="The middleware comes first."),
            ToolUse(tool="bash", summary="pytest -q", call_id="b"),
            ToolResult(output="E   KeyError: 'authorization'\n1 failed, 7 passed", call_id="b", is_error=True),
            Message(text="<promise>FAILED: the test client sends no headers</promise>"),
            Done(usage=failed.usage),
        ),
        IterationEnded(record=failed),
        Retrying(story_id="2", attempt=2, max_retries=1, because="failed: the test client sends no headers"),
        Reverted(story_id="2", kept_as="001-01_add-auth.20260302-093412"),
        progress("2", "Check requests", 2, attempt=2),
        begun(3),
        *said("2", 3, *second_attempt()),
    ]


def gated() -> list[Event]:
    """The same with two gates and a budget: both were green before, and when the first story was claimed."""
    start, *rest = half_way()
    limits = Limits(max_cost_usd=5.0)
    claimed = next(at for at, event in enumerate(rest) if isinstance(event, IterationEnded))
    return [
        msgspec.structs.replace(start, limits=limits),
        *_gates(GatePurpose.BASELINE),
        *rest[:claimed],
        *_gates(GatePurpose.CLAIM),
        *(_proved(event) for event in rest[claimed:]),
    ]


def _gates(purpose: GatePurpose) -> list[Event]:
    return [
        event
        for name, seconds in (("pytest", 12.0), ("types", 4.0))
        for event in (
            GateStarted(gate=name, purpose=purpose, expected_s=seconds),
            GateEnded(gate=name, purpose=purpose, green=True, duration_s=seconds),
        )
    ]


def _proved(event: Event) -> Event:
    if not isinstance(event, StoryDone):
        return event
    return msgspec.structs.replace(event, proof=Proof.PROVED, evidence="2 tests fail without the change")


def second_attempt() -> list[StreamEvent]:
    return [
        Message(text="The last attempt failed because the test client sends **no headers**. I give it some first."),
        ToolUse(tool="read", summary="tests/conftest.py", call_id="c"),
        ToolResult(output="def client(): ...", call_id="c"),
        ToolUse(tool="edit", summary="tests/conftest.py", call_id="d"),
        ToolResult(output="1 replacement", call_id="d"),
        AgentRetry(message="overloaded", delay_s=4.0),
        Message(
            text="Now the middleware itself:\n\n"
            "```python\n"
            "async def check(request, call_next):\n"
            '    token = request.headers.get("authorization", "")\n'
            "    if not await tokens.known(token):\n"
            "        return Response(status_code=401)\n"
            "    return await call_next(request)\n"
            "```\n\n"
            "1. A request without a token gets `401`.\n"
            "2. One with a token goes on."
        ),
        ToolUse(tool="bash", summary="pytest -q tests/test_middleware.py", call_id="e"),
    ]


def finished() -> list[Event]:
    """What follows half_way when all goes well."""
    second = record(3, "2", 2, OutcomeKind.COMPLETED)
    third = record(4, "3", 1, OutcomeKind.COMPLETED)
    return [
        *said("2", 3, ToolResult(output="8 passed", call_id="e"), Message(text="<promise>COMPLETE</promise>")),
        *said("2", 3, Done(usage=second.usage)),
        IterationEnded(record=second),
        StoryDone(story_id="2", title="Check requests", commit="0123456789abcdef"),
        progress("3", "Who am I", 3),
        begun(4),
        *said("3", 4, Message(text="Done.\n\n<promise>COMPLETE</promise>"), Done(usage=third.usage)),
        IterationEnded(record=third),
        StoryDone(story_id="3", title="Who am I"),
        Complete(iterations=4),
        RunEnded(status=Status.DONE, reason="all stories are complete", exit_code=0),
    ]


def stuck() -> list[Event]:
    """What follows half_way when the retries are used up."""
    last = record(3, "2", 2, OutcomeKind.NO_PROMISE)
    bound = "the limit of 1 retry is reached, the last attempt was number 2"
    reason = f"story 2: no promise; {bound}"
    return [
        IterationEnded(record=last),
        Error(reason=reason, story_id="2", kept="2"),
        RunEnded(status=Status.STUCK, reason=reason, bound=bound, exit_code=1),
    ]
