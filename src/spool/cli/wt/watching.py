"""`wt-loop logs` and `wt-loop attach`."""

import click

from spool.cli.attach import attach_to, print_file, show_log
from spool.cli.loops import matching
from spool.cli.wt.located import DOOR, locate
from spool.errors import UsageError
from spool.host.state.loop_book import LOG
from spool.host.state.registry import Entry, this_machine


@click.command("logs")
@click.argument("name", metavar="[CHANGE]", required=False)
@click.option("--follow", "-f", is_flag=True, help="Go on as the log grows, until the loop ends.")
@click.option("--path", metavar="DIR", help="The worktree, where the change's id does not give it.")
@click.help_option("-h", "--help")
def logs(name: str | None, follow: bool, path: str | None) -> None:
    """Print all that the loop's terminal showed, over all iterations."""
    if (other := _other_door(name)) is not None:
        show_log(other, follow=follow)
        return
    found = locate(name, path)
    entry = found.entry
    print_file(found.root / LOG, going=lambda: follow and entry is not None and _runs(entry))


@click.command("attach")
@click.argument("name", metavar="[CHANGE]", required=False)
@click.option("--path", metavar="DIR", help="The worktree, where the change's id does not give it.")
@click.help_option("-h", "--help")
def attach(name: str | None, path: str | None) -> int:
    """Watch a loop in this terminal: its tmux session, else what it says. Ctrl-C ends the watching, not the loop."""
    entry = _other_door(name) or locate(name, path).entry
    if entry is None:
        raise UsageError("this loop is no longer known", hint="wt-loop logs prints what it has shown")
    return attach_to(entry)


def _runs(entry: Entry) -> bool:
    known = this_machine().find(entry.run_id)
    return known is not None and known.running


def _other_door(name: str | None) -> Entry | None:
    """Return a running loop of another command, where no loop of ours has that name."""
    found = matching(name, this_machine().entries()) if name else []
    if any(entry.door == DOOR for entry in found):
        return None
    return next((entry for entry in found if entry.running), None)
