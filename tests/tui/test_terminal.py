"""The screen in a real terminal, end to end."""

import os
import re
import shutil
import signal
import sys

import pytest

from tests.seeds.test_004_tui import ENDLESS, FIRST, SECOND, stubborn
from tests.support import CHANGE, Scratch, wait_for
from tests.support.terminal import Terminal, terminal
from tests.support.tui import alive, run_state, two_stories

_UNDERLINED = re.compile(r"\x1b\[(?:[\d;]*;)?4m")
pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux here")


def open_and_run(at: Terminal, *words: str) -> None:
    """Open the screen, look at the change, and start its loop."""
    at.spool("tui", *words)
    at.until_shown(CHANGE)
    at.keys("Enter")
    at.until_shown("Proposal", "Add the ralph loop")
    at.keys("R")


def restored(at: Terminal) -> bool:
    modes = [at.flag(name) for name in ("alternate_on", "mouse_any_flag", "keypad_flag")]
    return modes == ["0", "0", "0"] and at.flag("cursor_flag") == "1"


def echoes(at: Terminal) -> bool:
    """Whether what one types is shown and obeyed, as a terminal in its senses does."""
    at.type("echo", "still", "here")
    at.until(lambda: any("still here" in line and "echo" not in line for line in at.text().splitlines()))
    return True


def test_select_preview_run_watch_and_quit(scratch: Scratch) -> None:
    seen, waits = [scratch.home / "first", scratch.home / "second"], "while ! test -e {}; do sleep 0.05; done"
    first, second = ({"run": ["sh", "-c", waits.format(file)]} for file in seen)
    two_stories(scratch, [*FIRST[:-1], first, FIRST[-1]], [second, *SECOND])
    with terminal(scratch) as at:
        open_and_run(at, "--harness", "scripted")
        at.until_shown("► 1 Loop")
        seen[0].touch()
        at.until_shown("✓ 1", "► 2 Tests")
        seen[1].touch()
        at.until_shown("· result", "all stories are complete")
        assert at.flag("alternate_on") == "1"
        at.keys("q")
        at.until(lambda: restored(at))
        assert echoes(at)
    assert run_state(scratch)["status"] == "done"


def test_bare_spool_opens_the_screen(scratch: Scratch) -> None:
    with terminal(scratch) as at:
        at.spool()
        at.until_shown("Spool · changes", CHANGE)
        at.keys("q")
        at.until(lambda: restored(at))


def test_force_quit_against_an_agent_that_ignores_sigterm(scratch: Scratch) -> None:
    pid_file = stubborn(scratch)
    scratch.trust()
    with terminal(scratch) as at:
        open_and_run(at, "--harness", "stubborn")
        at.until(lambda: pid_file.exists() and pid_file.read_text())
        at.until_shown("I will not stop.")
        at.keys("q", "q", "q")
        at.until(lambda: restored(at), within_s=10)
        at.until_shown("Warning: force-quit")
        at.until(lambda: not alive(int(pid_file.read_text())), within_s=30)
        assert echoes(at)


def test_a_killed_screen_leaves_a_good_terminal_and_its_loop_running(scratch: Scratch) -> None:
    two_stories(scratch, ENDLESS)
    with terminal(scratch) as at:
        open_and_run(at, "--harness", "scripted")
        at.until_shown("This takes long.")
        runner = run_state(scratch)["runner"]["pid"]
        os.kill(at.screen_pid(), signal.SIGKILL)
        at.until(lambda: restored(at), within_s=10)
        assert echoes(at)
        assert alive(runner)
        at.spool("tui")
        at.until_shown("running; Enter attaches")
        at.keys("Enter")
        at.until_shown("This takes long.")
        at.keys("x")
        at.until_shown("y: stop it")
        at.keys("y")
        at.until_shown("Spool · changes", "Continue with: Enter, then R")
        assert not alive(runner)
        at.keys("q")
        at.until(lambda: restored(at))


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_closes_the_screen_and_leaves_the_loop_running(scratch: Scratch, signum: int) -> None:
    two_stories(scratch, ENDLESS)
    with terminal(scratch) as at:
        open_and_run(at, "--harness", "scripted")
        at.until_shown("This takes long.")
        runner = run_state(scratch)["runner"]["pid"]
        os.kill(at.screen_pid(), signum)
        at.until(lambda: restored(at), within_s=10)
        assert echoes(at)
        assert alive(runner)
    os.kill(runner, signal.SIGTERM)


def test_agent_output_cannot_act_on_the_terminal(scratch: Scratch) -> None:
    evil = "\x1b]2;owned\x07\x1b]52;c;b3duZWQ=\x07\x1b[?1049l\x1b[2J\x1b[31mred\x1b[0m [bold]not bold[/bold] end"
    two_stories(scratch, [{"say": evil}, {"print": evil + "\n"}, {"sleep": 600}])
    with terminal(scratch) as at:
        at.tmux("set-option", "-s", "set-clipboard", "on")
        title = at.flag("pane_title")
        open_and_run(at, "--harness", "scripted")
        at.until_shown("red [bold]not bold[/bold] end")
        at.keys("Tab", "Tab")
        at.until_shown('{"kind":', "[bold]")
        assert at.flag("alternate_on") == "1"
        assert at.flag("pane_title") == title
        assert "owned" not in at.tmux("list-buffers")
        at.keys("q")
        at.until_shown("Spool · changes")


def test_texts_of_the_project_cannot_act_on_the_terminal(scratch: Scratch) -> None:
    evil = "\x1b]2;owned\x07\x1b]52;c;b3duZWQ=\x07\x1b[2J\x1b[5;5Hgotcha"
    two_stories(scratch, ENDLESS)
    (scratch.change / "proposal.md").write_text(f"# Title {evil}\n\n{evil}\n")
    (scratch.root / ".spool/config.toml").write_text('model = "a\\u001b]2;owned\\u0007b"\n')
    with terminal(scratch) as at:
        at.tmux("set-option", "-s", "set-clipboard", "on")
        title = at.flag("pane_title")
        at.spool("tui", "--harness", "scripted")
        at.until_shown("Spool · changes", "Title", "gotcha")
        at.keys("Enter")
        at.until_shown("Proposal", "Title", "gotcha")
        at.keys("BTab")
        at.until_shown("Model", "ab")
        assert "Spool · " in at.text()
        assert at.flag("pane_title") == title
        assert "owned" not in at.tmux("list-buffers")
        at.keys("q")
        at.until(lambda: restored(at))


def test_a_terminal_that_goes_away_takes_the_screen_with_it(scratch: Scratch) -> None:
    two_stories(scratch, [{"print": f"line {number}\n"} for number in range(2_000)] + ENDLESS)
    with terminal(scratch, width=200, height=60) as at:
        at.tmux("new-session", "-d", "-s", "other")  # keeps the server
        open_and_run(at, "--harness", "scripted")
        at.until_shown("line 1")
        screen, runner = at.screen_pid(), run_state(scratch)["runner"]["pid"]
        at.tmux("kill-session", "-t", "spool")
        wait_for(lambda: not alive(screen), "the end of the screen without a terminal", 30)
        assert alive(runner)
    os.kill(runner, signal.SIGTERM)


def test_ctrl_z_gives_the_terminal_back_until_fg(scratch: Scratch) -> None:
    two_stories(scratch, ENDLESS)
    with terminal(scratch) as at:
        at.type("bash", "--norc", "-i")  # a shell with jobs
        at.until(
            lambda: at.flag("pane_current_command") == "bash" and at.text().rstrip()[-1:] in ("$", "#"), "its prompt"
        )
        at.spool("tui", "--harness", "scripted")
        at.until_shown("Spool · changes", CHANGE)
        at.keys("C-z")
        at.until(lambda: restored(at))
        at.type("fg")
        at.until_shown("Spool · changes", CHANGE)
        at.keys("q")
        at.until(lambda: restored(at))


def test_no_colour_with_no_color(scratch: Scratch) -> None:
    two_stories(scratch, ENDLESS)
    with terminal(scratch, NO_COLOR="1") as at:
        at.spool("tui", "--harness", "scripted")
        at.until(lambda: _UNDERLINED.search(next((one for one in at.text("-e").splitlines() if CHANGE in one), "")))
        seen = at.text("-e")  # what is selected stands out
        at.keys("Enter")
        at.until_shown("Proposal")
        seen += at.text("-e")
        at.keys("R")
        at.until_shown("This takes long.")
        seen += at.text("-e")
        at.keys("q")
        at.until_shown("Spool · changes")
    assert re.findall(r"\x1b\[(?:[\d;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[\d;]*)?m", seen) == []


def test_sizes_from_one_cell_to_a_wall(scratch: Scratch) -> None:
    two_stories(scratch, ENDLESS)
    with terminal(scratch, width=60, height=20) as at:
        open_and_run(at, "--harness", "scripted")
        at.until_shown("This takes long.", "iteration 1", "q stop · d leave running")
        for width, height in ((1, 1), (2, 2), (10, 3), (300, 100), (1, 50), (200, 1), (80, 24)):
            at.tmux("resize-window", "-t", "spool", "-x", str(width), "-y", str(height))
            at.keys("Tab")
        at.until(lambda: "Agent" in at.text())
        assert at.flag("alternate_on") == "1"
        at.keys("q")
        at.until_shown("Spool · changes")


def test_no_terminal_is_an_error_that_says_what_to_do(scratch: Scratch) -> None:
    done = scratch.spool("tui")
    assert done.returncode == 2
    assert "needs a terminal" in done.stderr
    assert scratch.spool().returncode == 2
    assert "Start:" in scratch.spool().stderr


def test_a_wrong_agent_is_told_before_the_screen_opens(scratch: Scratch) -> None:
    with terminal(scratch) as at:
        at.spool("tui", "--harness", "cloude")
        at.until_shown("unknown harness 'cloude'", "claude")
        assert at.flag("alternate_on") == "0"


BROKEN = """
import sys
from pathlib import Path
from spool.views.live.terminal_guard import guarded_terminal
from spool.app.loops.client import Client
from spool.domain.loop.settings import Settings
from spool.sources.project import Project
from spool.tui.app import SpoolApp

class Broken(Client):
    async def preview(self, change):
        raise RuntimeError("this is a mistake of ours")

with guarded_terminal():
    SpoolApp(Broken(Project(Path.cwd()), Settings())).run()
"""


def test_an_exception_leaves_a_good_terminal(scratch: Scratch) -> None:
    (scratch.home / "broken.py").write_text(BROKEN)
    with terminal(scratch) as at:
        at.type(sys.executable, str(scratch.home / "broken.py"))
        at.until_shown(CHANGE)
        at.keys("Enter")
        at.until(lambda: restored(at))
        at.until_shown("this is a mistake of ours")
        assert echoes(at)


def test_attach_without_an_id_shows_what_runs_and_leaves_it_running_until_asked(scratch: Scratch) -> None:
    two_stories(scratch, ENDLESS)
    runner = scratch.start("run", CHANGE, "--harness", "scripted")
    try:
        with terminal(scratch) as at:
            at.until(lambda: CHANGE in scratch.spool("ps").stdout)
            at.spool("attach")
            at.until_shown("This takes long.", "► 1 Loop", "○ 1.1 Write the loop", "on main", "not sandboxed")
            at.keys("q")
            at.until_shown("Spool · changes")
            at.keys("Enter")
            at.until_shown("This takes long.", "q leave running · x stop")
            at.keys("Escape")
            at.until_shown("Spool · changes")
            at.keys("q")
            at.until(lambda: restored(at))
            at.spool("attach")
            at.until_shown("This takes long.", "q leave running · x stop")
            at.keys("C-c")
            at.until(lambda: restored(at))
            at.until_shown("Detached;", "is still running")
            assert runner.poll() is None
            at.spool("attach")
            at.until_shown("This takes long.", "q leave running · x stop")
            at.keys("x")
            at.until_shown("y: stop it")
            at.keys("y")
            at.until_shown("Spool · changes", "stopped")
        assert runner.wait(30) == 130
    finally:
        runner.kill()
        runner.wait()


def test_from_init_to_the_screen_a_stop_and_the_end(scratch: Scratch) -> None:
    two_stories(scratch, [{"say": "Half of it."}, {"sleep": 600}])
    (scratch.root / "Makefile").write_text("test:\n\ttrue\n")
    assert scratch.spool("init").returncode == 0
    assert "[[gates]]" in (scratch.root / ".spool/config.toml").read_text()
    with terminal(scratch) as at:
        open_and_run(at, "--harness", "scripted", "--max-retries", "1")
        at.until_shown("Half of it.")
        at.keys("q")
        at.until_shown("Spool · changes", "what story 1 has so far is in the tree", "Continue with: Enter, then R, or")
        again = f"spool run {CHANGE} --harness scripted --max-retries 1"
        at.until(lambda: again in " ".join(line.strip("│ ") for line in at.text().splitlines()))
        at.until(lambda: again in scratch.spool("report", CHANGE).stdout)
        scratch.script(FIRST, FIRST, [{"write": "checks.py", "text": "assert True\n"}, *SECOND])
        at.keys("Enter")
        at.until_shown("Proposal", "an earlier run ended in story 1", "R run")
        at.keys("R")
        at.until_shown("· result", "all stories are complete")
        at.keys("q")
        at.until(lambda: restored(at))
    assert run_state(scratch)["status"] == "done"


def test_the_screen_on_a_plan_that_runs_elsewhere_watches_it(scratch: Scratch) -> None:
    two_stories(scratch, ENDLESS)
    (scratch.root / "PLAN.md").write_text("# Plan\n\n- [ ] Do it\n")
    runner = scratch.start("run", "PLAN.md", "--harness", "scripted")
    try:
        with terminal(scratch) as at:
            at.until(lambda: "PLAN.md" in scratch.spool("ps").stdout)
            at.spool("tui", "PLAN.md", "--harness", "scripted")
            at.until_shown("Proposal", "running; R watches it")
            at.keys("R")
            at.until_shown("This takes long.", "q leave running · x stop")
            assert "still running" in scratch.spool("report").stdout
            at.keys("C-c")
            at.until(lambda: restored(at))
        assert runner.poll() is None
    finally:
        runner.terminate()
        assert runner.wait(30) == 130
