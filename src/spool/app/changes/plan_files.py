"""Finds the plan file that an argument names, and adds boxes to it if a person agrees."""

import os
import stat
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.app.verifying.gate_construction import noted_tasks
from spool.domain.change.change import is_id, matching
from spool.domain.change.plan_file.ids import is_plan_name, plan_id, plan_path
from spool.domain.change.story import StoryList
from spool.domain.judging.gates.boxes import BoxLedger, honest
from spool.domain.text.plain_text import nearest
from spool.errors import ChangeError, Hint, UsageError
from spool.host.git.pointers import top_of
from spool.host.state.files import replace_file
from spool.nofollow import read_file
from spool.sources.project import Project, find_project, project_at


def plan_meant(query: str, here: Path) -> tuple[Project, str] | None:
    """Return the project and the id of a plan if an argument names an existing Markdown file, or is a plan's id."""
    if not is_plan_name(query):
        return None
    path, root = here / query, project_root(here)
    if os.path.lexists(path):
        return _plan_at(path.parent.resolve() / path.name, root)
    if (named := plan_path(query)) and os.path.lexists(root / named):
        return project_at(root), query
    if not matching(query, [info.id for info in project_at(root).changes()]):
        raise UsageError(f"no such plan file: {query}", hint=_nearest(query, here) or f"its path is relative to {here}")
    return None


def _nearest(query: str, here: Path) -> str:
    """Return a question with the Markdown file whose name is closest to that of a missing one; empty if none is."""
    beside = [one.name for one in (here / query).parent.glob("*") if is_plan_name(one.name)]
    near = nearest(Path(query).name, beside)
    return f"did you mean: {Path(query).with_name(near)}?" if near else ""


def project_root(here: Path) -> Path:
    """Return the directory in which Spool works: the project around this one, else its working tree, else itself."""
    top = top_of(here)
    with suppress(UsageError):
        root = find_project(here).root
        if top is None or root.is_relative_to(top):
            return root
    return top or here


def _plan_at(path: Path, root: Path) -> tuple[Project, str]:
    if path.is_symlink():
        raise UsageError(f"{path.name} is a link", hint="Spool does not follow links there: name the file itself")
    if not path.is_relative_to(root):
        root = top_of(root) or root
    if not path.is_relative_to(root):
        raise UsageError(
            f"{path} is outside of {root}", hint="copy the plan into the project, where it can be reverted"
        )
    found = plan_id(str(path.relative_to(root)))
    if not is_id(found):
        raise UsageError(f"the path of {path.name} is too long for Spool's files", hint="move or rename the plan")
    return project_at(root), found


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
    from spool.sources.markdown import plan_text

    text = plan_text(path, name)
    if has_table_tasks(text):
        raise ChangeError(f"{name} has tasks in a table, which has no place for boxes", hint="add a Status column")
    if has_heading_tasks(text):
        raise ChangeError(
            f"the steps of {name} are headings, which have no place for boxes",
            hint="write a list item below each of them, for example: - [ ] Add a login form",
        )
    marked = read_file(path).startswith(b"\xef\xbb\xbf")
    replace_file(path, (b"\xef\xbb\xbf" if marked else b"") + with_boxes(text).encode(), mode=_mode(path))


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def with_noted(root: Path, change: str, stories: StoryList) -> StoryList:
    """Return stories with the tasks without a box that Spool has noted as done."""
    if not any(story.boxless for story in stories.stories):
        return stories
    noted = noted_tasks(str(root), change).ledger()
    return honest(msgspec.structs.replace(BoxLedger(), accepted=noted.accepted), stories)
