"""`spool new`: makes a change."""

import shlex
import subprocess
import sys
from pathlib import Path

import click

from spool.app.changes.new_change import NewChange, editor, make_change
from spool.app.loops.given_file import read_given
from spool.cli.options.flags import Flags, option_of, takes
from spool.cli.options.groups import GroupedCommand
from spool.domain.text.plain_text import counted
from spool.errors import UsageError
from spool.views.say import say

_input = option_of("Input")
_LARGEST = 1 << 20
_EXAMPLES = (
    'spool new "Add login"',
    'spool new "Log out" --module 2',
    "spool new --from PRD.md",
    "gh issue view 12 --json title,body -q '\"# \\(.title)\\n\\(.body)\"' | spool new --from -",
)


class NewFlags(Flags, frozen=True, kw_only=True):
    """The options of `spool new`."""

    source: str | None = _input(
        "--from", metavar="FILE", help="Split this plan, PRD or issue text; - for standard input."
    )
    module: str | None = _input(
        "--module", metavar="N", help="Make the next change of this module.  [default: a new module]"
    )


@click.command("new", cls=GroupedCommand, examples=_EXAMPLES)
@click.argument("title", required=False)
@takes(NewFlags)
def new(title: str | None, options: NewFlags) -> None:
    """Make a change: a folder with a proposal and tasks to fill in.

    It goes into openspec/changes if the project uses only OpenSpec, else into .spool/changes. On a terminal, $EDITOR
    opens it.
    """
    source = options.source
    text = _read(source) if source is not None else None
    if not title and text is None and _on_terminal():
        title = ask_title()
    show_new(make_change(Path.cwd(), title or _stem(source, text), module=options.module, text=text), edit=text is None)


def ask_title() -> str:
    """Ask what the change is called."""
    import questionary

    return str(questionary.text("What is to be done?").unsafe_ask())


def show_new(made: NewChange, *, edit: bool) -> None:
    """Open a new change in the person's editor if wanted, and say what comes next."""
    words = shlex.split(editor()) if edit and _on_terminal() else []
    if words and subprocess.run([*words, *map(str, made.files)], check=False).returncode != 0:
        say(f"{words[0]} ended with an error; the files are there.", err=True)
    say(f"Made {made.id}:", *(f"  {path}" for path in made.files))
    if made.tasks:
        say(f"{counted(made.tasks, 'task')} found.")
    elif made.tasks == 0:
        say("No list of tasks was found: write them into tasks.md.")
    say("", "Next:", f"  spool show {made.id}", f"  spool run {made.id}")


def _on_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _stem(source: str | None, text: str | None) -> str:
    """Return a title from a file's name, where its text has none."""
    from spool.domain.change.plan_file.task_choice import parse_plan

    if source in (None, "-") or parse_plan(text or "")[0]:
        return ""
    return Path(source or "").stem.replace("-", " ").replace("_", " ").capitalize()


def _read(source: str) -> str:
    text = read_given(source, most_bytes=_LARGEST)
    if not text.strip():
        raise UsageError(f"{source} is empty")
    return text
