"""Opens a terminal window for a loop. Every command is a list of words; no shell ever reads a path, an id or a task.

The command in the window changes to its directory itself, so no terminal gets a path that it might expand: tmux runs
`#(…)` in the directory that it is given.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from spool.errors import SpoolError, UsageError
from spool.host.state.files import replace_file
from spool.nofollow import make_folder, open_file

TMUX, NONE = "tmux", "none"
_ON_KDE = "KDE"
_MARK = re.compile(r"\{(title|directory)\}")
_FULLSCREEN_WORD = re.compile(r"\{fullscreen:(.+)\}")


class TerminalWindow(msgspec.Struct, frozen=True, kw_only=True):
    """A command and the window to run it in."""

    command: tuple[str, ...]
    title: str
    directory: str
    session: str
    """The name of the tmux session."""
    fullscreen: bool = False


class Terminal(msgspec.Struct, frozen=True):
    """A terminal program and its command line."""

    name: str
    program: str
    words: Callable[[TerminalWindow], list[str]]
    fullscreen: bool = True
    """Whether it supports full screen."""


def from_template(words: Sequence[str]) -> Terminal:
    """Return a terminal from an argv, in which the word `{command}` becomes the whole command.

    `{title}` and `{directory}` may appear anywhere. A word `{fullscreen:--full}` becomes `--full` in full screen and is
    dropped otherwise.
    """
    if "{command}" not in words:
        raise UsageError("the setting 'terminal' lacks the word '{command}'", hint='["xterm", "-e", "{command}"]')

    def fill(window: TerminalWindow) -> list[str]:
        values = {"title": window.title, "directory": window.directory}
        filled: list[str] = []
        for word in words:
            if word == "{command}":
                filled += window.command
            elif full := _FULLSCREEN_WORD.fullmatch(word):
                filled += [full[1]] if window.fullscreen else []
            else:
                filled.append(_MARK.sub(lambda mark: values[mark[1]], word))
        return filled

    return Terminal(Path(words[0]).name, words[0], fill, any(map(_FULLSCREEN_WORD.fullmatch, words)))


def _tmux(window: TerminalWindow) -> list[str]:
    return ["tmux", "new-session", "-d", "-s", window.session, "-x", "160", "-y", "50", "--", *window.command]


# gnome-terminal without --wait returns before the window opens, and errors are lost. kitty and alacritty never change
# a title given in argv, so the runner sets it from inside.
_TEMPLATES = (
    ("gnome-terminal", "--wait", "{fullscreen:--full-screen}", "--", "{command}"),
    ("konsole", "--nofork", "{fullscreen:--fullscreen}", "-p", "tabtitle=%w", "-e", "{command}"),
    ("kitty", "{fullscreen:--start-as=fullscreen}", "{command}"),
    ("alacritty", "{fullscreen:-o}", '{fullscreen:window.startup_mode="Fullscreen"}', "-e", "{command}"),
    ("wezterm", "start", "--always-new-process", "--", "{command}"),
    ("xterm", "-T", "{title}", "{fullscreen:-fullscreen}", "-e", "{command}"),
)
DESKTOP = tuple(map(from_template, _TEMPLATES))
TMUX_SESSION = Terminal(TMUX, "tmux", _tmux, fullscreen=False)
BACKGROUND = Terminal(NONE, "", lambda window: list(window.command), fullscreen=False)
TERMINAL_APP = "Terminal.app"
NAMES = (TERMINAL_APP, *(one.name for one in DESKTOP), TMUX, NONE)


def choose(
    wanted: str | Sequence[str], environment: Mapping[str, str], scripts: Path, *, platform: str = sys.platform
) -> list[Terminal]:
    """Return the terminals to try, in order: the requested one, else all installed ones and the background."""
    if wanted and not isinstance(wanted, str):
        return [from_template(wanted)]
    known = {one.name: one for one in (*DESKTOP, TMUX_SESSION, BACKGROUND, _terminal_app(scripts))}
    if wanted:
        if wanted not in known:
            raise UsageError(f"unknown terminal '{wanted}'", hint=f"known: {', '.join(NAMES)}")
        if known[wanted].program and not _installed(known[wanted].program, environment):
            raise SpoolError(f"{known[wanted].program} is not installed, or not on PATH")
        return [known[wanted]]
    offered = [*_desktop(environment, known, platform), TMUX_SESSION]
    return [one for one in offered if _installed(one.program, environment)] + [BACKGROUND]


def launch(
    terminal: Terminal, window: TerminalWindow, environment: Mapping[str, str], log: Path
) -> subprocess.Popen[bytes]:
    """Open the window and return the process that opened it, whose output goes to `log`."""
    make_folder(log.parent)
    descriptor = open_file(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        return subprocess.Popen(
            terminal.words(window),
            cwd=window.directory,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            start_new_session=True,  # the window survives Ctrl-C and the end of this terminal
        )
    except OSError as error:
        raise SpoolError(f"cannot start {terminal.name}: {error.strerror}") from None
    finally:
        os.close(descriptor)


def _desktop(environment: Mapping[str, str], known: Mapping[str, Terminal], platform: str) -> list[Terminal]:
    """Return the desktop's terminals; none over ssh, where a window would open on another screen."""
    if environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"):
        return []
    if platform == "darwin":
        return [known[TERMINAL_APP], *DESKTOP]
    if not environment.get("DISPLAY") and not environment.get("WAYLAND_DISPLAY"):
        return []
    offered = [one for one in DESKTOP if one.name != "xterm" or environment.get("DISPLAY")]
    on_kde = _ON_KDE in environment.get("XDG_CURRENT_DESKTOP", "")
    return sorted(offered, key=lambda one: one.name != "konsole") if on_kde else offered


def _installed(program: str, environment: Mapping[str, str]) -> bool:
    return shutil.which(program, path=environment.get("PATH")) is not None


_COMMAND_FILE = """\
#!/usr/bin/env python3
import json, os, pathlib
words = json.loads(pathlib.Path(__file__).with_suffix(".words").read_text())
os.execv(words[0], words)
"""
_FILL_SCREEN = """\
on run argv
  tell application "Terminal" to open POSIX file (item 1 of argv)
  delay 1
  tell application "System Events" to keystroke "f" using {control down, command down}
end run
"""


def _terminal_app(scripts: Path) -> Terminal:
    """Return macOS's Terminal, which takes no command but opens files: here a fixed script that reads the command."""

    def words(window: TerminalWindow) -> list[str]:
        make_folder(scripts)
        script = scripts / f"{window.session}.command"
        replace_file(script.with_suffix(".words"), msgspec.json.encode(window.command))
        replace_file(script, _COMMAND_FILE.encode())
        script.chmod(0o700)
        full = ["osascript", "-e", _FILL_SCREEN, str(script)]
        return full if window.fullscreen else ["open", "-a", "Terminal", str(script)]

    return Terminal(TERMINAL_APP, "open", words)
