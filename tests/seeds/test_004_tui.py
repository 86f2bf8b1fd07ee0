"""Specification 004, the screen: one test per scenario that speaks of it, with a real runner and the scripted agent."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from spool.tui.screens.loop_screen import LoopScreen
from spool.tui.screens.preview import PreviewScreen
from spool.tui.screens.selection import SelectionScreen
from spool.tui.widgets.paged import PagedView
from tests.support import CHANGE, Scratch, Steps
from tests.support.tui import (
    alive,
    hit,
    make_app,
    opened,
    run_events,
    run_folder,
    run_state,
    start_loop,
    text_of,
    two_stories,
    until,
)

FIRST: Steps = [
    {"say": "I begin with the **loop**."},
    {"write": "loop.py", "text": "print('loop')\n"},
    {"tick": 1},
    {"promise": "COMPLETE"},
]
SECOND: Steps = [{"say": "Now the tests."}, {"tick": 1}, {"promise": "COMPLETE"}]
ENDLESS: Steps = [{"say": "This takes long."}, {"write": "half.txt", "text": "half\n"}, {"sleep": 600}]
STUBBORN = """
import os, signal, time
for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(signum, signal.SIG_IGN)
open(os.environ["AGENT_PID"], "w").write(str(os.getpid()))
print("I will not stop.", flush=True)
time.sleep(600)
"""


def stubborn(scratch: Scratch) -> Path:
    """Have an agent that ignores every polite signal; return where it writes its pid."""
    agent, pid_file = scratch.home / "stubborn.py", scratch.home / "agent.pid"
    agent.write_text(STUBBORN)
    scratch.env["AGENT_PID"] = str(pid_file)
    two_stories(scratch, ENDLESS)
    (scratch.root / ".spool" / "config.toml").write_text(
        f'[harnesses.stubborn]\nargv = ["{sys.executable}", "{agent}"]\n'
    )
    return pid_file


# Requirement: Loop events


async def test_tui_subscription(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    two_stories(scratch, FIRST, ENDLESS)
    app = make_app(scratch, monkeypatch)
    async with opened(app) as pilot:
        await start_loop(pilot)
        await until(pilot, lambda: "This takes long." in text_of(app) and "► 2 Tests" in text_of(app))
        await until(pilot, lambda: "I begin with the loop." not in text_of(app))
        await pilot.press("left")
        await until(pilot, lambda: "I begin with the loop." in text_of(app) and "✓ 1 Loop" in text_of(app))
        await until(pilot, lambda: "This takes long." not in text_of(app))
        await pilot.press("right")
        await until(pilot, lambda: "This takes long." in text_of(app))
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, SelectionScreen))


# Requirement: Loop control


async def test_user_stops_loop(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    two_stories(scratch, FIRST, ENDLESS)
    app = make_app(scratch, monkeypatch)
    async with opened(app) as pilot:
        await start_loop(pilot)
        await until(pilot, lambda: "This takes long." in text_of(app))
        runner = run_state(scratch)["runner"]["pid"]
        await pilot.press("q")
        await until(pilot, lambda: not alive(runner))
    assert run_state(scratch)["status"] == "stopped"
    assert run_events(scratch, "IterationEnded")[-1]["record"]["outcome"] == "interrupted"
    assert (scratch.root / "loop.py").read_text() == "print('loop')\n"
    assert "- [x] 1.1" in (scratch.change / "tasks.md").read_text()


async def test_force_quit_on_repeated_q_presses(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pid_file = stubborn(scratch)
    app = make_app(scratch, monkeypatch, harness="stubborn")
    async with opened(app) as pilot:
        await start_loop(pilot)
        await until(pilot, lambda: pid_file.exists() and pid_file.read_text())
        await until(pilot, lambda: run_folder(scratch).joinpath("state.json").exists())
        runner, agent = run_state(scratch)["runner"]["pid"], int(pid_file.read_text())
        await until(pilot, lambda: isinstance(app.screen, LoopScreen))  # the agent may be there before it
        hit(app, "q", "q", "q")
        await until(pilot, lambda: not app.is_running, within_s=10)
    assert app.return_code == 130
    assert "force-quit" in capsys.readouterr().err
    await until(pilot, lambda: not alive(agent) and not alive(runner), within_s=30)


async def test_graceful_stop_timeout(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    two_stories(scratch, ENDLESS)
    app = make_app(scratch, monkeypatch)
    async with opened(app) as pilot:
        await start_loop(pilot)
        await until(pilot, lambda: "This takes long." in text_of(app))
        runner = run_state(scratch)["runner"]["pid"]
        os.kill(runner, signal.SIGSTOP)  # an orchestrator that does not respond
        pressed_at = time.monotonic()
        await pilot.press("q")
        await until(pilot, lambda: "Stopping" in text_of(app))
        await until(pilot, lambda: "press q twice more" in text_of(app))
        assert time.monotonic() - pressed_at >= 5
        hit(app, "q", "q")
        await until(pilot, lambda: not app.is_running, within_s=10)
    await until(pilot, lambda: not alive(runner), within_s=30)


# Requirement: TUI loop integration


async def test_loop_startup(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    two_stories(scratch, FIRST, ENDLESS)
    app = make_app(scratch, monkeypatch)
    async with opened(app) as pilot:
        await until(pilot, lambda: CHANGE in text_of(app))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, PreviewScreen))
        generated = await app._client.prompt(CHANGE, app._client.settings)
        await pilot.press("R")
        await until(pilot, lambda: isinstance(app.screen, LoopScreen))
        await until(pilot, lambda: "I begin with the loop." in text_of(app) or "This takes long." in text_of(app))
        parts = ("Info", "Agent", "Changes", "Log", "1 ", "2 ", "iteration")
        await until(pilot, lambda: all(part in text_of(app) for part in parts))
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, SelectionScreen))
    assert (run_folder(scratch) / "logs" / "0001.prompt.md").read_text() == generated


async def test_stop_signal_propagation(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    two_stories(scratch, ENDLESS)
    app = make_app(scratch, monkeypatch)
    async with opened(app) as pilot:
        await start_loop(pilot)
        await until(pilot, lambda: "This takes long." in text_of(app))
        runner = run_state(scratch)["runner"]["pid"]
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, SelectionScreen))
        assert not alive(runner)
    assert run_events(scratch, "StopRequested")


# Requirement: Configurable max retries


@pytest.mark.parametrize(("flags", "attempts"), [({"max_retries": 1}, 2), ({}, 4)])
async def test_max_retries_are_those_of_the_settings(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch, flags: dict[str, Any], attempts: int
) -> None:
    two_stories(scratch, [{"promise": "FAILED: no"}])
    app = make_app(scratch, monkeypatch, **flags)
    async with opened(app) as pilot:
        await start_loop(pilot)
        await until(pilot, lambda: "stuck" in text_of(app))
        await until(pilot, lambda: "result" in text_of(app) and "is reached, the last attempt" in text_of(app))
    assert len(run_events(scratch, "IterationEnded")) == attempts


async def test_messages_are_shown_whole(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requirement: Loop events, "the message content is not truncated"."""
    long = "\n".join(f"line {number}" for number in range(5_000))
    two_stories(scratch, [{"say": long}, {"sleep": 600}])
    app = make_app(scratch, monkeypatch)
    async with opened(app) as pilot:
        await start_loop(pilot)
        await until(pilot, lambda: "line 4999" in text_of(app))
        await pilot.press("home")
        await until(pilot, lambda: "line 0 " in text_of(app))
        pages = app.screen.query_one("#agent-text", PagedView)._source
        blocks = [block for number in range(pages.count) for block in await pages.load(number)]
        assert long in "".join(block.text for block in blocks)
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, SelectionScreen))
