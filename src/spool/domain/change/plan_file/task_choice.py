"""Decides which items of a plan are tasks, and into which stories they fall.

Where a plan has boxes, they are the tasks and plain lists are not. In a plan without boxes the outermost list items
are, but for sections that give background. In one without either, the headings that say that they are steps are.
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from spool.domain.change.plan_file.headings import (
    adds_work,
    announces_work,
    describes,
    is_background,
    is_check_label,
    is_done,
    is_legend,
    is_task_label,
)
from spool.domain.change.plan_file.plan import PlanItem, PlanSection, PlanStory, PlanTask
from spool.domain.change.plan_file.sections import read_sections
from spool.domain.change.plan_file.steps import as_item, heading_steps
from spool.domain.change.tasks import BOXLESS
from spool.domain.text.plain_text import counted

_LABEL_WORDS = 2
_Found = tuple[str, PlanItem]
"""The group that an item is in, inside of its section, and the item."""


class Untaken(msgspec.Struct, frozen=True):
    """Items of one section that are not taken as tasks."""

    heading: str
    items: int
    line: int

    @property
    def words(self) -> str:
        """Say so in a clause."""
        under = f" under '{self.heading}'" if self.heading else ""
        return f"{counted(self.items, 'item')}{under} {'is' if self.items == 1 else 'are'} not taken as tasks"


def parse_plan(text: str) -> tuple[str, tuple[PlanStory, ...]]:
    """Return the title of a plan, which may be empty, and its stories in order; none if it has no tasks."""
    title, tasks = _tasks(text)
    return title, tuple(story for section, items in tasks for story in _stories(section, items))


def untasked(text: str) -> tuple[str, ...]:
    """Return the headings that look like stories of a plan, but have no tasks: prose alone is not worked on."""
    tasks = _tasks(text)[1]
    full = [section for section, items in tasks if items]
    around = {name for section in full for name in section.above}
    levels = {section.level for section in full if section.level}
    return tuple(
        section.title
        for section, items in tasks
        if not items and section.level in levels and section.title not in around
        if section.title and not section.items and not _any_heading(section, is_background)
    )


def untaken(text: str) -> tuple[Untaken, ...]:
    """Return where a plan has list items that are neither tasks nor part of one."""
    found = []
    for section, taken in _tasks(text)[1]:
        lines = {line for _, item in taken for line in range(item.line, item.end + 1)}
        rest = [one for one in section.items if not _has_box(one) and one.line not in lines]
        if rest:
            found.append(Untaken(section.title, len(rest), rest[0].line))
    return tuple(found)


def _tasks(text: str) -> tuple[str, list[tuple[PlanSection, list[_Found]]]]:
    """Return the title of a plan, and its sections with the items that are tasks."""
    title, found = read_sections(text)
    sections = _with_labels(section for section in found if not is_legend(section.title))
    if any(_has_box(item) for section in sections for item in (*section.items, *section.checks)):
        return title, [(section, list(_in_boxed_plan(section))) for section in sections]
    if any(describes(section.title) for section in found):
        return title, [(section, []) for section in sections]
    chosen = _chosen(sections)
    tasks = [(one, list(_in_plain_section(one)) if one in chosen else []) for one in sections]
    if not any(items for _, items in tasks):
        steps = heading_steps(sections)
        tasks = [(one, [_step(one)] if one in steps else []) for one in sections]
    return title, tasks


def _with_labels(sections: Iterable[PlanSection]) -> list[PlanSection]:
    """Move `### Tasks`, `**Acceptance criteria**` and the like into the story that they stand in."""
    found: list[PlanSection] = []
    for section in sections:
        story = _story_around(section, found)
        if story is not None and is_task_label(section.title):
            story.items += section.items
        elif story is not None and is_check_label(section.title):
            story.checks += section.items
        else:
            if story is not None and section.bold and is_background(section.title):  # **Files:**, then boxes
                story.items += [item for item in section.items if _has_box(item)]
                section.items = [item for item in section.items if not _has_box(item)]
            found.append(section)
    return found


def _story_around(section: PlanSection, earlier: list[PlanSection]) -> PlanSection | None:
    around = (one for one in reversed(earlier) if section.bold or one.level < section.level)
    story = next(around, None)
    return story if story is not None and story.level > 0 else None


def _has_box(item: PlanItem) -> bool:
    return (item.mark is not None and not item.struck) or any(map(_has_box, item.children))


def _in_boxed_plan(section: PlanSection) -> Iterator[_Found]:
    """Yield the boxes of a section, and plain items between two of them; those that only hold boxes name stories."""
    items = section.items if any(map(_has_box, section.items)) else section.checks
    outline = section.level == 0 and all(item.mark is None and _has_box(item) for item in items)
    boxed = [(item.block, at) for at, item in enumerate(items) if item.mark is not None and not item.struck]
    for at, item in enumerate(items):
        if _has_box(item):
            yield from _boxes(item, item.text if outline else item.group)
        elif {before < at for block, before in boxed if block == item.block} == {True, False}:
            yield item.group, item


def _boxes(item: PlanItem, group: str) -> Iterator[_Found]:
    if item.mark is not None and item.text:
        yield group, item
    for child in item.children:
        yield from _boxes(child, group)


def _chosen(sections: list[PlanSection]) -> list[PlanSection]:
    """Return the sections whose items are tasks: those that say so, else all but the background."""
    filled = [section for section in sections if section.items or section.checks]
    if any(_any_heading(section, announces_work) for section in filled):
        return [section for section in filled if _any_heading(section, adds_work)]
    return [section for section in filled if not _any_heading(section, is_background)]


def _any_heading(section: PlanSection, test: Callable[[str], bool]) -> bool:
    """Whether a section's heading, or one around it, passes a test; the title of the whole plan never does."""
    names = section.above if section.level == 0 else (*section.above, section.title)
    return any(map(test, names))


def _in_plain_section(section: PlanSection) -> Iterator[_Found]:
    """Yield the outermost items; those that only lead others, like `Before:`, give way to them."""
    items = section.items or section.checks
    outline = section.level == 0 and all(item.children for item in items)
    for item in items:
        if outline:
            yield from ((item.text, child) for child in item.children if child.text)
        elif item.children and item.text.endswith(":") and len(item.text.split()) <= _LABEL_WORDS:
            yield from ((item.group, child) for child in item.children if child.text)
        elif item.text:
            yield item.group, item


def _step(section: PlanSection) -> _Found:
    """Return the task of a heading; a sign that it is done is not part of the name of its story."""
    item = as_item(section)
    return item.text if item.text != section.title else "", item


def _stories(section: PlanSection, items: list[_Found]) -> Iterator[PlanStory]:
    """Yield the story of a section; one for each group if its items name groups."""
    finished = _any_heading(section, is_done)
    groups: dict[str, list[PlanTask]] = {}
    for group, item in items:
        groups.setdefault(group, []).append(_task(item, finished=finished))
    around = section.above[-1] if section.above else ""
    lines = {item.line for _, item in items}
    criteria = tuple(one.text for one in section.checks if one.line not in lines)
    for group, tasks in groups.items():
        title = group.strip("*_: ") or section.title
        yield PlanStory(title, tuple(tasks), criteria, section.title if group else around)


def _task(item: PlanItem, *, finished: bool) -> PlanTask:
    mark = item.mark if item.mark is not None else "x" if finished else BOXLESS
    return PlanTask(item.text, mark, item.line, item.in_table, item.end, item.in_heading)
