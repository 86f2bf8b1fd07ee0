"""Decides which items of a plan are tasks, and into which stories they fall.

Where a plan has boxes, they are the tasks. Otherwise the outermost list items are, without those of sections that give
background. A struck item alone does not make a plan one with boxes.
"""

from collections.abc import Callable, Iterable, Iterator

from spool.domain.plan_file.headings import announces_work, is_background, is_label
from spool.domain.plan_file.reading import read_sections
from spool.domain.plan_file.values import PlanItem, PlanSection, PlanStory, PlanTask
from spool.domain.tasks import BOXLESS


def parse_plan(text: str) -> tuple[str, tuple[PlanStory, ...]]:
    """Return the title of a plan, which may be empty, and its stories in order; none if it has no list."""
    title, sections = read_sections(text)
    sections = list(_without_labels(sections))
    if any(_has_box(item) for section in sections for item in section.items):
        grouped = [pair for section in sections for pair in _boxed(section.items, _key(section))]
    else:
        grouped = list(_plain(sections))
    return title, _stories(grouped)


_Key = tuple[str, ...]
"""The headings around a task, outermost first, the story's own last."""


def _key(section: PlanSection) -> _Key:
    return (*section.above, section.title)


def _without_labels(sections: Iterable[PlanSection]) -> Iterator[PlanSection]:
    """Merge `**Acceptance criteria**` and the like into the story that they stand in."""
    last: PlanSection | None = None
    for section in sections:
        if section.label and last is not None and is_label(section.title):
            last.items += section.items
            continue
        last = last if section.label else section
        yield section


def _has_box(item: PlanItem) -> bool:
    return (item.mark is not None and item.mark != "-") or any(map(_has_box, item.children))


def _boxed(items: Iterable[PlanItem], key: _Key) -> Iterator[tuple[_Key, PlanTask]]:
    """Yield every box; an item without one, around some, is the heading of those."""
    for item in items:
        inside = (*key, item.group) if item.group else key
        if item.mark is not None and item.text:
            yield inside, _task(item)
        elif item.mark is None and any(map(_has_box, item.children)):
            inside = (*key, _heading(item.text))
        yield from _boxed(item.children, inside)


def _plain(sections: list[PlanSection]) -> Iterator[tuple[_Key, PlanTask]]:
    chosen = _chosen([section for section in sections if section.items])
    outline = len(chosen) == 1 and all(item.children for item in chosen[0].items)
    for section in chosen:
        for item in section.items:
            if outline:
                inside = (*_key(section), _heading(item.text))
                yield from ((inside, _task(child)) for child in item.children if child.text)
            elif item.text:
                yield ((*_key(section), item.group) if item.group else _key(section)), _task(item)


def _chosen(sections: list[PlanSection]) -> list[PlanSection]:
    """Return the sections whose items are tasks: those that say so, else all but the background."""
    if work := [section for section in sections if _any_heading(section, announces_work)]:
        return work
    return [section for section in sections if not _any_heading(section, is_background)]


def _any_heading(section: PlanSection, test: Callable[[str], bool]) -> bool:
    """Whether a section's heading, or one around it, passes a test; the title of the whole plan never does."""
    names = section.above if section.level == 0 else (*section.above, section.title)
    return any(map(test, names))


def _task(item: PlanItem) -> PlanTask:
    return PlanTask(item.text, BOXLESS if item.mark is None else item.mark, item.line, item.in_table)


def _heading(text: str) -> str:
    return " ".join(text.split()).strip("*_").rstrip(":").strip()


def _stories(grouped: list[tuple[_Key, PlanTask]]) -> tuple[PlanStory, ...]:
    """Return the tasks by their headings; equal headings are told apart by the one around them."""
    groups: dict[_Key, list[PlanTask]] = {}
    for key, task in grouped:
        groups.setdefault(key, []).append(task)
    own = [key[-1] for key in groups]
    taken: set[str] = set()
    found = []
    for key, tasks in groups.items():
        title = key[-1] if own.count(key[-1]) == 1 or len(key) < 2 else f"{key[-2]}: {key[-1]}"
        found.append(PlanStory(_unique(title, taken), tuple(tasks)))
    return tuple(found)


def _unique(title: str, taken: set[str]) -> str:
    found, number = title, 2
    while found in taken:
        found, number = f"{title} ({number})", number + 1
    taken.add(found)
    return found
