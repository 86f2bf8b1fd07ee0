"""How each screen looks, at two sizes. Look at a new picture before you accept it: `pytest --snapshot-update`."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.screen import Screen

from spool.domain.loop.verdict import Status
from spool.tui.app import SpoolApp
from spool.tui.screens.loop_screen import LoopScreen
from spool.tui.screens.preview import PreviewScreen
from tests.support.scene import CHANGE, START, Scene, gated, half_way, make_scene, stuck
from tests.support.tui import still, text_of, until
from tests.tui.fixed_client import FixedClient

SIZES = [pytest.param((100, 30), id="100x30"), pytest.param((60, 20), id="60x20")]
TABS = ("Tokens are stored", "Who am I", "Scenario: No token", "# Spool: story 2", "Max retries")


class Stopped(datetime):
    """A clock that stands still."""

    @classmethod
    def now(cls, tz: Any = None) -> "Stopped":
        return cls.fromtimestamp((START + timedelta(minutes=7)).timestamp(), tz)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    for place in ("meter", "change_list", "loop_title", "story_column"):
        monkeypatch.setattr(f"spool.tui.widgets.{place}.datetime", Stopped)
    for place in ("app.reporting.loop_reports", "tui.screens.loop_screen"):
        monkeypatch.setattr(f"spool.{place}.datetime", Stopped)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("spool.views.words.clock", lambda at: f"{at:%H:%M:%S}")  # wherever this runs
    monkeypatch.setattr("spool.views.words.moment", lambda at: f"{at:%Y-%m-%d %H:%M:%S}")
    return make_scene(tmp_path)


def app_of(scene: Scene) -> SpoolApp:
    plain = scene.client()
    return SpoolApp(FixedClient(plain._project, plain.settings))


def showing(
    *keys: str, screen: Screen[Any] | None = None, first: str = "", wait_for: str, gone: str = "nowhere"
) -> Callable[[Pilot[None]], Awaitable[None]]:
    """Return what opens a screen, waits for something, presses keys, and waits until something else is there."""

    async def prepare(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: "001-01" in text_of(pilot.app))
        if screen is not None:
            await pilot.app.push_screen(screen)
            await until(pilot, lambda: CHANGE in text_of(pilot.app) and first in text_of(pilot.app))
        await pilot.press(*keys)
        await until(pilot, lambda: wait_for in text_of(pilot.app) and gone not in text_of(pilot.app))
        for area in pilot.app.screen.query("TextArea"):  # its cursor shows once it has the focus
            await until(pilot, partial(getattr, area, "has_focus"))
        for field in pilot.app.screen.query("Input, TextArea"):
            # Its cursor stops blinking. Not by `cursor_blink`: a line without the cursor would come from a cache.
            field._pause_blink(visible=field.has_focus)  # type: ignore[attr-defined]
        await still(pilot)

    return prepare


@pytest.mark.parametrize("size", SIZES)
def test_selection(scene: Scene, snap_compare: Any, size: tuple[int, int]) -> None:
    scene.state(Status.RUNNING, alive=True, at=START)
    earlier = START - timedelta(hours=9)
    scene.state(Status.STUCK, change="003-01_dark-mode", at=earlier, reason="the limit of 3 retries is reached")
    showing_all = showing("down", "down", wait_for="A dark mode that remembers itself · the limit")
    assert snap_compare(app_of(scene), terminal_size=size, run_before=showing_all)


@pytest.mark.parametrize("size", SIZES)
def test_selection_filtered(scene: Scene, snap_compare: Any, size: tuple[int, int]) -> None:
    prepare = showing("slash", *"dark", wait_for="dark-mode", gone="002-01")
    assert snap_compare(app_of(scene), terminal_size=size, run_before=prepare)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("tab", "there"), enumerate(TABS), ids=["proposal", "tasks", "scenarios", "prompt", "settings"]
)
def test_preview(scene: Scene, snap_compare: Any, size: tuple[int, int], tab: int, there: str) -> None:
    app = app_of(scene)
    prepare = showing(*["tab"] * tab, screen=PreviewScreen(app._client, CHANGE), wait_for=there)
    assert snap_compare(app, terminal_size=size, run_before=prepare)


@pytest.mark.parametrize("size", [*SIZES, pytest.param((80, 24), id="80x24"), pytest.param((160, 45), id="160x45")])
def test_loop(scene: Scene, snap_compare: Any, size: tuple[int, int]) -> None:
    scene.write(*gated())
    app = app_of(scene)
    prepare = showing(screen=LoopScreen(app._client, scene.running), wait_for="test_middleware.py")
    assert snap_compare(app, terminal_size=size, run_before=prepare)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("keys", "there"), [(["shift+tab"], "2.2 Refuse"), (["tab"], "2 files changed")], ids=["info", "changes"]
)
def test_loop_tabs(scene: Scene, snap_compare: Any, size: tuple[int, int], keys: list[str], there: str) -> None:
    scene.write(*half_way())
    app = app_of(scene)
    prepare = showing(*keys, screen=LoopScreen(app._client, scene.running), wait_for=there)
    assert snap_compare(app, terminal_size=size, run_before=prepare)


def test_loop_in_light(scene: Scene, snap_compare: Any) -> None:
    scene.write(*half_way())
    app = app_of(scene)
    loop = LoopScreen(app._client, scene.running)
    prepare = showing("t", "f", screen=loop, first="test_middleware.py", wait_for="1 replacement")
    assert snap_compare(app, terminal_size=(100, 30), run_before=prepare)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("done", [True, False], ids=["done", "stuck"])
def test_result(scene: Scene, snap_compare: Any, size: tuple[int, int], *, done: bool) -> None:
    scene.write(*half_way())
    if done:
        scene.finish()
    else:
        scene.write(*stuck())
    app = app_of(scene)
    prepare = showing(screen=LoopScreen(app._client, scene.loop), wait_for="Stories  ")
    assert snap_compare(app, terminal_size=size, run_before=prepare)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("key", "there"), [("question_mark", "Keys"), ("a", "Note for")], ids=["help", "note"])
def test_windows(scene: Scene, snap_compare: Any, size: tuple[int, int], key: str, there: str) -> None:
    scene.write(*half_way())
    app = app_of(scene)
    loop = LoopScreen(app._client, scene.running)
    prepare = showing(key, screen=loop, first="test_middleware.py", wait_for=there)
    assert snap_compare(app, terminal_size=size, run_before=prepare)
