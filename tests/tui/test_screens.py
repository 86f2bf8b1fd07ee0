"""The keys of each screen, with Textual's pilot and journals of real events."""

import asyncio
import itertools
import json
import re
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual.events import MouseScrollUp
from textual.pilot import Pilot
from textual.widgets import Checkbox, Input, TextArea

from spool.app.loops.client import Feed, JournalEntry
from spool.domain.account.progress import LoopProgress
from spool.domain.agent.stream import Message, ToolUse
from spool.domain.judging.gates.gate import GatePurpose, GateResult
from spool.domain.loop.events import Event, GateEnded, GateStarted, IterationEnded, IterationStarted, Waiting
from spool.domain.loop.outcome import OutcomeKind
from spool.domain.loop.plan_memory import StoryMemory, StoryState
from spool.domain.loop.settings import Settings
from spool.domain.loop.summary import LoopSummary
from spool.domain.loop.verdict import Status
from spool.host.runner.identity import start_time, this_runner
from spool.host.state.specs import kept_spec
from spool.sources.project import Project
from spool.tui.app import SpoolApp
from spool.tui.screens.help import HelpScreen
from spool.tui.screens.loop_screen import LoopScreen
from spool.tui.screens.preview import PreviewScreen
from spool.tui.screens.questions import NoteScreen, QuestionScreen
from spool.tui.screens.result import ResultScreen
from spool.tui.screens.selection import SelectionScreen
from spool.tui.widgets.change_list import ChangeList
from spool.tui.widgets.key_line import KeyLine
from spool.tui.widgets.paged import PagedView
from spool.tui.widgets.story_column import StoryColumn
from spool.tui.widgets.tabbed import Tabbed
from tests.support import CHANGE as SCRATCH_CHANGE
from tests.support import Scratch
from tests.support.scene import CHANGE, Scene, gated, half_way, make_scene, record, said
from tests.support.tui import (
    alive,
    hit,
    make_app,
    opened,
    press,
    run_events,
    run_folder,
    run_state,
    start_loop,
    still,
    text_of,
    two_stories,
    until,
)
from tests.tui.quiet_client import QuietClient


@asynccontextmanager
async def watching(
    scene: Scene, *more: Event, size: tuple[int, int] = (100, 30)
) -> AsyncIterator[tuple[Pilot[None], SpoolApp, QuietClient]]:
    """Watch a loop that is half way, and says more."""
    scene.write(*half_way(), *more)
    app, client = quiet(scene)
    async with opened(app, size) as pilot:
        await app.push_screen(LoopScreen(client, scene.running))
        yield pilot, app, client


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return make_scene(tmp_path)


def driven_by(scene: Scene, runner: subprocess.Popen[bytes]) -> LoopSummary:
    """Return the loop, as if this process were its runner."""
    identity = msgspec.structs.replace(this_runner(), pid=runner.pid, start_time=start_time(runner.pid) or "")
    return msgspec.structs.replace(scene.loop, runner=identity)


def quiet(scene: Scene) -> tuple[SpoolApp, QuietClient]:
    client = QuietClient(Project(scene.root), Settings(harness="claude"))
    return SpoolApp(client), client


async def test_the_selection_filters_and_keeps_its_place(scene: Scene) -> None:
    app, _ = quiet(scene)
    async with opened(app) as pilot:
        await until(pilot, lambda: "003-01_dark-mode" in text_of(app))
        changes = app.screen.query_one(ChangeList)
        await press(pilot, "slash", then=lambda: app.screen.query_one("#filter").has_focus)
        await press(pilot, *"search", then=lambda: "003-01" not in text_of(app))
        assert "002-01_faster-search" in text_of(app)
        await press(pilot, "enter", then=lambda: changes.has_focus)
        await press(pilot, "enter", then=lambda: isinstance(app.screen, PreviewScreen))
        await press(pilot, "escape", then=lambda: isinstance(app.screen, SelectionScreen))
        await press(pilot, "escape", then=lambda: "003-01" in text_of(app))
        assert changes.row is not None
        assert changes.row.id == "002-01_faster-search"
        await pilot.press("q")
    assert not app.is_running


async def test_the_mouse_opens_a_change_and_presses_keys(scene: Scene) -> None:
    app, _ = quiet(scene)
    async with opened(app) as pilot:
        await until(pilot, lambda: "003-01_dark-mode" in text_of(app))
        await pilot.click(ChangeList, offset=(5, 2))
        await until(pilot, lambda: isinstance(app.screen, PreviewScreen) and "dark mode" in text_of(app))
        await until(pilot, lambda: "Esc" in text_of(app).splitlines()[-1])
        at = text_of(app).splitlines()[-1].index("Esc")
        await pilot.click(KeyLine, offset=(at, 0))
        await until(pilot, lambda: isinstance(app.screen, SelectionScreen))


async def into(pilot: Pilot[None], *fields: str) -> None:
    """Go down to each of these fields of the settings."""
    for name in fields:
        await press(pilot, "down", then=partial(getattr, pilot.app.screen.query_one(f"#{name}"), "has_focus"))


async def test_settings_are_checked_and_used(scene: Scene) -> None:
    app, client = quiet(scene)
    async with opened(app) as pilot:
        await app.push_screen(PreviewScreen(client, CHANGE))
        await pilot.press("shift+tab")
        await until(pilot, lambda: "Max retries" in text_of(app))
        await into(pilot, "harness", "model", "max_retries")
        await press(pilot, *"many", then=lambda: "max retries is invalid" in text_of(app))
        await press(pilot, "escape", then=lambda: app.focused is None)
        await press(pilot, "R", then=lambda: "The settings are invalid." in text_of(app))
        assert client.asked == []
        await into(pilot, "harness", "model", "max_retries")
        await pilot.press("ctrl+a", "ctrl+k", "7")  # a field that is gone into is not selected
        await into(pilot, "iteration_timeout", "idle_timeout")
        await pilot.press("ctrl+a", "ctrl+k", *"90s")
        await into(pilot, "command_timeout", "allow_all")
        await press(pilot, "space", then=lambda: app.screen.query_one("#allow_all", Checkbox).value)
        await until(pilot, lambda: "is invalid" not in text_of(app))
        await press(pilot, "escape", then=lambda: app.focused is None)
        await press(pilot, "R", then=lambda: client.asked)
    asked = client.asked[0][1]
    assert (asked.max_retries, asked.idle_timeout, asked.allow_all) == (7, 90.0, True)


async def test_keys_work_in_the_settings_until_one_goes_into_a_field(scene: Scene) -> None:
    app, client = quiet(scene)
    async with opened(app) as pilot:
        await app.push_screen(PreviewScreen(client, CHANGE))
        await pilot.press("shift+tab")
        await until(pilot, lambda: "Max retries" in text_of(app))
        await pilot.press("question_mark")
        await until(pilot, lambda: "Keys (Esc to close)" in text_of(app))
        await press(pilot, "escape", then=lambda: isinstance(app.screen, PreviewScreen))
        await into(pilot, "harness", "model")
        await press(pilot, "q", "question_mark", then=lambda: "q?" in app.screen.query_one("#model", Input).value)
        await press(pilot, "escape", then=lambda: app.focused is None)
        await pilot.press("q")
    assert not app.is_running


async def test_attaching_replays_and_follows(scene: Scene) -> None:
    scene.write(*half_way())
    scene.state(Status.RUNNING, alive=True)
    app, _ = quiet(scene)
    async with opened(app) as pilot:
        await until(pilot, lambda: "running; Enter attaches" in text_of(app))
        await pilot.press("enter")
        await until(pilot, lambda: "test_middleware.py" in text_of(app))
        scene.write(*said("2", 3, Message(text="And *one* thing more.")))
        await until(pilot, lambda: "And one thing more." in text_of(app))
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, SelectionScreen))


async def test_scrolling_up_ends_the_following(scene: Scene) -> None:
    async with watching(scene, size=(100, 20)) as (pilot, app, _):
        await until(pilot, lambda: "test_middleware.py" in text_of(app))
        view = app.screen.query_one("#agent-text", PagedView)
        await until(pilot, lambda: view.scroll_offset.y == view.max_scroll_y > 3)
        await press(pilot, "up", "up", "up", then=lambda: view.scroll_offset.y == view.max_scroll_y - 3)
        assert not view.following
        place = view.scroll_offset
        scene.write(*said("2", 3, *[Message(text=f"more {number}") for number in range(50)]))
        await until(pilot, lambda: view._source.version > 50)
        await pilot.pause(0.5)
        assert view.scroll_offset == place
        assert "more 49" not in text_of(app)
        await pilot.press("end")
        await until(pilot, lambda: "more 49" in text_of(app))
        assert view.following


async def test_no_key_is_lost_while_the_text_is_painted(scene: Scene) -> None:
    async with watching(scene, size=(100, 20)) as (pilot, app, _):
        await until(pilot, lambda: "test_middleware.py" in text_of(app))
        await still(pilot)
        view = app.screen.query_one("#agent-text", PagedView)
        view.action_scroll_up()
        view._paint_anew()  # while the end is followed, it scrolls to the end
        await still(pilot)
        assert view.scroll_offset.y == view.max_scroll_y - 1
        assert not view.following


async def test_the_bar_reaches_every_part_of_a_long_text(scene: Scene) -> None:
    async with watching(
        scene, *said("2", 3, *[Message(text=f"line {number}.") for number in range(3_000)]), size=(100, 20)
    ) as (pilot, app, _):
        await until(pilot, lambda: "line 2999." in text_of(app))
        view = app.screen.query_one("#agent-text", PagedView)
        bar, height = view.outer_size.width - 1, view.size.height
        await pilot.mouse_down(view, offset=(bar, height // 2))
        await until(pilot, lambda: "line 16" in text_of(app))
        assert not view.following
        await pilot.hover(view, offset=(bar, 0))
        await until(pilot, lambda: view.place[0] == 1)
        await pilot.hover(view, offset=(bar, height - 1))
        await until(pilot, lambda: "line 2999." in text_of(app))
        await pilot.mouse_up(view, offset=(bar, height - 1))
        await until(pilot, lambda: app.mouse_captured is None)
        assert view.following


async def test_calls_fold(scene: Scene) -> None:
    async with watching(scene) as (pilot, app, _):
        await until(pilot, lambda: "► 2 calls: read, edit" in text_of(app))
        assert "tests/conftest.py" not in text_of(app)
        await pilot.press("f")
        await until(pilot, lambda: "1 replacement" in text_of(app))
        await pilot.press("f")
        await until(pilot, lambda: "▼" not in text_of(app))
        view = app.screen.query_one("#agent-text", PagedView)
        await press(pilot, "end", then=lambda: view.scroll_offset.y == view.max_scroll_y)
        await pilot.press("p", "p", "enter")  # the group opens, and its calls stay folded
        await until(pilot, lambda: "▼ 2 calls: read, edit" in text_of(app) and "► edit tests/conftest" in text_of(app))
        assert "1 replacement" not in text_of(app)
        await pilot.press("n", "n", "enter")
        await until(pilot, lambda: "1 replacement" in text_of(app) and "def client" not in text_of(app))


async def test_walking_the_stories(scene: Scene) -> None:
    async with watching(scene) as (pilot, app, _):
        await until(pilot, lambda: "► 2 Check requests" in text_of(app))
        await pilot.press("left")
        await until(pilot, lambda: "✓ 1 Tokens" in text_of(app) and "token store" in text_of(app))
        scene.write(*said("2", 3, ToolUse(tool="read", summary="elsewhere.py")))
        await pilot.pause(0.3)
        assert "elsewhere.py" not in text_of(app)
        await click_story(pilot, "2 Check requests")
        await until(pilot, lambda: "elsewhere.py" in text_of(app))


async def click_story(pilot: Pilot[None], name: str) -> None:
    """Click the line of a story in the column."""
    row = next(number for number, line in enumerate(text_of(pilot.app).splitlines()) if name in line)
    column = pilot.app.screen.query_one(StoryColumn)
    await pilot.click(column, offset=(5, row - column.region.y))


async def test_tabs_in_quick_succession_settle(scene: Scene) -> None:
    scene.write(*half_way())
    app, client = quiet(scene)
    async with opened(app) as pilot:
        screen = LoopScreen(client, scene.running)
        await app.push_screen(screen)
        await until(pilot, lambda: "test_middleware.py" in text_of(app))
        hit(app, *["tab"] * 9, "question_mark")  # the help opens when all of them are done
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await press(pilot, "escape", then=lambda: app.screen is screen)
        await until(pilot, lambda: screen.query_one(Tabbed).active == "changes")
        seen = set()
        for _ in range(20):
            await asyncio.sleep(0.02)
            seen.add(screen.query_one(Tabbed).active)
        assert seen == {"changes"}


async def test_a_note_is_added(scene: Scene) -> None:
    async with watching(scene) as (pilot, app, _):
        await write_note(pilot, "two")
        assert "Note for all later prompts" in text_of(app)
        await pilot.press("ctrl+j", *"lines", "enter")
        await until(pilot, lambda: scene.folder.context() == "two\nlines\n")


async def test_two_presses_force_once_a_stop_is_pending(scene: Scene) -> None:
    async with watching(scene) as (pilot, app, client):
        await until(pilot, lambda: "running" in text_of(app))
        await pilot.press("q")
        await until(pilot, lambda: "Stopping" in text_of(app))
        await pilot.press("q")
        await until(pilot, lambda: "Press q once more" in text_of(app))
        hit(app, "q")
        await until(pilot, lambda: not app.is_running)
    assert [what for what, _ in client.asked] == ["stop", "force"]


async def test_the_result_leads_back_to_a_story(scene: Scene) -> None:
    scene.write(*half_way())
    scene.finish()
    app, client = quiet(scene)
    async with opened(app) as pilot:
        await app.push_screen(LoopScreen(client, scene.loop))
        await until(pilot, lambda: isinstance(app.screen, ResultScreen))
        await until(pilot, lambda: "all stories are complete" in text_of(app))
        await pilot.press("enter")
        await until(pilot, lambda: "token store" in text_of(app))
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, SelectionScreen))


async def test_help_is_everywhere(scene: Scene) -> None:
    scene.write(*half_way())
    app, client = quiet(scene)
    async with opened(app) as pilot:
        result = ResultScreen(CHANGE, lambda: client.reported(scene.running, LoopProgress(CHANGE)))
        for screen in (None, PreviewScreen(client, CHANGE), LoopScreen(client, scene.running), result):
            if screen is not None:
                await app.push_screen(screen)
            below = app.screen
            await press(pilot, "question_mark", then=lambda: "Keys (Esc to close)" in text_of(app))
            await press(pilot, "escape", then=lambda below=below: app.screen is below)  # type: ignore[misc]


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (10, 2), (300, 100)])
async def test_no_size_is_too_small_or_too_large(scene: Scene, size: tuple[int, int]) -> None:
    scene.write(*half_way())
    app, client = quiet(scene)
    async with opened(app, size) as pilot:
        changes = app.screen.query_one(ChangeList)
        await until(pilot, lambda: changes.has_focus and changes.row is not None)
        await press(pilot, "enter", then=lambda: isinstance(app.screen, PreviewScreen))
        await pilot.press("tab", "tab", "tab", "tab")
        await press(pilot, "escape", "escape", then=lambda: isinstance(app.screen, SelectionScreen))
        await app.push_screen(LoopScreen(client, scene.running))
        loop = app.screen
        await press(pilot, "tab", "tab", "left", "tab", "s", then=lambda: isinstance(app.screen, ResultScreen))
        await press(pilot, "escape", then=lambda: app.screen is loop)
        await press(pilot, "question_mark", then=lambda: isinstance(app.screen, HelpScreen))
        await press(pilot, "escape", then=lambda: app.screen is loop)
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "Agent" in text_of(app))


async def test_a_loop_in_another_worktree_can_be_attached_to(
    scratch: Scratch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_stories(scratch, [{"say": "I work elsewhere."}, {"sleep": 600}])
    other = tmp_path / "another tree"
    scratch.git("worktree", "add", "--quiet", "-b", "another", str(other))
    runner = scratch.start("run", SCRATCH_CHANGE, "--harness", "scripted", cwd=other)
    app = make_app(scratch, monkeypatch)
    try:
        async with opened(app) as pilot:
            await until(pilot, lambda: f"► {SCRATCH_CHANGE}  in worktree {other.name}" in text_of(app))
            await pilot.press("home")
            await until(pilot, lambda: f"running in {other}"[:40] in text_of(app))
            await pilot.press("enter")
            await until(pilot, lambda: "I work elsewhere." in text_of(app) and "1 Loop" in text_of(app))
            await press(pilot, "x", then=lambda: "y: stop it" in text_of(app))
            await press(pilot, "y", then=lambda: isinstance(app.screen, SelectionScreen))
            assert runner.wait(10) == 130
    finally:
        runner.kill()
        runner.wait()


async def test_a_loop_that_cannot_start_says_why(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    two_stories(scratch, [{"say": "Hello."}, {"sleep": 600}])
    other = scratch.root / ".spool/changes/another"
    other.mkdir()
    (other / "proposal.md").write_text("# Another\n")
    (other / "tasks.md").write_text("- [ ] 1.1 Something else\n")
    app = make_app(scratch, monkeypatch)
    app._client.check({"harness": "scripted"})
    async with opened(app) as pilot:
        await start_loop(pilot)
        await until(pilot, lambda: "Hello." in text_of(app))
        runner = run_state(scratch)["runner"]["pid"]
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, SelectionScreen))
        await app.push_screen(PreviewScreen(app._client, "another"))
        await pilot.press("R")
        await until(pilot, lambda: "did not start" in text_of(app) and isinstance(app.screen, PreviewScreen))
        assert "spool attach" in " ".join(re.sub("[▌┃]", " ", text_of(app)).split())  # a long path may end a line there
        await pilot.press("escape")
        await until(pilot, lambda: "running; Enter attaches" in text_of(app))
        assert alive(runner)
        await pilot.press("home", "enter")
        await until(pilot, lambda: "Hello." in text_of(app))
        await pilot.press("q")
        await until(pilot, lambda: not alive(runner))


async def test_the_preview_of_a_running_change_says_so_and_r_watches_it(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_stories(scratch, [{"say": "Hello."}, {"sleep": 600}])
    app = make_app(scratch, monkeypatch)
    async with opened(app) as pilot:
        await until(pilot, lambda: SCRATCH_CHANGE in text_of(app))
        await press(pilot, "enter", then=lambda: "R run" in text_of(app))
        runner = scratch.start("run", SCRATCH_CHANGE, "--harness", "scripted")
        try:
            await until(pilot, lambda: "running; R watches it" in text_of(app) and "R watch " in text_of(app))
            await press(pilot, "R", then=lambda: "Hello." in text_of(app) and "x stop" in text_of(app))
            assert runner.poll() is None
            assert [one["status"] for one in json.loads(scratch.spool("ps", "--all", "--json").stdout)] == ["running"]
        finally:
            runner.terminate()
            assert runner.wait(30) == 130


@pytest.mark.parametrize("key", ["q", "d", "escape"])
async def test_keys_that_leave_a_loop_of_another_terminal_stop_nothing(scene: Scene, key: str) -> None:
    async with watching(scene) as (pilot, app, client):
        client.owns = False
        await app.switch_screen(LoopScreen(client, scene.running))
        await until(pilot, lambda: "q leave running · x stop" in text_of(app))
        await press(pilot, key, then=lambda: isinstance(app.screen, SelectionScreen))
        await until(pilot, lambda: "keeps running" in text_of(app))
    assert client.asked == []


async def test_ctrl_c_on_a_loop_of_another_terminal_closes_the_screen_alone(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    async with watching(scene) as (pilot, app, client):
        client.owns = False
        await app.switch_screen(LoopScreen(client, scene.running))
        await until(pilot, lambda: "q leave running · x stop" in text_of(app))
        hit(app, "ctrl+c")
        await until(pilot, lambda: not app.is_running)
    assert (client.asked, app.return_code) == ([], 0)
    assert f"is still running. Stop it with: spool stop {scene.running.id}" in capsys.readouterr().err


async def test_stopping_a_loop_of_another_terminal_asks_and_then_kills_only_if_asked_again(scene: Scene) -> None:
    async with watching(scene) as (pilot, app, client):
        client.owns = False
        loop = LoopScreen(client, scene.running)
        await app.switch_screen(loop)
        await until(pilot, lambda: "x stop" in text_of(app))
        for refusal in ("escape", "n", "q", "ctrl+c"):
            await press(pilot, "x", then=lambda: isinstance(app.screen, QuestionScreen) and "Stop " in text_of(app))
            await press(pilot, refusal, then=lambda: app.screen is loop)
        assert client.asked == []
        await press(pilot, "x", then=lambda: isinstance(app.screen, QuestionScreen))
        await press(pilot, "y", then=lambda: "Stopping" in text_of(app))
        await press(pilot, "x", then=lambda: "y: kill it and its agent" in text_of(app))
        hit(app, "y")
        await until(pilot, lambda: not app.is_running)
    assert [what for what, _ in client.asked] == ["stop", "force"]


async def test_changes_show_the_difference_from_the_checkpoint(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_stories(
        scratch,
        [
            {"write": "new file.txt", "text": "one\ntwo\n"},
            {"append": ".spool/changes/" + SCRATCH_CHANGE + "/proposal.md", "text": "More.\n"},
            {"sleep": 600},
        ],
    )
    app = make_app(scratch, monkeypatch)
    async with opened(app) as pilot:
        await start_loop(pilot)
        await until(pilot, lambda: "proposal.md" in text_of(app))
        await pilot.press("tab")
        parts = ("2 files changed since the checkpoint (+3 -0)", "new file.txt +2 -0", "+two", "+More.")
        await until(pilot, lambda: all(part in text_of(app) for part in parts))
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, SelectionScreen))


async def test_the_prompt_after_a_stop_is_that_of_the_checkpoint(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal = ".spool/changes/" + SCRATCH_CHANGE + "/proposal.md"
    two_stories(
        scratch, [{"append": proposal, "text": "Of the attempt.\n"}, {"tick": 1}, {"say": "Hm."}, {"sleep": 600}]
    )
    app = make_app(scratch, monkeypatch)
    async with opened(app) as pilot:
        await start_loop(pilot)
        await until(pilot, lambda: "Hm." in text_of(app))
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, SelectionScreen))
        kept = await app._client.prompt(SCRATCH_CHANGE, app._client.check({"on_resume": "keep"}))
        assert "Of the attempt." in kept
        prompt = await app._client.prompt(SCRATCH_CHANGE, app._client.check({"on_resume": "revert"}))
        assert "Of the attempt." not in prompt
        scratch.script([{"say": "Again."}, {"sleep": 600}])
        await start_loop(pilot)
        await until(pilot, lambda: "Again." in text_of(app))
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, SelectionScreen))
    assert (run_folder(scratch) / "logs" / "0002.prompt.md").read_text() == prompt


async def test_removed_lines_that_look_like_headers_are_shown(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    (scratch.root / "query.sql").write_text("-- drop me\nselect 1;\n")
    (scratch.root / "becomes a link").write_text("text\n")
    steps: list[dict[str, Any]] = [
        {"write": "query.sql", "text": "select 1;\n++ x\n"},
        {"run": ["ln", "-sf", "query.sql", "becomes a link"]},
        {"say": "Done so far."},
        {"sleep": 600},
    ]
    two_stories(scratch, steps)
    app = make_app(scratch, monkeypatch)
    async with opened(app) as pilot:
        await start_loop(pilot)
        await until(pilot, lambda: "Done so far." in text_of(app))
        await pilot.press("tab")
        parts = ("query.sql +1 -1", "--- drop me", "+++ x")
        await until(pilot, lambda: all(part in text_of(app) for part in parts))
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, SelectionScreen))


async def test_another_story_while_the_first_is_still_painted(scene: Scene) -> None:
    long = [Message(text="**bold** `code`\n\n- one\n- two\n" * 40) for _ in range(60)]
    async with watching(scene, *said("2", 3, *long), size=(140, 50)) as (pilot, app, _):
        await until(pilot, lambda: "bold" in text_of(app))
        for _ in range(5):
            hit(app, "f", "left", "f", "right", "t", "left", "right")
            await pilot.pause(0.05)
        await until(pilot, lambda: "bold" in text_of(app))
    assert app.return_code in (0, None)


async def test_clicks_pick_the_story_under_the_mouse(scene: Scene) -> None:
    async with watching(scene, size=(140, 30)) as (pilot, app, _):
        await until(pilot, lambda: "1 Tokens" in text_of(app) and "test_middleware.py" in text_of(app))
        await click_story(pilot, "1 Tokens")
        await until(pilot, lambda: "begin with the token store" in text_of(app))


async def test_a_runner_that_was_killed_has_ended_when_it_was_heard_of_last(scene: Scene) -> None:
    scene.write(*half_way())
    app, client = quiet(scene)
    async with opened(app) as pilot:
        await app.push_screen(LoopScreen(client, scene.loop))  # nobody drives it
        parts = ("its runner died", "to 09:33:", "1 interrupted")  # the journal's own time, not that since last spring
        await until(pilot, lambda: isinstance(app.screen, ResultScreen) and all(one in text_of(app) for one in parts))


async def test_a_finished_story_still_shows_what_it_changed(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    two_stories(
        scratch,
        [{"write": "first.txt", "text": "one\n"}, {"tick": 1}, {"promise": "COMPLETE"}],
        [{"write": "second.txt", "text": "two\n"}, {"sleep": 600}],
    )
    app = make_app(scratch, monkeypatch)
    async with opened(app) as pilot:
        await start_loop(pilot)
        await until(pilot, lambda: "second.txt" in text_of(app))
        await pilot.press("tab")
        now = ("1 file changed since the checkpoint", "+two")
        await until(pilot, lambda: all(part in text_of(app) for part in now))
        before = ("changed between this checkpoint and the next", "first.txt", "+one")
        await press(pilot, "left", then=lambda: all(part in text_of(app) for part in before))
        assert "second.txt" not in text_of(app)
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, SelectionScreen))


async def test_a_fresh_loop_shows_nothing_of_the_old_one(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    two_stories(scratch, [{"say": "The old run."}, {"promise": "FAILED: no"}])
    assert scratch.run("--harness", "scripted", "--max-retries", "0").returncode == 1
    scratch.script([{"say": "The new run."}, {"sleep": 600}])
    app = make_app(scratch, monkeypatch, fresh=True)
    async with opened(app) as pilot:
        await start_loop(pilot)
        await until(pilot, lambda: "The new run." in text_of(app) and "running" in text_of(app))
        assert "The old run." not in text_of(app)
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, SelectionScreen))


async def test_settings_reach_the_runner(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    (scratch.root / ".spool/config.toml").write_text('model = "from-the-file"\nallow_all = true\n')
    two_stories(scratch, [{"say": "Hello."}, {"sleep": 600}])
    app = make_app(scratch, monkeypatch, model="", allow_all=False, commit_stories=True, idle_timeout=77.0)
    async with opened(app) as pilot:
        await start_loop(pilot)
        await until(pilot, lambda: "Hello." in text_of(app))
        spec = kept_spec(str(run_folder(scratch)))
        assert spec is not None
        assert (spec.settings.commit_stories, spec.settings.allow_all) == (True, False)
        assert (spec.settings.model, spec.settings.idle_timeout) == (None, 77.0)
        assert run_events(scratch, "RunStarted")[0]["model"] is None
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, SelectionScreen))


async def write_note(pilot: Pilot[None], text: str) -> None:
    """Open the window for a note and type a text into it."""
    await press(pilot, "a", then=lambda: isinstance(pilot.app.focused, TextArea))
    await press(pilot, *text, then=lambda: text in pilot.app.screen.query_one(TextArea).text)


async def test_a_note_is_not_disturbed_by_the_end(scene: Scene) -> None:
    scene.write(*half_way())
    app, client = quiet(scene)
    async with opened(app) as pilot:
        runner = subprocess.Popen(["sleep", "600"])
        await app.push_screen(LoopScreen(client, driven_by(scene, runner)))
        await until(pilot, lambda: "test_middleware.py" in text_of(app))
        await write_note(pilot, "half a no")
        scene.finish()
        runner.kill()
        runner.wait()
        await pilot.pause(1.0)
        assert isinstance(app.screen, NoteScreen)
        await pilot.press(*"te", "enter")
        await until(pilot, lambda: isinstance(app.screen, ResultScreen) and "all stories are complete" in text_of(app))
        await until(pilot, lambda: "half a note" in scene.folder.context())


async def test_an_open_result_goes_on_to_the_end(scene: Scene) -> None:
    scene.write(*half_way())
    app, client = quiet(scene)
    async with opened(app) as pilot:
        runner = subprocess.Popen(["sleep", "600"])
        await app.push_screen(LoopScreen(client, driven_by(scene, runner)))
        await until(pilot, lambda: "test_middleware.py" in text_of(app))
        await pilot.press("s")
        await until(pilot, lambda: "1 agent's word · 1 running · 1 not started" in text_of(app))
        scene.finish()
        runner.kill()
        runner.wait()
        await until(pilot, lambda: "~ done" in text_of(app) and "3 agent's word" in text_of(app))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, LoopScreen) and "q back" in text_of(app))
        await pilot.pause(0.5)
        assert isinstance(app.screen, LoopScreen)


async def test_the_log_has_both_streams_and_comes_back(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    two_stories(scratch, [{"stderr": "to the other stream\n"}, {"print": "raw output\n"}, {"sleep": 600}])
    app = make_app(scratch, monkeypatch)
    async with opened(app) as pilot:
        await start_loop(pilot)
        await until(pilot, lambda: "raw output" in text_of(app))
        await pilot.press("tab", "tab")
        for _ in range(2):
            await until(pilot, lambda: "to the other stream" in text_of(app) and "raw output" in text_of(app))
            await pilot.press("right")
            await until(pilot, lambda: "no output yet" in text_of(app))
            await pilot.press("escape")
        await until(pilot, lambda: "standard error" in text_of(app))
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, SelectionScreen))


async def test_a_loop_without_stories_is_one_story(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch.script([{"say": "I loop."}, {"sleep": 600}])
    runner = scratch.start("ralph", "Go", "--change", SCRATCH_CHANGE, "--harness", "scripted")
    app = make_app(scratch, monkeypatch)
    try:
        async with opened(app) as pilot:
            await until(pilot, lambda: "running; Enter attaches" in text_of(app))
            await pilot.press("enter")
            await until(pilot, lambda: "I loop." in text_of(app) and "► The whole change" in text_of(app))
            await pilot.press("shift+tab")
            await until(pilot, lambda: "○ 1.1" in text_of(app) and "iteration 1: running" in text_of(app))
            await press(pilot, "x", then=lambda: "y: stop it" in text_of(app))
            await press(pilot, "y", then=lambda: isinstance(app.screen, SelectionScreen))
            assert runner.wait(10) == 130
    finally:
        runner.kill()
        runner.wait()


async def test_both_sources_are_listed(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    change = scratch.root / "openspec/changes/add-greeting"
    change.mkdir(parents=True)
    (change / "proposal.md").write_text("# Greet people\n")
    (change / "tasks.md").write_text("## 1. Greet\n\n- [x] 1.1 Say hello\n- [ ] 1.2 Test it\n")
    app = make_app(scratch, monkeypatch)
    async with opened(app) as pilot:
        await until(pilot, lambda: SCRATCH_CHANGE in text_of(app) and "add-greeting" in text_of(app))
        row = next(line for line in text_of(app).splitlines() if "add-greeting" in line)
        assert "Greet people" in row
        assert "█████░░░░░ 1/2" in row


async def test_tasks_tick_live(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    wait = {"run": ["sh", "-c", "while [ ! -e go ]; do sleep 0.05; done"]}
    two_stories(scratch, [{"say": "I begin."}, wait, {"tick": 1}, {"sleep": 600}])
    app = make_app(scratch, monkeypatch)
    async with opened(app) as pilot:
        await start_loop(pilot)
        await until(pilot, lambda: "I begin." in text_of(app))
        await pilot.press("shift+tab")
        await until(pilot, lambda: "○ 1.1 Write the loop" in text_of(app))
        (scratch.root / "go").touch()
        await until(pilot, lambda: "✓ 1.1 Write the loop" in text_of(app))
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, SelectionScreen))


async def test_a_note_reaches_the_next_iteration(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    note = f".spool/.state/run/{SCRATCH_CHANGE}/context.md"
    wait = {"run": ["sh", "-c", f"while ! grep -q French {note}; do sleep 0.05; done"]}
    two_stories(scratch, [{"say": "One."}, wait, {"promise": "FAILED: no"}], [{"say": "Two."}, {"sleep": 600}])
    app = make_app(scratch, monkeypatch)
    async with opened(app) as pilot:
        await start_loop(pilot)
        await until(pilot, lambda: "One." in text_of(app))
        await write_note(pilot, "Greet in French")
        await press(pilot, "enter", then=lambda: "Two." in text_of(app))
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, SelectionScreen))
    assert "Greet in French" in (run_folder(scratch) / "logs" / "0002.prompt.md").read_text()


async def test_retries_and_waits_are_visible(scene: Scene) -> None:
    until_then = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)
    wait = Waiting(seconds=90.0, until=until_then, reason="rate limit: slow down")
    async with watching(scene, wait) as (pilot, app, _):
        clock = f"until {until_then.astimezone():%H:%M:%S}: rate limit: slow down"
        await until(pilot, lambda: f"waiting 1m 30s, {clock}" in text_of(app))
        await until(pilot, lambda: f"██████████ waiting, 0.0s left, {clock}" in text_of(app))  # long over
        await until(pilot, lambda: "! retrying: overloaded, waiting 4.0s" in text_of(app))
        await until(pilot, lambda: " waiting " in text_of(app).splitlines()[0])


async def test_a_wait_counts_down(scene: Scene) -> None:
    wait = Waiting(seconds=900.0, until=datetime.now(UTC) + timedelta(seconds=601), reason="rate limit")
    seen = set[str]()
    async with watching(scene, wait) as (pilot, app, _):

        def count() -> int:
            seen.update(re.findall(r"waiting, (\S+ \S+) left, until", text_of(app)))
            return len(seen)

        await until(pilot, lambda: count() >= 3)


async def test_the_column_shows_what_a_gate_said_before_the_first_agent(scene: Scene) -> None:
    scene.write(*itertools.takewhile(lambda event: not isinstance(event, IterationStarted), gated()))
    app, client = quiet(scene)
    async with opened(app, (120, 40)) as pilot:
        await app.push_screen(LoopScreen(client, scene.running))
        await until(pilot, lambda: re.search(r"✓ pytest +12s", text_of(app)))


async def test_gates_tick_in_the_column(scene: Scene) -> None:
    scene.write(*gated())
    app, client = quiet(scene)

    def column() -> str:
        return "\n".join(line[:36] for line in text_of(app).splitlines())

    async with opened(app, (120, 40)) as pilot:
        await app.push_screen(LoopScreen(client, scene.running))
        await until(pilot, lambda: "✓ 1 Tokens" in column() and "proved" in column())
        await until(pilot, lambda: re.search(r"✓ pytest +12s", column()))  # of the story that is done
        await until(pilot, lambda: "· pytest" in column())  # of the one that runs
        scene.write(GateStarted(gate="pytest", purpose=GatePurpose.CLAIM, expected_s=12.0))
        await until(pilot, lambda: re.search(r"► pytest +.* of 12s", column()))
        scene.write(GateEnded(gate="pytest", purpose=GatePurpose.CLAIM, green=False, duration_s=9.0))
        await until(pilot, lambda: re.search(r"~ pytest +9.0s", column()))  # it may have been red before
        scene.write(GateStarted(gate="pytest", purpose=GatePurpose.PROOF, expected_s=9.0))
        await until(pilot, lambda: "► pytest, wi" in column())
        scene.write(GateEnded(gate="pytest", purpose=GatePurpose.PROOF, green=True, duration_s=9.0))
        await until(pilot, lambda: re.search(r"~ pytest +9.0s", column()))  # the old source is not judged
        refused = GateResult(name="pytest", passed=False, why="test_login fails")
        scene.write(IterationEnded(record=record(3, "2", 2, OutcomeKind.COMPLETED, gates=(refused,))))
        await until(pilot, lambda: re.search(r"! pytest +9.0s", column()))


async def test_the_title_has_the_budget_that_is_left_and_an_estimate(scene: Scene) -> None:
    scene.write(*gated())
    app, client = quiet(scene)
    async with opened(app) as pilot:
        await app.push_screen(LoopScreen(client, scene.running))
        await until(pilot, lambda: "$4.69 of $5.00 left" in text_of(app).splitlines()[1])
        await until(pilot, lambda: "1 of 3 · about 1m 31s left" in text_of(app).splitlines()[0])


async def test_wide_terminals_show_changes_beside_the_agent(scene: Scene) -> None:
    async with watching(scene, size=(160, 40)) as (pilot, app, _):
        await until(pilot, lambda: "test_middleware.py" in text_of(app) and "changed" in text_of(app))
        tabs, beside = app.screen.query_one(Tabbed), app.screen.query_one("#beside-text")
        await pilot.press("tab")
        await until(pilot, lambda: beside.has_focus and tabs.active == "agent")
        await pilot.press("tab")
        await until(pilot, lambda: tabs.active == "log")
        await press(pilot, "shift+tab", then=lambda: beside.has_focus)
        await press(pilot, "shift+tab", then=lambda: app.screen.query_one("#agent-text").has_focus)
        await pilot.resize_terminal(100, 30)
        await until(pilot, lambda: "Changes  Log" in text_of(app))
        await pilot.press("tab")
        await until(pilot, lambda: tabs.active == "changes")
        await pilot.resize_terminal(160, 40)
        await until(pilot, lambda: tabs.active == "agent" and "Changes  Log" not in text_of(app))


async def test_loops_of_a_project_are_switched_between(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    two_stories(scratch, [{"say": "I loop."}, {"sleep": 600}])
    other = scratch.root / ".spool/changes/003-01_other"
    other.mkdir()
    (other / "proposal.md").write_text("# Other\n")
    (other / "tasks.md").write_text("## 1. Elsewhere\n\n- [ ] 1.1 Look\n")
    batch = scratch.start("run", SCRATCH_CHANGE, "003-01_other", "--parallel", "2", "--harness", "scripted")
    app = make_app(scratch, monkeypatch)
    try:
        async with opened(app, (120, 30)) as pilot:
            await until(pilot, lambda: text_of(app).count("running") >= 2)
            await pilot.press("home", "enter")
            await until(pilot, lambda: "► 002-01_add-ralph-loop  ► 003-01_other" in text_of(app).splitlines()[2])
            await until(pilot, lambda: "1 Loop" in text_of(app) and "I loop." in text_of(app))
            await until(pilot, lambda: "[ ] loop" in text_of(app))
            await pilot.press("right_square_bracket")
            await until(pilot, lambda: "1 Elsewhere" in text_of(app) and "I loop." in text_of(app))
            await until(pilot, lambda: text_of(app).splitlines()[0].startswith(" 003-01_other"))
            await pilot.press("left_square_bracket")
            await until(pilot, lambda: "1 Loop" in text_of(app))
            await pilot.press("d")
            await until(pilot, lambda: isinstance(app.screen, SelectionScreen))
    finally:
        batch.terminate()
        assert batch.wait(60) == 130


async def test_the_end_of_a_long_journal_comes_first(scene: Scene) -> None:
    long = [Message(text=f"line {number}.\n" * 400) for number in range(300)]
    scene.write(*half_way(), *said("2", 3, *long, Message(text="This is the end.")))
    app, client = quiet(scene)
    held = asyncio.Event()

    class Slow(Feed):
        async def next(self) -> tuple[list[JournalEntry], bool]:
            await held.wait()
            return await super().next()

    feed = Slow(scene.folder.path, lambda: True)
    client.attach = lambda loop: feed  # type: ignore[method-assign]
    loop = msgspec.structs.replace(
        scene.running,
        harness="claude",
        memory=StoryMemory(story=StoryState(id="2", title="", current=2, total=3, completed=1)),
    )
    async with opened(app) as pilot:
        await app.push_screen(LoopScreen(client, loop))
        await until(pilot, lambda: "This is the end." in text_of(app) and "► 2 Check requests" in text_of(app))
        await pilot.press("pageup", "pageup")
        await until(pilot, lambda: "line 29" in text_of(app) and "This is the end." not in text_of(app))
        held.set()
        await until(pilot, lambda: app.screen.query_one("#agent-text", PagedView).place[1] > 60)
        assert "This is the end." not in text_of(app)  # whoever reads stays where they are
        await pilot.press("home")
        await until(pilot, lambda: "The middleware comes first." in text_of(app))


async def test_the_wheel_scrolls(scene: Scene) -> None:
    async with watching(scene, size=(100, 20)) as (pilot, app, _):
        await until(pilot, lambda: "test_middleware.py" in text_of(app))
        view = app.screen.query_one("#agent-text", PagedView)
        await until(pilot, lambda: view.scroll_offset.y == view.max_scroll_y > 0)
        before = view.scroll_offset.y
        await pilot._post_mouse_events([MouseScrollUp], view, button=0)
        await until(pilot, lambda: view.scroll_offset.y < before and not view.following)
