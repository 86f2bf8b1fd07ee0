"""`spool workspace`: lists and removes the worktrees and clones in which loops work."""

import click

from spool.app.loops.workspace_list import Loose, WorkspaceRow, find_workspace, list_workspaces, remove_workspace
from spool.cli.options.target import completing, on_terminal
from spool.domain.text.plain_text import counted, one_line
from spool.errors import UsageError
from spool.views.say import say, say_json
from spool.views.tables import room, table

_NAMED = 5


@completing
def complete_workspace() -> list[str]:
    """Return the changes with a workspace in this repository."""
    return [row.change for row in list_workspaces(everywhere=False)]


@click.group("workspace")
def workspace() -> None:
    """List and remove the worktrees and clones in which loops work."""


@workspace.command("list", short_help="List the workspaces of this repository.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--all-projects", "everywhere", is_flag=True, help="List the clones of other projects too.")
def list_all(as_json: bool, everywhere: bool) -> None:
    """List the workspaces of this repository, with the status of their loops."""
    rows = list_workspaces(everywhere=everywhere)
    if as_json:
        say_json(rows)
        return
    if not rows:
        say("No workspaces.")
        return
    head = ("change", "kind", "loop", "branch")
    lines = [(row.change, str(row.kind), str(row.status or "-"), row.branch) for row in rows]
    say(*table(head, lines, width=room(), left=head, drop=("branch",), notes=[row.path for row in rows], noted="path"))


@workspace.command()
@click.argument("names", metavar="CHANGE...", nargs=-1, required=True, shell_complete=complete_workspace)
@click.option("--yes", "-y", is_flag=True, help="Remove also what is on no branch, without asking.")
def remove(names: tuple[str, ...], yes: bool) -> int:
    """Remove workspaces; their branches stay.

    CHANGE is a change of this repository, or the path of any workspace. Uncommitted files, and commits that are on no
    branch, are removed only after you have agreed. Ignored folders count as disposable.
    """
    rows = [find_workspace(name) for name in dict.fromkeys(names)]
    kept = [row for row in rows if not _removed(row, yes=yes)]
    return 1 if kept else 0


def _removed(row: WorkspaceRow, *, yes: bool) -> bool:
    removed = remove_workspace(row, lambda loose: yes or _agrees(row, loose))
    if removed:
        say(f"Removed {row.kind} {row.path}. Its branch is {row.branch}.")
    else:
        say(f"Kept {row.path}.", err=True)
    return removed


def _agrees(row: WorkspaceRow, loose: Loose) -> bool:
    if loose.unknown:
        say(f"Cannot tell what {row.path} holds: {one_line(loose.unknown, 300)}", err=True)
    if loose.files:
        more = f" and {len(loose.files) - _NAMED} more" if len(loose.files) > _NAMED else ""
        named = ", ".join(one_line(name, 100) for name in loose.files[:_NAMED])
        say(f"On no branch: {counted(len(loose.files), 'file')}: {named}{more}", err=True)
    if loose.commits:
        say(f"On no branch: the commits of {', '.join(one_line(name, 100) for name in loose.commits)}", err=True)
    if not on_terminal():
        raise UsageError(f"{row.path} holds work that is on no branch", hint="--yes removes it anyway")
    return click.confirm(f"Remove {row.path} anyway?", default=False, err=True)
