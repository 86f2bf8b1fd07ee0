"""The screens say what they do, and nothing that is no longer true."""

import asyncio
from pathlib import Path

import pytest

from spool.app.loops.client import Diff, Edited
from spool.domain.loop.settings import Settings
from spool.domain.loop.summary import LoopSummary
from spool.sources.project import Project
from spool.tui.app import SpoolApp
from spool.tui.screens.loop_screen import LoopScreen
from spool.tui.screens.preview import PreviewScreen
from spool.tui.screens.questions import QuestionScreen
from spool.tui.screens.result import ResultScreen
from spool.tui.screens.selection import SelectionScreen
from spool.tui.widgets.paged import PagedView
from spool.tui.widgets.picker import Picker
from spool.tui.widgets.story_tabs import StoryTabs
from tests.support import Scratch
from tests.support.scene import CHANGE, Scene, half_way, make_scene
from tests.support.tui import make_app, opened, press, run_state, start_loop, still, text_of, two_stories, until
from tests.tui.quiet_client import QuietClient


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
        await until(pilot, lambda: "Hm." in text_of(app) and "q stop · d leave running" in text_of(app))
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, SelectionScreen))
        await until(pilot, lambda: "what story 1 has so far is in the" in text_of(app))
    assert run_state(scratch)["reason"] == "stopped with q"


class LateClient(QuietClient):
    """A client whose diff arrives while the widgets that would show it are being removed."""

    screen: LoopScreen
    late = False

    async def diff(self, loop: LoopSummary, tree: str, until: str) -> Diff:
        self.asked.append(("diff", loop))
        tabs = self.screen.query_one(StoryTabs)
        while tabs.query("#beside"):
            await asyncio.sleep(0)
        self.late = tabs.is_attached
        return Diff()


async def test_what_arrives_while_a_screen_is_removed_is_dropped(scene: Scene) -> None:
    scene.write(*half_way())
    app, client = quiet(scene, LateClient)
    assert isinstance(client, LateClient)
    async with opened(app, (160, 40)) as pilot:
        client.screen = LoopScreen(client, scene.running)
        await app.push_screen(client.screen)
        await until(pilot, lambda: client.asked)
        await press(pilot, "d", then=lambda: isinstance(app.screen, SelectionScreen))
        await until(pilot, lambda: client.late)  # the innermost widgets go first


async def test_an_edited_tree_is_asked_about_before_the_loop_starts(scene: Scene) -> None:
    app, client = quiet(scene, EditedClient)
    async with opened(app) as pilot:
        await app.push_screen(PreviewScreen(client, CHANGE))
        for key, asked in (("escape", 0), ("k", 1)):
            await pilot.press("R")
            await until(pilot, lambda: isinstance(app.screen, QuestionScreen) and "mine.txt" in text_of(app))
            await pilot.press(key)
            await until(pilot, lambda: not isinstance(app.screen, QuestionScreen))
            await until(pilot, lambda asked=asked: len(client.asked) == asked)  # type: ignore[misc]


async def test_one_notice_at_a_time_and_none_follows_to_another_screen(scene: Scene) -> None:
    app, client = quiet(scene)
    async with opened(app) as pilot:
        app.notify("The settings are invalid.", severity="error")
        app.notify("All is well.")
        await until(pilot, lambda: "All is well." in text_of(app) and "invalid" not in text_of(app))
        await app.push_screen(PreviewScreen(client, CHANGE))
        await until(pilot, lambda: "Proposal" in text_of(app) and "All is well." not in text_of(app))


async def test_the_result_follows_a_resize_and_back(scene: Scene) -> None:
    scene.write(*half_way())
    scene.finish()
    app, client = quiet(scene)
    async with opened(app) as pilot:
        await app.push_screen(LoopScreen(client, scene.loop))
        await until(pilot, lambda: isinstance(app.screen, ResultScreen) and "Check requests" in text_of(app))
        await still(pilot)
        before = text_of(app)
        for width in (200, 100, 60, 200, 100):
            await pilot.resize_terminal(width, 30)
            await until(pilot, lambda: "2 Check req" in text_of(app) and "Cost" in text_of(app))
        await until(pilot, lambda: text_of(app) == before)


async def test_the_result_opens_the_selected_story(scene: Scene) -> None:
    scene.write(*half_way())
    scene.finish()
    app, client = quiet(scene)
    async with opened(app) as pilot:
        await app.push_screen(LoopScreen(client, scene.loop))
        await until(pilot, lambda: isinstance(app.screen, ResultScreen) and "Check requests" in text_of(app))
        view = app.screen.query_one(PagedView)
        await until(pilot, lambda: view.marked == 0)
        await pilot.press("right")
        await until(pilot, lambda: view.marked == 1)
        await pilot.press("enter")
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
        picker = app.screen.query_one(Picker)
        await press(pilot, "down", then=lambda: picker.has_focus)
        await press(pilot, "right", then=lambda: picker.value == "codex")
        await press(pilot, "escape", then=lambda: app.focused is None)
        await press(pilot, "R", then=lambda: client.asked)
    assert client.asked[0][1].harness == "codex"
