"""`spool demo`: runs the scripted agent in a scratch repository. The user's files stay untouched."""

import asyncio
import tempfile
from contextlib import ExitStack
from pathlib import Path

import click

from spool.errors import UsageError
from spool.views.paragraphs import say_commands, say_paragraph
from spool.views.say import say, say_text


@click.command("demo")
@click.option("--tui", "on_screen", is_flag=True, help="Show it on the full screen.")
@click.option("--keep", metavar="DIR", help="Create the repository in this directory and keep it.")
@click.help_option("-h", "--help")
def demo(on_screen: bool, keep: str | None) -> int:
    """Watch a complete loop in a scratch repository, in less than a minute; needs no agent and no API key.

    A scripted agent works on a small shop with failing tests. It gives up once, and its work is reverted; it
    deletes a test once, and its claim is refused.
    """
    with ExitStack() as stack:
        if keep is not None:
            root = _new_folder(Path(keep))
        else:
            root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="spool-demo-"))).resolve()
            stack.callback(_forget, root)
        code = play_on_screen(root) if on_screen else _play(root, kept=keep is not None)
        if keep is not None:
            from spool.app.machine.trusted_settings import grant

            grant(root)
    if code == 0:
        _try_next(keep)
    return code


def _new_folder(path: Path) -> Path:
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UsageError(f"{path} is not empty", hint="name a new directory")
    path.mkdir(parents=True, exist_ok=True)
    return path.resolve()


def _forget(root: Path) -> None:
    """Remove what the person's own state directory has about the demo."""
    from spool.app.machine.footprint import Traces

    Traces(root).remove_everything()


def _play(root: Path, *, kept: bool) -> int:
    from spool.app.machine.demo_repository import CHANGE, check_command, demo_spec, git, make_repository
    from spool.cli.options.loop_start import run_here

    make_repository(root)
    say_paragraph("A small shop whose tests fail, three stories, and an agent that gives up once and cheats once.")
    say("", f'$ spool run {CHANGE} --harness scripted --verify "{check_command()}"', "")
    code = run_here(demo_spec(root, kept=kept))
    if code == 0:
        say("", "$ git diff --stat")
        say_text(git(root, "diff", "--stat", "--", "*.py", f".spool/changes/{CHANGE}"))
    return code


def play_on_screen(root: Path) -> int:
    """Play the demo on the full screen; it ends when the person closes the screen."""
    from spool.app.loops.client import Client
    from spool.app.loops.control import stop_all
    from spool.app.machine.demo_repository import CHANGE, make_repository, settings_of
    from spool.cli.commands.start.tui import open_screen, require_terminal
    from spool.sources.project import project_at

    require_terminal()
    make_repository(root)
    client = Client(project_at(root), settings_of(root))
    loop = asyncio.run(client.start(CHANGE, client.settings))
    code = open_screen(client, loop=loop)
    stop_all([loop], by="the end of the demo")
    return code


def _try_next(keep: str | None) -> None:
    say()
    say_paragraph(
        "What you saw: an attempt that failed was taken back, byte for byte. A claim with a deleted test was refused, "
        "and the agent read why. The end is proved: tests that failed without the change pass with it."
    )
    say("", "Try next:")
    there = {
        f"cd {keep} && spool report": "what the loop did",
        f"cd {keep} && spool checkpoint list": "what was taken back",
        f"cd {keep} && git diff": "what the agent wrote",
    }
    again = {
        "spool demo --tui": "the same on the full screen",
        "spool demo --keep demo": "the same, and keep the repository",
    }
    yours = {
        "cd your-project && spool init": "find your agent and your tests",
        'spool run PLAN.md --verify "make test"': "run any Markdown list",
    }
    say_commands({**(there if keep is not None else again), **yours})
