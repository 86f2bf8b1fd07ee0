"""Makes a change: a folder with a proposal and tasks."""

import os
from pathlib import Path

import msgspec

from spool.app.changes.resolver import project_root
from spool.domain.change.new_names import next_named, next_numbered, slug_of
from spool.domain.change.plan_file.proposal_split import split_plan
from spool.domain.change.plan_file.task_choice import parse_plan
from spool.errors import UsageError
from spool.host.documents import write_document
from spool.sources.change_folders import OWN
from spool.sources.project import Project, project_at
from spool.sources.registry import FOLDERS

_PROPOSAL = """\
# {title}

## Why

<!-- The problem, for somebody who has not seen it. An agent reads this text at the start of every iteration. -->

## What changes

<!-- What is different when this is done, in terms that a test can check. Name files, commands and messages. -->

## Out of scope

<!-- What an eager agent should leave alone. -->
"""
_TASKS = """\
<!--
Each heading is a story: one attempt of an agent, with a checkpoint before it and your tests after it.
A good story leaves the tests green, can be checked on its own, and has two to eight tasks.
A good task names what to write and how to see that it works. Put the test beside the code that it tests.
-->

## 1. {title}

- [ ] 1.1 Write a test that fails without the change
- [ ] 1.2 Make it pass

## 2. Finish

- [ ] 2.1 Describe the change in the documentation
"""


class NewChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change that was just made."""

    id: str
    root: Path
    files: tuple[Path, ...]
    tasks: int | None = None
    """The number of tasks in the text it was made from; None without one."""


def make_change(here: Path, title: str, *, module: str | None = None, text: str | None = None) -> NewChange:
    """Make a change with a title, from a template or from a text; the title may be in the text."""
    project = project_at(project_root(here))
    stories = parse_plan(text) if text is not None else ("", ())
    title = " ".join((title or stories[0]).split())
    if not title:
        raise UsageError("a title is required", hint='for example: spool new "Add login"')
    proposal, tasks = split_plan(text, title) if text is not None else (_PROPOSAL.format(title=title), "")
    change, where = _free_id(project, slug_of(title), module)
    folder = project.root / where / change
    files = {folder / "proposal.md": proposal, folder / "tasks.md": tasks or _TASKS.format(title=title)}
    for path, content in files.items():
        write_document(path, content)
    found = sum(len(story.tasks) for story in stories[1]) if text is not None else None
    return NewChange(id=change, root=project.root, files=tuple(files), tasks=found)


def _free_id(project: Project, slug: str, module: str | None) -> tuple[str, str]:
    """Return the id of a new change and the folder that it belongs into."""
    known = [*(info.id for info in project.changes()), *project.archived()]
    used = [one for one in FOLDERS if (project.root / (one.where if one is OWN else one.home)).is_dir()]
    source = used[0] if used else OWN
    if not source.numbered:
        if module is not None:
            where = project.root / source.where
            raise UsageError(f"changes of {source.label} have no module", hint=f"they are in {where}")
        return next_named(slug, known), source.where
    if module is not None and not (module.isascii() and module.isdigit()):
        raise UsageError(f"'{module}' is not the number of a module", hint="for example: --module 2")
    return next_numbered(slug, known, project.modules(), int(module) if module else None), source.where


def editor() -> str:
    """Return the person's editor; empty if none is set."""
    return os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
