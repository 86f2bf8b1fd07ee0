"""What the tests of the screen share: an app on a real client, and ways to read what is on it."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from spool.app.loops.client import Client
from spool.app.starting.effective_settings import resolve_settings
from spool.domain.loop.settings import Layer
from spool.host.runner.identity import start_time
from spool.sources.project import find_project
from spool.tui.app import SpoolApp
from spool.tui.widgets.paged import PagedView
from tests.support import CHANGE, PATIENCE_S, Scratch, source_of

TWO_STORIES = "## 1. Loop\n\n- [ ] 1.1 Write the loop\n\n## 2. Tests\n\n- [ ] 2.1 Test the loop\n"


def two_stories(scratch: Scratch, *iterations: list[dict[str, Any]]) -> None:
    """Give the scratch change two stories, and the scripted agent its lines."""
    (scratch.change / "tasks.md").write_text(TWO_STORIES)
    scratch.script(*iterations)
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", "two stories")


def make_app(scratch: Scratch, patch: pytest.MonkeyPatch, *, fresh: bool = False, **flags: Any) -> SpoolApp:
    """Return the app as `spool tui` would open it in the scratch project."""
    for name in os.environ:
        patch.delenv(name)
    for name, value in scratch.env.items():
        patch.setenv(name, value)
    project = find_project(scratch.root)
    given = Layer("", {"harness": "scripted", **flags})
    return SpoolApp(Client(project, resolve_settings(project.root, [given]).settings, fresh=fresh))


@asynccontextmanager
async def opened(app: SpoolApp, size: tuple[int, int] = (100, 30)) -> AsyncIterator[Pilot[None]]:
    """Run the app without a terminal."""
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.pause()
        yield pilot


async def until(pilot: Pilot[None], holds: Callable[[], Any], *, within_s: float = PATIENCE_S) -> None:
    """Wait until something holds, while the app goes on; a failure names what was awaited and shows the screen."""
    give_up_at = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > give_up_at:
            pytest.fail(f"waited {within_s:g} s for {source_of(holds)}; on the screen:\n{text_of(pilot.app)}")
        await asyncio.sleep(0.05)


async def still(pilot: Pilot[None]) -> None:
    """Wait until nothing on the screen moves any more: texts are painted in pieces, and the scroll bars follow."""

    def picture() -> object:
        return text_of(pilot.app), [view.virtual_size for view in pilot.app.screen.query(PagedView)]

    for view in pilot.app.screen.query(PagedView):
        if view.following:  # the pages that are loaded, and so the length of the scroll bar, depend on when events came
            view.action_last()
    before, same = picture(), 0
    while same < 10:
        await pilot.pause(0.05)
        after = picture()
        before, same = after, same + 1 if after == before else 0


async def press(pilot: Pilot[None], *keys: str, then: Callable[[], Any]) -> None:
    """Press keys and wait for what they bring, where the next key means something only then.

    The pilot itself waits until the process uses little CPU, which on a loaded machine it does long before that.
    """
    await pilot.press(*keys)
    await until(pilot, then)


def hit(app: SpoolApp, *keys: str) -> None:
    """Press keys at once, as fast as a terminal sends them; the pilot waits after each."""
    for key in keys:
        app.post_message(events.Key(key, key if len(key) == 1 else None))


def text_of(app: Any) -> str:
    """Return what is on the screen, line by line."""
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


async def start_loop(pilot: Pilot[None]) -> None:
    """Go from the selection through the preview to the running loop."""
    await until(pilot, lambda: CHANGE in text_of(pilot.app))
    await pilot.press("enter")
    await until(pilot, lambda: "Proposal" in text_of(pilot.app))
    await pilot.press("R")


def run_state(scratch: Scratch) -> Any:
    """Return the state of the scratch change's `spool run` loop."""
    return json.loads((run_folder(scratch) / "state.json").read_text())


def run_events(scratch: Scratch, kind: str) -> list[Any]:
    """Return the events of one kind from the loop's journal."""
    lines = (run_folder(scratch) / "journal.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["type"] == kind]


def run_folder(scratch: Scratch) -> Path:
    """Return where the loop lives on disk."""
    return scratch.root / ".spool" / ".state" / "run" / CHANGE


def alive(pid: int) -> bool:
    """Whether a process runs, and is no zombie."""
    return start_time(pid) is not None
