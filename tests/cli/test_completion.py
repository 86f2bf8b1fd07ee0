"""Completion in the real shells: a line is typed, Tab is pressed, and the line that the shell makes of it is read."""

from __future__ import annotations

import os
import pty
import select
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support import CHANGE, PATIENCE_S, Scratch

Press = Callable[[str], str]
"""Types a line and Tab, and returns the line that the shell then has."""
NOTE = b"\x0f"  # Ctrl-O, which no shell here uses for completion
COMMANDS = {"spool": "_SPOOL_COMPLETE", "wt-loop": "_WT_LOOP_COMPLETE"}
ARGV = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"], "fish": ["-i"]}
# The lines of docs/install.md come between these: what a start-up file has, and a key that notes the line.
BEFORE = {"bash": "", "zsh": "autoload -Uz compinit; compinit -u -D\n", "fish": "set fish_greeting\n"}
AFTER = {
    "bash": """
note() { printf '%s' "$READLINE_LINE" > "$NOTED.new"; mv "$NOTED.new" "$NOTED"; READLINE_LINE=; }
bind -x '"\\C-o": note'
""",
    "zsh": """
note() { print -rn -- $BUFFER > $NOTED.new; mv $NOTED.new $NOTED; BUFFER= }
zle -N note
bindkey '^O' note
""",
    "fish": """
function note; commandline > $NOTED.new; mv $NOTED.new $NOTED; commandline ''; end
bind \\co note
""",
}


def start_up(shell: str) -> str:
    if shell == "fish":
        lines = [f"{variable}=fish_source {name} | source\n" for name, variable in COMMANDS.items()]
    else:
        lines = [f'eval "$({variable}={shell}_source {name})"\n' for name, variable in COMMANDS.items()]
    return BEFORE[shell] + "".join(lines) + AFTER[shell]


def wait(terminal: int, seen: Callable[[bytes], bool]) -> None:
    """Read what a shell prints, so that it never waits for a reader, until something has happened."""
    said, deadline = b"", time.monotonic() + PATIENCE_S
    while not seen(said):
        assert time.monotonic() < deadline, said.decode(errors="replace")
        if select.select([terminal], [], [], 0.05)[0]:
            said += os.read(terminal, 1 << 16)


@contextmanager
def typing(shell: str, scratch: Scratch) -> Iterator[Press]:
    noted, setup = scratch.home / "noted", scratch.home / "setup"
    setup.write_text(start_up(shell))
    for name in COMMANDS:
        (scratch.bin / name).symlink_to(Path(sys.executable).parent / name)
    env = {**scratch.env, "NOTED": str(noted), "TERM": "xterm"}
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(scratch.root)
        os.execvpe(shell, [shell, *ARGV[shell]], env)

    def press(line: str) -> str:
        noted.unlink(missing_ok=True)
        os.write(terminal, line.encode() + b"\t" + NOTE)
        wait(terminal, lambda _: noted.exists())
        return noted.read_text().rstrip("\n")

    try:
        os.write(terminal, f"source {setup}; echo rea''dy\n".encode())
        wait(terminal, lambda said: b"ready\r\n" in said)
        yield press
    finally:
        os.close(terminal)  # the shell gets SIGHUP
        os.waitpid(process, 0)


@pytest.mark.parametrize("shell", list(ARGV))
def test_tab_completes_what_is_typed(scratch: Scratch, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (scratch.root / "docs").mkdir()
    (scratch.root / "docs" / "my plan.md").write_text("- [ ] one\n")
    with typing(shell, scratch) as press:
        assert press("spool ra") == "spool ralph "
        assert press("spool run 002") == f"spool run {CHANGE} "
        assert press("spool ralph --max-it") == "spool ralph --max-iterations "
        assert press("spool ralph --harness clau") == "spool ralph --harness claude "
        assert press("spool run docs/m") == r"spool run docs/my\ plan.md "
        assert press(r"spool run docs/my\ p") == r"spool run docs/my\ plan.md "
        assert press("spool ralph --plan 'docs/my p").rstrip() == "spool ralph --plan 'docs/my plan.md'"
        assert press("wt-loop sto") == "wt-loop stop "
        assert press("wt-loop start 002") == f"wt-loop start {CHANGE} "
