"""Prints changes: the table of `spool list`, and one change of `spool show`."""

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from spool.app.changes.change_rows import ChangeRow
from spool.app.changes.review import Review
from spool.domain.change.advice import Advice
from spool.domain.change.plan_file.ids import shown
from spool.domain.change.story import Story
from spool.domain.loop.summary import LoopSummary
from spool.domain.text.plain_text import counted, one_line
from spool.views import words
from spool.views.hints import worded
from spool.views.look import STORIES, Role
from spool.views.say import say, say_text
from spool.views.tables import room, table

_HEAD = ("CHANGE", "TASKS", "LOOP")
_READABLE = 24
_MARKS = {"X": "x", "~": "-", ".": "·"}
_NOTES = {"?": "  (for a person)", "-": "  (shelved)", "~": "  (shelved)"}


def show_list(rows: Sequence[ChangeRow]) -> None:
    """Print the active changes as a table, with their titles beside them."""
    now = datetime.now(UTC)
    width = room()
    longest = max(_READABLE, width - 14)
    cells = [(one_line(row.name, longest), _progress(row.done, row.total), _loop(row.loop, now)) for row in rows]
    titles = ["" if row.title == row.name else row.title for row in rows]
    say(*table(_HEAD, cells, width=width, left=_HEAD, drop=("LOOP",), notes=titles, noted="TITLE"))


def _progress(done: int, total: int) -> str:
    return f"{done}/{total}" if total else "none"


def _loop(loop: LoopSummary | None, now: datetime) -> str:
    if loop is None:
        return "-"
    return f"{loop.status}, {words.duration((now - loop.updated_at).total_seconds())} ago"


def show_change(found: Review) -> None:
    """Print a change: its proposal, its stories and where its loop stands."""
    change, stories = found.change, found.stories
    name = shown(change.id)
    kind = f"{change.source}: {change.boxes.title or change.plan_file}" if change.plan_file else change.directory
    say(f"{name}  {kind}", colour=Role.RUNNING.colour, word=name)
    if found.loop is not None:
        loop = found.loop
        say(f"Loop: {loop.door}, {loop.status}, {counted(loop.iteration, 'iteration')}  {one_line(loop.reason, 100)}")
    if not change.plan_file and change.proposal.strip():
        say()
        say_text(change.proposal)
    say("", f"{stories.completed} of {counted(len(stories.stories), 'story', 'stories')} complete")
    show_stories(stories.stories, upcoming=stories.next)


def show_stories(stories: Sequence[Story], *, upcoming: Story | None) -> None:
    """Print stories with their tasks."""
    for story in stories:
        state = "done" if story.complete else "next" if story is upcoming else "open"
        say()
        say(
            f"{state}  {story.id}  {one_line(story.title, 80)}",
            colour=STORIES[state].colour,
        )
        for task in story.tasks:
            mark = _MARKS.get(task.mark, task.mark)
            say(f"      [{mark}] {task.id} {one_line(task.text, 100)}{_NOTES.get(task.mark, '')}")


def in_words(one: Advice) -> Advice:
    """Return a finding with its hint as a person reads it."""
    return msgspec.structs.replace(one, hint=worded(one.hint))


def show_findings(change: str, found: Sequence[Advice]) -> None:
    """Print what an agent would stumble over in a change."""
    if not found:
        say(f"{change}: ready", colour=Role.GOOD.colour, word="ready")
        return
    serious = sum(one.serious for one in found)
    say(f"{change}: {'not ready' if serious else 'ready, with ' + counted(len(found), 'remark')}")
    for one in map(in_words, found):
        say(
            f"  {'error' if one.serious else 'note '}  {one.what}",
            colour=Role.BAD.colour if one.serious else None,
            word="error",
        )
        if one.hint:
            say(f"         {one.hint}")
