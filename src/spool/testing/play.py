"""Runs a plan on the doubles, from start to end."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, TypeVar

from spool.domain.agent.invocation import AgentOptions
from spool.domain.loop.events import Event
from spool.domain.loop.plan_memory import PromptMemory, StoryMemory
from spool.domain.loop.state import IterationRecord, LoopState, continued, unfinished
from spool.domain.loop.summary import Runner
from spool.domain.loop.verdict import Finish
from spool.engine.loop import Loop
from spool.engine.plans.story_plan import StoryPlan
from spool.engine.plans.strategy import Strategy
from spool.engine.ports import Deliver, Expenses, Ports, RateLimits, StartGate, Unguarded, Worktree, delivered_already
from spool.engine.stop_request import Stop
from spool.harness.own_command import CommandOptions, command
from spool.testing.doubles import FakeAgents, FakeTree, Line, ManualClock, MemoryExpenses, MemoryRateLimits, MemoryStore

_Kind = TypeVar("_Kind")


@dataclass
class Stage:
    """The doubles for a plan. A second run on the same stage continues the first."""

    store: MemoryStore = field(default_factory=MemoryStore)
    tree: Worktree = field(default_factory=FakeTree)
    expenses: Expenses = field(default_factory=MemoryExpenses)
    clock: ManualClock = field(default_factory=ManualClock)
    deliver: Deliver = delivered_already
    rate_limits: RateLimits = field(default_factory=MemoryRateLimits)
    admission: StartGate = field(default_factory=Unguarded)
    events: list[Event] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)

    def emit(self, event: Event) -> None:
        """Record an event; pass this to a plan as its `emit`."""
        self.events.append(event)


@dataclass(frozen=True)
class Played:
    """The result of a plan."""

    finish: Finish
    events: tuple[Event, ...]
    history: tuple[IterationRecord, ...]
    state: LoopState
    prompts: tuple[str, ...]

    def of(self, kind: type[_Kind]) -> list[_Kind]:
        """Return the events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]


def play(
    plan: Strategy[Any], *lines: Line, stage: Stage | None = None, stop: Stop | None = None, auto_commit: bool = False
) -> Played:
    """Run a plan to its end with the given agents in turn, and return the result."""
    return asyncio.run(_play(plan, lines, stage or Stage(), stop, auto_commit=auto_commit))


async def _play(
    plan: Strategy[Any], lines: tuple[Line, ...], stage: Stage, stop: Stop | None, *, auto_commit: bool
) -> Played:
    store, now = stage.store, stage.clock.now()
    earlier = store.state
    last = store.history[-1] if store.history else None
    unjudged = unfinished(earlier, last, now=now) if earlier else None
    state = LoopState(
        run_id=f"run-{len(store.history)}",
        change="change",
        harness="fake",
        limits=plan.limits,
        memory=StoryMemory() if isinstance(plan, StoryPlan) else PromptMemory(),
        runner=Runner(pid=0, start_time="", boot_id="", host=""),
        started_at=now,
        updated_at=now,
    )
    state = continued(state, earlier, last_iteration=last.iteration if last else 0)
    agents = FakeAgents(*lines)
    harness = command("fake", CommandOptions(argv=("fake",)))
    options = AgentOptions(directory=".", auto_commit=auto_commit)
    ports = Ports(
        agents=agents,
        store=store,
        emit=stage.emit,
        worktree=stage.tree,
        clock=stage.clock,
        expenses=stage.expenses,
        deliver=stage.deliver,
        rate_limits=stage.rate_limits,
        admission=stage.admission,
    )
    loop = Loop(plan, harness, options, ports, stop or Stop(), state, unjudged=unjudged)
    try:
        finish = await loop.run()
    finally:
        stage.prompts += agents.prompts
    assert store.state is not None  # noqa: S101 - a loop that has run has saved its state
    return Played(finish, tuple(stage.events), tuple(store.history), store.state, tuple(stage.prompts))
