"""Reads a plan as a task list, and writes boxes into its plain items."""

import re

from spool.domain.change.plan_file.headings import is_task_label
from spool.domain.change.plan_file.plan import PlanStory
from spool.domain.change.plan_file.task_choice import parse_plan
from spool.domain.change.tasks import BOXLESS, GroupNotes, Task, TaskList, parse_tasks

_FIELDS = re.compile(r"^[ \t]*[-*+][ \t]+\*\*Status:?\*\*:?[ \t]*\[[ xX?~-]\]", re.MULTILINE)
_TASK_HEADING = re.compile(r"^###[ \t]+Task[ \t]", re.MULTILINE | re.IGNORECASE)
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_MARKER = re.compile(r"^([ \t]*(?:[-*+]|\d+[.)])[ \t]+)")


def plan_tasks(text: str) -> TaskList:
    """Return the tasks of a plan by story, on their own lines; one with the fields of tasks.md is read as such."""
    if _FIELDS.search(text) and _TASK_HEADING.search(text):
        return parse_tasks(text)
    name, stories = parse_plan(text)
    titles = unique_titles(stories)
    if len(titles) == 1 and name and is_task_label(titles[0]):  # `## Tasks / Subtasks`
        titles = [name]
    titled = list(zip(titles, stories, strict=True))
    tasks = (Task(task.text, task.mark, task.line, title) for title, story in titled for task in story.tasks)
    notes = {title: GroupNotes(criteria=story.criteria) for title, story in titled if story.criteria}
    return TaskList(tuple(tasks), notes, name)


def unique_titles(stories: tuple[PlanStory, ...]) -> list[str]:
    """Return unique titles: the heading around a story, or a number, distinguishes equal ones."""
    own = [story.title for story in stories]
    found: list[str] = []
    for story in stories:
        wanted = f"{story.around}: {story.title}" if own.count(story.title) > 1 and story.around else story.title
        title, number = wanted, 2
        while title in found:
            title, number = f"{wanted} ({number})", number + 1
        found.append(title)
    return found


def lines_of(text: str) -> list[str]:
    """Return the lines of Markdown, which knows fewer line ends than Python."""
    return _LINE.findall(text)


def has_table_tasks(text: str) -> bool:
    """Whether a plan has tasks without a box in the rows of a table."""
    return any(task.in_table and task.mark == BOXLESS for story in parse_plan(text)[1] for task in story.tasks)


def has_heading_tasks(text: str) -> bool:
    """Whether the tasks of a plan are headings."""
    return any(task.in_heading for story in parse_plan(text)[1] for task in story.tasks)


def with_boxes(text: str) -> str:
    """Return a plan whose plain items have boxes; every other byte stays as it is."""
    lines = lines_of(text)
    for story in parse_plan(text)[1]:
        for task in story.tasks:
            if task.mark == BOXLESS and not task.in_table:
                lines[task.line - 1] = _MARKER.sub(r"\1[ ] ", lines[task.line - 1])
    return "".join(lines)
