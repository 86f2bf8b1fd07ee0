"""Every terminal gets exactly our words, whatever is in them, and no shell reads any of them."""

import json
import os
from pathlib import Path

import pytest

from spool.errors import SpoolError, UsageError
from spool.host.terminals import (
    BACKGROUND,
    DESKTOP,
    TMUX_SESSION,
    Terminal,
    TerminalWindow,
    choose,
    from_template,
    launch,
)
from tests.support import PATIENCE_S, python_program

HOSTILE = """a"$(touch P)'b;touch P;`touch P` #(touch P) {title} %n"""
COMMAND = ("/usr/bin/python3", "-m", "spool", HOSTILE)
RECORDER = """
import json, os, sys
with open({record!r}, "a") as file:
    file.write(json.dumps({{"argv": sys.argv, "cwd": os.getcwd()}}) + "\\n")
"""


def window(directory: Path, *, fullscreen: bool = False) -> TerminalWindow:
    return TerminalWindow(
        command=COMMAND, title="add-auth", directory=str(directory), session="wt-add-auth-1", fullscreen=fullscreen
    )


def fake(folder: Path, *names: str) -> dict[str, str]:
    """Put programs on PATH that only write down how they were called."""
    folder.mkdir(exist_ok=True)
    for name in names:
        path = folder / name
        path.write_text(python_program(RECORDER.format(record=str(folder / "record"))))
        path.chmod(0o755)
    return {"PATH": str(folder), "DISPLAY": ":0"}


FULLSCREEN = {
    "gnome-terminal": ["--full-screen"],
    "konsole": ["--fullscreen"],
    "kitty": ["--start-as=fullscreen"],
    "alacritty": ["-o", 'window.startup_mode="Fullscreen"'],
    "wezterm": [],
    "xterm": ["-fullscreen"],
    "tmux": [],
}


@pytest.mark.parametrize("terminal", [*DESKTOP, TMUX_SESSION], ids=lambda one: one.name)
@pytest.mark.parametrize("fullscreen", [False, True])
def test_argv_is_exact(tmp_path: Path, terminal: Terminal, fullscreen: bool) -> None:
    environment = fake(tmp_path / "bin", terminal.program)
    tree = tmp_path / HOSTILE.replace("/", "_")
    tree.mkdir()
    process = launch(terminal, window(tree, fullscreen=fullscreen), environment, tmp_path / "log")
    assert process.wait(timeout=PATIENCE_S) == 0, (tmp_path / "log").read_text()
    called = json.loads((tmp_path / "bin" / "record").read_text())
    words = called["argv"][1:]
    assert tuple(words[-len(COMMAND) :]) == COMMAND
    assert called["cwd"] == str(tree)
    assert not any(HOSTILE in word for word in words[: -len(COMMAND)])
    added = [word for word in FULLSCREEN[terminal.name] if word in words]
    assert added == (FULLSCREEN[terminal.name] if fullscreen else [])
    assert not list(tmp_path.rglob("P"))


def test_the_users_own_words_are_filled_in_once(tmp_path: Path) -> None:
    words = ["my term", "--name={title}", "--in", "{directory}", "{fullscreen:--full}", "{command}", "; touch P"]
    terminal = from_template(words)
    tree = tmp_path / "{title} $(touch P)"
    assert terminal.words(window(tree)) == [
        "my term", "--name=add-auth", "--in", str(tree), *COMMAND, "; touch P",
    ]  # fmt: skip
    assert terminal.words(window(tree, fullscreen=True))[4] == "--full"
    with pytest.raises(UsageError, match="lacks the word"):
        from_template(["xterm", "-e"])


def test_terminal_app_opens_a_constant_file_that_reads_our_words(tmp_path: Path) -> None:
    environment = fake(tmp_path / "bin", "open", "osascript")
    (terminal,) = choose("Terminal.app", environment, tmp_path / HOSTILE.replace("/", "_"), platform="darwin")
    opened, filled = terminal.words(window(tmp_path)), terminal.words(window(tmp_path, fullscreen=True))
    assert opened[:3] == ["open", "-a", "Terminal"]
    assert filled[:2] == ["osascript", "-e"]
    assert opened[-1] == filled[-1]
    assert HOSTILE not in "".join(filled[:-1])
    script = Path(opened[-1])
    assert HOSTILE not in script.read_text()
    assert tuple(json.loads(script.with_suffix(".words").read_text())) == COMMAND
    assert os.access(script, os.X_OK)


CHOICES: list[tuple[str, list[str], dict[str, str], str, list[str]]] = [
    ("what the desktop offers", ["konsole", "xterm", "tmux"], {"DISPLAY": ":0"}, "linux", ["konsole", "xterm", "tmux"]),
    ("gnome first", ["konsole", "gnome-terminal"], {"DISPLAY": ":0"}, "linux", ["gnome-terminal", "konsole"]),
    (
        "konsole first on KDE",
        ["konsole", "gnome-terminal"],
        {"WAYLAND_DISPLAY": "wayland-0", "XDG_CURRENT_DESKTOP": "KDE"},
        "linux",
        ["konsole", "gnome-terminal"],
    ),
    ("no xterm without X", ["xterm", "kitty"], {"WAYLAND_DISPLAY": "wayland-0"}, "linux", ["kitty"]),
    ("no desktop", ["xterm", "tmux"], {}, "linux", ["tmux"]),
    ("over ssh", ["xterm", "tmux"], {"DISPLAY": ":10", "SSH_CONNECTION": "a"}, "linux", ["tmux"]),
    ("a Mac", ["open", "tmux"], {}, "darwin", ["Terminal.app", "tmux"]),
    ("nothing at all", [], {}, "linux", []),
]


@pytest.mark.parametrize(
    ("programs", "environment", "platform", "expected"), [row[1:] for row in CHOICES], ids=[row[0] for row in CHOICES]
)
def test_which_terminals_are_tried(
    tmp_path: Path, programs: list[str], environment: dict[str, str], platform: str, expected: list[str]
) -> None:
    path = fake(tmp_path / "bin", *programs)["PATH"]
    found = choose("", {**environment, "PATH": path}, tmp_path, platform=platform)
    assert [one.name for one in found] == [*expected, BACKGROUND.name]


def test_a_terminal_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown terminal 'xtrem'"):
        choose("xtrem", {"PATH": str(tmp_path)}, tmp_path)
    with pytest.raises(SpoolError, match="kitty is not installed"):
        choose("kitty", {"PATH": str(tmp_path)}, tmp_path)
