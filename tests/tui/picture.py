"""Makes the pictures of the loop screen, for the README and docs/watching.md: `make picture`."""

import asyncio
import os
import re
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import msgspec

from spool.domain.judging.gates.gate import GatePurpose
from spool.domain.loop.events import Event, GateStarted, IterationEnded, Reverted, Waiting
from spool.domain.loop.settings import Settings
from spool.sources.project import Project
from spool.tui.app import SpoolApp
from spool.tui.screens.loop_screen import LoopScreen
from spool.tui.theme import LIGHT
from tests.support.scene import CHANGE, Clock, gated, make_scene, stuck
from tests.support.tui import text_of, until
from tests.tui.fixed_client import FixedClient

STEP = timedelta(seconds=18)
_ROOT = "/home/ada/shop"


class Picture(NamedTuple):
    """One picture: its size, its theme, what happens at its end, and what shows that it is complete."""

    size: tuple[int, int]
    shows: str
    light: bool = False
    colour: bool = True
    more: tuple[Event, ...] = ()


def pictures() -> dict[str, Picture]:
    """Return the pictures by the names of their files."""
    now = datetime.now(UTC)
    wait = Waiting(seconds=900.0, until=now + timedelta(seconds=432), reason="rate limit: slow down")
    gate = GateStarted(gate="pytest", purpose=GatePurpose.CLAIM, expected_s=60.0)
    return {
        "loop-screen": Picture((124, 34), "test_middleware.py", more=(gate,)),
        "loop-wide": Picture((200, 44), "src/middleware.py", more=(gate,)),
        "loop-light": Picture((160, 40), "src/middleware.py", light=True, more=(wait,)),
        "loop-80": Picture((80, 24), "test_middleware.py", more=(gate,)),
        "loop-60": Picture((60, 20), "test_middleware.py", colour=False, more=(wait,)),
        "loop-result": Picture((100, 34), "Review with", more=tuple(stuck())),
    }


def _dated(event: Event, at: datetime) -> Event:
    """Return an event whose own times, and the names made of them, are those of the picture."""
    match event:
        case IterationEnded(record=record):
            return msgspec.structs.replace(event, record=msgspec.structs.replace(record, ended_at=at))
        case Reverted():
            return msgspec.structs.replace(event, kept_as=f"{CHANGE}.{at.astimezone():%Y%m%d-%H%M%S}")
        case _:
            return event


async def draw(picture: Picture) -> str:
    """Return the loop screen in the middle of a loop, or its result, as SVG that fetches nothing."""
    with tempfile.TemporaryDirectory() as folder:
        scene = make_scene(Path(folder))
        git = ("git", "-C", str(scene.root))
        subprocess.run([*git, "init", "--quiet", "--initial-branch", f"change/{CHANGE}"], check=True)
        events = [*gated(), *picture.more]
        began = datetime.now(UTC) - STEP * (len(events) + 1)
        scene.clock = Clock(began, STEP)
        scene.write(*(_dated(event, began + STEP * place) for place, event in enumerate(events, 1)))
        over = any(event in picture.more for event in stuck())
        loop = msgspec.structs.replace(scene.loop if over else scene.running, project=_ROOT, worktree=str(scene.root))
        client = FixedClient(Project(scene.root), Settings(harness="claude", model="sonnet"))
        app = SpoolApp(client, colour=picture.colour)
        if picture.light:
            app.theme = LIGHT
        async with app.run_test(size=picture.size) as pilot:
            await app.push_screen(LoopScreen(client, loop))
            await until(pilot, lambda: picture.shows in text_of(app))
            await pilot.pause(1.5)
            drawn = app.export_screenshot(title=f"spool tui {CHANGE}")
    return re.sub(r"\s*@font-face \{.*?\}", "", drawn, flags=re.DOTALL)


def main() -> None:
    """Write the pictures to the folder that is named."""
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"HOME": home, "XDG_STATE_HOME": home}
        for name, picture in pictures().items():
            os.environ.pop("NO_COLOR", None)
            os.environ |= {} if picture.colour else {"NO_COLOR": "1"}
            Path(sys.argv[1], f"{name}.svg").write_text(asyncio.run(draw(picture)), "utf-8")


if __name__ == "__main__":
    main()
