"""spec-kit: `specs/NNN-name/tasks.md`, with spec.md and plan.md as context. Phases and user stories are the stories."""

import re
from collections.abc import Mapping

import msgspec

from spool.domain.change.tasks import Task, TaskList
from spool.sources.markdown import parse_markdown
from spool.sources.plan_format import PlanFormat

_STORY = re.compile(r"\[(US\d+)\]", re.IGNORECASE)


def parse_spec_kit(text: str, beside: Mapping[str, str]) -> TaskList:
    """Read the tasks by phase; a phase with tasks of several user stories is one story for each."""
    found = parse_markdown(text, beside)
    tags: dict[str, set[str]] = {}
    for task in found.tasks:
        tags.setdefault(task.group, set()).add(_tag(task))
    tasks = [
        msgspec.structs.replace(task, group=f"{task.group} {_tag(task)}".strip()) if len(tags[task.group]) > 1 else task
        for task in found.tasks
    ]
    order = list(dict.fromkeys(task.group for task in tasks))
    return msgspec.structs.replace(found, tasks=tuple(sorted(tasks, key=lambda task: order.index(task.group))))


def _tag(task: Task) -> str:
    found = _STORY.search(task.text)
    return found[1].upper() if found else ""


SPEC_KIT = PlanFormat(
    kind="spec-kit",
    owns=r"(?:.*/)?specs/[^/]+/tasks\.md",
    places=(("specs/*", r"tasks\.md"), (".specify/specs/*", r"tasks\.md")),
    parse=parse_spec_kit,
    beside=("spec.md", "plan.md"),
)
