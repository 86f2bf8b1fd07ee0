"""How fast the screen is at 10,000 events a second and on a journal of 1 GB: key presses, first frame, memory."""

import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from textual import events

from bench.frame import Row, middle
from spool.app.loops.client import Client
from spool.domain.agent.stream import Message, ToolResult, ToolUse
from spool.domain.loop.events import IterationStarted, RunStarted, StoryEvent, StoryProgress
from spool.domain.loop.plan_memory import StoryMemory, StoryState
from spool.domain.loop.settings import Settings
from spool.domain.loop.summary import LoopKind, LoopSummary
from spool.domain.loop.verdict import Limits
from spool.host.clock import SystemClock
from spool.host.runner.identity import this_runner
from spool.host.state.journal import JournalWriter
from spool.sources.project import Project
from spool.tui.app import SpoolApp
from spool.tui.screens.loop_screen import LoopScreen
from spool.tui.widgets.paged import PagedView
from spool.tui.widgets.tabbed import Tabbed

EVENTS = 100_000
A_SECOND = 10_000
CHANGE = "001-01_bench"
_BATCH = 100
_LONG = 1_000_000_000
_THE_END = "this is the end"


class Answered(NamedTuple):
    """How long a key press took, and how much of that this process was busy."""

    seconds: float
    busy_s: float


def rows(*, quick: bool = False) -> list[Row]:
    """Write a journal at full speed while keys are pressed, and replay it; open one of 1 GB."""
    if quick:
        return []
    with tempfile.TemporaryDirectory() as folder:
        answers = asyncio.run(_measure(Path(folder)))
    with tempfile.TemporaryDirectory() as folder:
        first = asyncio.run(_open_long(Path(folder)))
    slowest, busiest = _percentile(answers)
    median_ms = middle([one.seconds for one in answers]) * 1e3
    return [
        Row(
            figure=f"key press at {A_SECOND:,} events a second, 99th percentile, ms",
            value=slowest * 1e3,
            busy=busiest * 1e3,
            aim=33.0,
            shown=f"{slowest * 1e3:.0f} ms of {len(answers)} presses, median {median_ms:.0f} ms",
        ),
        Row(
            figure="the screen on a journal of 1 GB, its end in the first frame, s",
            value=first.seconds,
            busy=first.busy_s,
            aim=0.5,
            shown=f"{first.seconds:.2f} s",
        ),
    ]


def main(path: Path) -> None:
    """Write events to a journal at full speed, and print how many a second that was."""
    journal = JournalWriter(path, run_id="bench", now=SystemClock().now)
    first, started = EVENTS // 10, time.perf_counter()
    for at in range(first, EVENTS, _BATCH):
        _write(journal, at, _BATCH)
        time.sleep(max(0.0, started + (at + _BATCH - first) / A_SECOND - time.perf_counter()))
    print((EVENTS - first) / (time.perf_counter() - started))


def _prepare(root: Path) -> tuple[LoopSummary, JournalWriter]:
    """Make a project with a loop that has begun."""
    change, state = root / ".spool/changes" / CHANGE, root / ".spool/.state/run" / CHANGE
    change.mkdir(parents=True)
    state.mkdir(parents=True)
    (change / "proposal.md").write_text("# Bench\n")
    (change / "tasks.md").write_text("## 1. Work\n\n- [ ] 1.1 Work\n")
    journal = JournalWriter(state / "journal.jsonl", run_id="bench", now=SystemClock().now)
    _begin(journal)
    now = datetime.now(UTC)
    loop = LoopSummary(
        run_id="bench-1",
        door=LoopKind.RUN,
        change=CHANGE,
        root=str(root),
        folder=str(state),
        runner=this_runner(),
        memory=StoryMemory(story=StoryState(id="1", title="Work", current=1, total=1, completed=0)),
        started_at=now,
        updated_at=now,
    )
    return loop, journal


async def _open_long(root: Path) -> Answered:
    """Open the screen on a journal of 1 GB, whose end comes first; return how long the first frame took."""
    loop, journal = _prepare(root)
    path = Path(loop.folder) / "journal.jsonl"
    _write(journal, 0, 4_000)
    some = path.read_bytes()
    with path.open("ab") as file:
        while file.tell() < _LONG:
            file.write(some)
    journal.emit(StoryEvent(story_id="1", iteration=1, event=Message(text=_THE_END)))
    app = SpoolApp(Client(Project(root), Settings()))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        answers = list[Answered]()
        screen = LoopScreen(app._client, loop)
        started, busy = time.perf_counter(), time.process_time()
        await app.push_screen(screen)
        while not any(_THE_END in strip.text for strip in app.screen._compositor.render_strips()):
            await asyncio.sleep(0.002)
        first = Answered(time.perf_counter() - started, time.process_time() - busy)
        presses = asyncio.create_task(_press_now_and_then(app, screen, answers))
        while screen._watch.replayed < 1:
            await asyncio.sleep(0.05)
        presses.cancel()
        print(f"the whole of it               {time.perf_counter() - started:.0f} s, {_memory():.0f} MiB")
        print(f"key press meanwhile           {_told(answers)}")
    return first


async def _measure(root: Path) -> list[Answered]:
    """Return how keys were answered while events came at full speed."""
    loop, journal = _prepare(root)
    app = SpoolApp(Client(Project(root), Settings()))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = LoopScreen(app._client, loop)
        app.push_screen(screen)
        await pilot.pause(0.5)
        print(f"key press, nothing going on   {_told([await _press(app, screen) for _ in range(40)])}")
        answers = await _full_speed(app, screen, journal, Path(loop.folder) / "journal.jsonl")
    app = SpoolApp(Client(Project(root), Settings()))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await _replay(app, LoopScreen(app._client, loop))
    return answers


async def _full_speed(app: SpoolApp, screen: LoopScreen, journal: JournalWriter, path: Path) -> list[Answered]:
    """Press keys while another process, as a runner would, writes 10,000 events a second; return the answers."""
    _write(journal, 0, EVENTS // 10)
    await _caught_up(screen, EVENTS // 10)
    warm, answers = _memory(), list[Answered]()
    presses = asyncio.create_task(_press_now_and_then(app, screen, answers))
    with subprocess.Popen([sys.executable, "-m", "bench.tui", str(path)], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        a_second = float(await asyncio.to_thread(writer.stdout.read))
    await _caught_up(screen, EVENTS)
    presses.cancel()
    print(f"key press, {a_second:6,.0f} events a s  {_told(answers)}")
    print(f"memory from {EVENTS // 10:,} to {EVENTS:,} events: {warm:.1f} to {_memory():.1f} MiB")
    return answers


async def _replay(app: SpoolApp, screen: LoopScreen) -> None:
    """Attach to a loop that has said much already."""
    answers = list[Answered]()
    started, busy = time.perf_counter(), time.process_time()
    await app.push_screen(screen)
    presses = asyncio.create_task(_press_now_and_then(app, screen, answers))
    await _caught_up(screen, EVENTS)
    taken, ours = time.perf_counter() - started, time.process_time() - busy
    presses.cancel()
    print(f"replay of {EVENTS:,} events      {taken:.1f} s, {ours:.1f} s of it ours")
    print(f"key press meanwhile           {_told(answers)}")
    screen.query_one(Tabbed).active = "agent"
    view = screen.query_one("#agent-text", PagedView)
    await asyncio.sleep(0.5)
    started = time.perf_counter()
    view.action_first()
    while view.place[0] > 5 or not view.place[0]:
        await asyncio.sleep(0.001)
    print(f"from the end to the beginning {(time.perf_counter() - started) * 1e3:.1f} ms")


def _begin(journal: JournalWriter) -> None:
    for event in (
        RunStarted(change=CHANGE, harness="bench", model=None, limits=Limits(), iteration=0),
        StoryProgress(story_id="1", title="Work", current=1, total=1, completed=0),
        IterationStarted(iteration=1, run_iteration=1, max_iterations=None, prompt=""),
    ):
        journal.emit(event)


def _write(journal: JournalWriter, first: int, count: int) -> None:
    for number in range(first, first + count):
        journal.emit(StoryEvent(story_id="1", iteration=1, event=_said(number)))


def _said(number: int) -> Message | ToolUse | ToolResult:
    match number % 4:
        case 0:
            return Message(text=f"Step **{number}**: I look at `file-{number}.py` and think about what it does.")
        case 1:
            return ToolUse(tool="read", summary=f"file-{number}.py", call_id=str(number))
        case 2:
            return ToolResult(output=f"line of output {number}\n" * 8, call_id=str(number - 1))
        case _:
            return Message(text=f"That was step {number}.\n\n- one thing\n- another thing\n")


async def _press(app: SpoolApp, screen: LoopScreen) -> Answered:
    """Press Tab, and return how long it takes until another tab is there."""
    tabbed = screen.query_one(Tabbed)
    before, pressed, busy = tabbed.active, time.perf_counter(), time.thread_time()
    app.post_message(events.Key("tab", None))
    while tabbed.active == before:
        await asyncio.sleep(0.001)
    return Answered(time.perf_counter() - pressed, time.thread_time() - busy)


async def _press_now_and_then(app: SpoolApp, screen: LoopScreen, answers: list[Answered]) -> None:
    while True:
        answers.append(await _press(app, screen))
        await asyncio.sleep(0.03)  # often enough that the 99th percentile is not the slowest one


async def _caught_up(screen: LoopScreen, count: int) -> None:
    while screen._watch.indexes.of("1").version < count:
        await asyncio.sleep(0.01)


def _told(answers: list[Answered]) -> str:
    """Tell the time that passed, and how much of it was ours: a loaded machine adds to the first only."""
    wall, ours = _percentile(answers)
    medians = (middle([one.seconds for one in answers]) * 1e3, middle([one.busy_s for one in answers]) * 1e3)
    return (
        f"median {medians[0]:5.1f} ms, 99th percentile {wall * 1e3:6.1f} ms"
        f" (of which ours: {medians[1]:5.1f} and {ours * 1e3:5.1f} ms)"
    )


def _percentile(answers: list[Answered]) -> tuple[float, float]:
    """Return the 99th percentile of the time that passed, and of how much was ours."""
    at = int(len(answers) * 0.99)
    return sorted(one.seconds for one in answers)[at], sorted(one.busy_s for one in answers)[at]


def _memory() -> float:
    """Return how much memory this process holds now, in MiB."""
    if sys.platform == "linux":
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
