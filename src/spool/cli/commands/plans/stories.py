"""`spool stories`: shows the stories and tasks of a change with their state."""

import sys

import click
import msgspec

from spool.app.changes.plan_files import with_noted
from spool.cli.options.target import complete_change, pick_change
from spool.sources.story_source import read_stories
from spool.views.change_tables import show_stories
from spool.views.say import say, say_json


@click.command("stories")
@click.argument("change", metavar="[CHANGE | PLAN.md]", required=False, shell_complete=complete_change)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def stories(change: str | None, as_json: bool) -> None:
    """Show the stories and tasks of a change and which are done."""
    project, change_id = pick_change(change, None, interactive=sys.stdin.isatty(), named_by="CHANGE", only_one=True)
    found = with_noted(project.root, change_id, read_stories(project, change_id))
    upcoming = found.next
    if as_json:
        shown = {
            "change": change_id,
            "completed": found.completed,
            "total": len(found.stories),
            "next": upcoming.id if upcoming else None,
            "stories": [{"complete": story.complete, **msgspec.to_builtins(story)} for story in found.stories],
        }
        say_json(shown)
        return
    say(f"{change_id}: {found.completed} of {len(found.stories)} stories complete")
    show_stories(found.stories, upcoming=upcoming)
