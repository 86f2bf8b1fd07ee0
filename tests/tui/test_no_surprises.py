"""The screens say what they do, and nothing that is no longer true."""

from pathlib import Path

import pytest
from textual.widgets import DataTable

from spool.app.client import Edited
from spool.domain.settings import Settings
from spool.sources.project import Project
from spool.tui.app import SpoolApp
from spool.tui.screens.loop import LoopScreen
from spool.tui.screens.preview import PreviewScreen
from spool.tui.screens.result import ResultScreen
from spool.tui.screens.resume import ResumeScreen
from spool.tui.screens.selection import SelectionScreen
from spool.tui.widgets.picker import Picker
from tests.support import Scratch
from tests.tui.scene import CHANGE, Scene, half_way, make_scene
from tests.tui.support import make_app, opened, run_state, start_loop, text_of, two_stories, until
from tests.tui.test_screens import QuietClient


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return make_scene(tmp_path)


class EditedClient(QuietClient):
    """A client whose tree was edited since the last run."""

    async def edits(self, change: str, settings: Settings) -> Edited | None:
        return Edited(label="story 2, Check requests", files=("mine.txt",))


def quiet(scene: Scene, kind: type[QuietClient] = QuietClient) -> tuple[SpoolApp, QuietClient]:
    client = kind(Project(scene.root), Settings(harness="claude"))
    return SpoolApp(client), client


async def test_q_stops_and_says_what_is_kept(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    two_stories(scratch, [{"write": "half.txt"}, {"say": "Hm."}, {"sleep": 600}])
    app = make_app(scratch, monkeypatch)
    async with opened(app) as pilot:
        await start_loop(pilot)
        await until(pilot, lambda: "Hm." in text_of(app))
        assert "q stop · d leave running" in text_of(app)
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, SelectionScreen))
        await until(pilot, lambda: "what story 1 has so far is in the" in text_of(app))
    assert run_state(scratch)["reason"] == "stopped with q"


async def test_an_edited_tree_is_asked_about_before_the_loop_starts(scene: Scene) -> None:
    app, client = quiet(scene, EditedClient)
    async with opened(app) as pilot:
        await app.push_screen(PreviewScreen(client, CHANGE))
        for key, asked in (("escape", 0), ("k", 1)):
            await pilot.press("R")
            await until(pilot, lambda: isinstance(app.screen, ResumeScreen) and "mine.txt" in text_of(app))
            await pilot.press(key)
            await until(pilot, lambda: not isinstance(app.screen, ResumeScreen))
            await until(pilot, lambda asked=asked: len(client.asked) == asked)  # type: ignore[misc]


async def test_one_notice_at_a_time_and_none_follows_to_another_screen(scene: Scene) -> None:
    app, client = quiet(scene)
    async with opened(app) as pilot:
        app.notify("The settings are invalid.", severity="error")
        app.notify("All is well.")
        await until(pilot, lambda: "All is well." in text_of(app) and "invalid" not in text_of(app))
        await app.push_screen(PreviewScreen(client, CHANGE))
        await until(pilot, lambda: "Proposal" in text_of(app) and "All is well." not in text_of(app))


async def test_the_result_table_follows_a_resize_and_back(scene: Scene) -> None:
    scene.write(*half_way())
    scene.finish()
    app, client = quiet(scene)
    async with opened(app) as pilot:
        await app.push_screen(LoopScreen(client, scene.loop))
        await until(pilot, lambda: isinstance(app.screen, ResultScreen) and "Check requests" in text_of(app))
        await pilot.pause()
        before = text_of(app)
        for width in (200, 100, 60, 200, 100):
            await pilot.resize_terminal(width, 30)
            await until(pilot, lambda: "2 Check req" in text_of(app) and "cost" in text_of(app))
        await until(pilot, lambda: text_of(app).splitlines()[5:9] == before.splitlines()[5:9])


async def test_tab_on_the_result_stays_where_keys_work(scene: Scene) -> None:
    scene.write(*half_way())
    scene.finish()
    app, client = quiet(scene)
    async with opened(app) as pilot:
        await app.push_screen(LoopScreen(client, scene.loop))
        await until(pilot, lambda: isinstance(app.screen, ResultScreen) and "Check requests" in text_of(app))
        await pilot.press("tab", "down")
        table = app.screen.query_one(DataTable)
        await until(pilot, lambda: table.cursor_row == 1)
        await pilot.press("tab", "enter")
        await until(pilot, lambda: isinstance(app.screen, LoopScreen) and "middleware" in text_of(app))


async def test_the_agent_is_one_of_the_installed(scene: Scene, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("claude", "codex"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    app, client = quiet(scene)
    async with opened(app) as pilot:
        await app.push_screen(PreviewScreen(client, CHANGE))
        await pilot.press("shift+tab")
        await until(pilot, lambda: "‹ claude ›  1 of 3" in text_of(app))  # noqa: RUF001
        await pilot.press("down", "right")
        assert app.screen.query_one(Picker).value == "codex"
        await pilot.press("escape", "R")
        await until(pilot, lambda: client.asked)
    assert client.asked[0][1].harness == "codex"
