"""`spool list`, `show` and `archive`: the changes of a project."""

from datetime import datetime
from pathlib import Path

import click
import msgspec

from spool.app.changes.change_rows import change_rows
from spool.app.changes.resolver import project_root
from spool.app.changes.review import Review, examine, open_tasks, review
from spool.app.changes.review import archive as put_away
from spool.app.loops.reach import reach_of
from spool.app.starting.effective_settings import resolve_settings
from spool.cli.options.target import complete_change, on_terminal, pick_change
from spool.domain.text.plain_text import counted
from spool.errors import UsageError
from spool.sources.project import find_project, project_at
from spool.sources.story_source import require_stories
from spool.views.change_tables import in_words, show_change, show_findings, show_list, show_stories
from spool.views.say import say, say_json

_change = click.argument("change", metavar="[CHANGE | PLAN.md]", required=False, shell_complete=complete_change)
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_help = click.help_option("-h", "--help")


@click.command("list")
@_json
@_help
def list_changes(as_json: bool) -> None:
    """List the active changes, with their tasks and their latest loops."""
    project = project_at(project_root(Path.cwd()))
    rows = change_rows(project, reach_of().project)
    if not rows:
        find_project(Path.cwd())  # says how to write a change where there is none
    if as_json:
        say_json({"changes": rows})
    elif rows:
        show_list(rows)
        for said in filter(None, (project.doubled(row.id) for row in rows)):
            say(f"spool: {said}", err=True)
    else:
        say("No active changes.", "", "Next:", '  spool new "Add login"')


@click.command("show", epilog="Exit codes with --check: 0 the changes can be run, 1 one cannot, 2 usage error.")
@_change
@click.option("--check", is_flag=True, help="Show only what an agent would stumble over; without CHANGE, in all.")
@_json
@_help
def show(change: str | None, check: bool, as_json: bool) -> int:
    """Show a change: its proposal, its stories and tasks, its loop, and what an agent would stumble over.

    That is: no tasks, no groups, a story with too many tasks, an empty proposal, no check. With --check, a format's own
    command, such as openspec, is asked as well.
    """
    if check:
        return _check(change, as_json=as_json)
    shown = _review(change)
    if as_json:
        say_json(_fields(shown))
        return 0
    show_change(shown)
    say()
    show_findings(shown.change.id, shown.findings)
    return 0


@click.command("stories")
@_change
@_json
@_help
def stories(change: str | None, as_json: bool) -> None:
    """Show the stories and tasks of a change; `spool show` has them too."""
    shown = _review(change)
    require_stories(shown.change)
    if as_json:
        say_json(_fields(shown))
        return
    found = shown.stories
    say(f"{shown.change.id}: {found.completed} of {len(found.stories)} stories complete")
    show_stories(found.stories, upcoming=found.next)


@click.command("validate")
@_change
@_json
@_help
def validate(change: str | None, as_json: bool) -> int:
    """Say what an agent would stumble over; the same as `spool show --check`."""
    return _check(change, as_json=as_json)


def _review(change: str | None) -> Review:
    project, found = pick_change(change, None, interactive=on_terminal(), named_by="CHANGE", only_one=True)
    return review(project, found, resolve_settings(project.root).settings)


def _fields(shown: Review) -> dict[str, object]:
    upcoming = shown.stories.next
    return {
        **msgspec.structs.asdict(shown.change),
        "change": shown.change.id,
        "completed": shown.stories.completed,
        "total": len(shown.stories.stories),
        "next": upcoming.id if upcoming else None,
        "stories": [{"complete": one.complete, **msgspec.to_builtins(one)} for one in shown.stories.stories],
        "loop": shown.loop,
        "findings": [in_words(one) for one in shown.findings],
    }


def _check(change: str | None, *, as_json: bool) -> int:
    if change is not None:
        project, one = pick_change(change, None, interactive=False)
        names = [one]
    else:
        project = find_project(Path.cwd())
        names = [info.id for info in project.changes()]
    settings = resolve_settings(project.root).settings
    found = {name: examine(project, name, settings) for name in names}
    if as_json:
        say_json({name: [in_words(one) for one in ones] for name, ones in found.items()})
    elif not found:
        say("No active changes.")
    else:
        for name, ones in found.items():
            show_findings(name, ones)
    return 1 if any(one.serious for ones in found.values() for one in ones) else 0


@click.command("archive")
@_change
@click.option("--yes", "-y", is_flag=True, help="Do not ask, even if tasks are open.")
@_help
def archive(change: str | None, yes: bool) -> None:
    """Archive a finished change.

    A change in .spool/changes moves to archive/ there, with the date in front. A change of OpenSpec is archived by the
    command openspec, which also merges its specs.
    """
    project, found = pick_change(change, None, interactive=on_terminal(), named_by="CHANGE")
    still_open = open_tasks(project, found)
    if still_open and not yes:
        what = f"{found} has {counted(still_open, 'open task')}"
        if not on_terminal():
            raise UsageError(what, hint="--yes archives it anyway")
        click.confirm(f"{what}. Archive it?", abort=True, err=True)
    say(put_away(project, found, today=datetime.now().astimezone().date()))
