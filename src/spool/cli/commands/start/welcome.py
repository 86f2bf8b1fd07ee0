"""The first screen of `spool` in a project without changes: a new change, a plan file, or the demo."""

from pathlib import Path

from spool.app.changes.change_rows import change_rows
from spool.app.changes.resolver import project_root
from spool.app.loops.reach import reach_of
from spool.sources.project import project_at
from spool.views.paragraphs import say_commands, say_paragraph
from spool.views.say import say

_ANOTHER = "another file"


def nothing_to_show() -> bool:
    """Whether there is neither a change nor a running loop here."""
    project = project_at(project_root(Path.cwd()))
    return not change_rows(project, reach_of().project or str(project.root))


def show_ways() -> None:
    """Print the first steps as commands."""
    say_paragraph(f"No changes in {project_root(Path.cwd())} yet.")
    say()
    say_commands(
        {
            'spool new "Add login"': "write a change",
            'spool run PLAN.md --verify "make test"': "run any Markdown list until your tests say it is done",
            "spool demo": "watch a loop; no agent, no key, less than a minute",
            "spool init": "find your agent and your tests",
            "spool --help": "list all commands",
        }
    )


def welcome() -> int:
    """Ask which first step to take, take it, and return the exit code."""
    import questionary

    steps = {"Write a new change": _new, "Run a plan, any Markdown list": _plan, "Watch the demo": _demo}
    say_paragraph(f"No changes in {project_root(Path.cwd())} yet. spool init finds your agent and your tests.")
    answer = questionary.select("What do you want to do?", choices=list(steps)).unsafe_ask()
    return steps[answer]()


def _new() -> int:
    from spool.app.changes.new_change import make_change
    from spool.cli.commands.plans.new import ask_title, show_new

    show_new(make_change(Path.cwd(), ask_title()), edit=True)
    return 0


def _plan() -> int:
    """Open the screen on a plan, where it can be read and started."""
    import questionary

    from spool.app.machine.project_setup import plans_in
    from spool.cli.commands.start.tui import tui

    root = project_root(Path.cwd())
    found = plans_in(root)
    answer = questionary.select("Which plan?", choices=[*found, _ANOTHER]).unsafe_ask() if found else _ANOTHER
    path = questionary.path("Path of the plan:").unsafe_ask() if answer == _ANOTHER else str(root / answer)
    return int(tui.main([path], standalone_mode=False) or 0)


def _demo() -> int:
    from spool.cli.commands.start.demo import demo

    code = demo.main([], standalone_mode=False)
    return code if isinstance(code, int) else 0
