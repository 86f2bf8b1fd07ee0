"""Adds boxes to a plan file if a person agrees, and reads what Spool has noted of one without."""

import os
import stat
from pathlib import Path

import msgspec

from spool.app.verifying.gate_construction import noted_tasks
from spool.domain.change.story import StoryList
from spool.domain.judging.gates.boxes import BoxLedger, honest
from spool.errors import ChangeError, Hint, UsageError
from spool.host.state.files import replace_file
from spool.nofollow import read_file
from spool.sources.project import Project


def prepare_plan(project: Project, change: str, *, tick: bool) -> bool:
    """Add boxes to a plan's plain items if wanted; return whether it has items without a box.

    Refuse a plan that cannot be written, where boxes are to be ticked in it.
    """
    read = project.read(change)
    if not read.plan_file:
        if tick:
            raise UsageError(f"'{change}' is not a plan file", hint=Hint.TICK)
        return False
    path = project.root / read.plan_file
    boxless = any(story.boxless for story in read.stories.stories)
    if (tick or not boxless) and not os.access(path, os.W_OK):
        raise UsageError(f"{read.plan_file} is read-only: its boxes cannot be ticked", hint=f"chmod u+w {path}")
    if tick and boxless:
        _add_boxes(path, read.plan_file)
        boxless = any(story.boxless for story in project.read(change).stories.stories)
    return boxless


def _add_boxes(path: Path, name: str) -> None:
    from spool.domain.change.plan_file.boxed import has_heading_tasks, has_table_tasks, with_boxes
    from spool.sources.plan_format import plan_text

    text = plan_text(path, name)
    if has_table_tasks(text):
        raise ChangeError(f"{name} has tasks in a table, which has no place for boxes", hint="add a Status column")
    if has_heading_tasks(text):
        raise ChangeError(
            f"the steps of {name} are headings, which have no place for boxes",
            hint="write a list item below each of them, for example: - [ ] Add a login form",
        )
    write_plan(path, with_boxes(text))


def write_plan(path: Path, text: str) -> None:
    """Replace the text of a plan; its mode and its byte order mark stay."""
    marked = read_file(path).startswith(b"\xef\xbb\xbf")
    data = (b"\xef\xbb\xbf" if marked else b"") + text.encode()
    replace_file(path, data, mode=stat.S_IMODE(path.stat().st_mode))


def with_noted(root: Path, change: str, stories: StoryList) -> StoryList:
    """Return stories with the tasks without a box that Spool has noted as done."""
    if not any(story.boxless for story in stories.stories):
        return stories
    noted = noted_tasks(str(root), change).ledger()
    return honest(msgspec.structs.replace(BoxLedger(), accepted=noted.accepted), stories)
