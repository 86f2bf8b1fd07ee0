"""Splits a plan into a proposal and a list of tasks."""

import re

from spool.domain.change.plan_file.boxed import lines_of, unique_titles
from spool.domain.change.plan_file.plan import PlanStory, PlanTask
from spool.domain.change.plan_file.task_choice import parse_plan

_HEADING = re.compile(r"^(#{1,6})[ \t]")
_NUMBER = re.compile(r"^\d+(?:\.\d+)*[.):]?[ \t]+")
_DONE = "xX"


def split_plan(text: str, title: str) -> tuple[str, str]:
    """Return the proposal, which is the text without its lists of tasks, and the tasks by story, if any."""
    stories = parse_plan(text)[1]
    lines = [line.rstrip("\r\n") for line in lines_of(text.removeprefix("\ufeff"))]
    owners = _owners(stories)
    rest = [line for number, line in enumerate(lines, 1) if number not in owners]
    tasks = [
        _story(number, name, story, lines, owners)
        for number, (name, story) in enumerate(zip(unique_titles(stories), stories, strict=True), 1)
    ]
    return _titled(_without_empty(rest), title), "\n".join(tasks)


def _owners(stories: tuple[PlanStory, ...]) -> dict[int, PlanTask]:
    """Return the task that each line of a list belongs to, the innermost one."""
    owners: dict[int, PlanTask] = {}
    tasks = [task for story in stories for task in story.tasks if not task.in_table]
    for task in sorted(tasks, key=lambda task: task.line):
        owners.update(dict.fromkeys(range(task.line, task.end + 1), task))
    return owners


def _story(number: int, name: str, story: PlanStory, lines: list[str], owners: dict[int, PlanTask]) -> str:
    found = [f"## {number}. {_NUMBER.sub('', name) or 'Tasks'}", ""]
    for at, task in enumerate(story.tasks, 1):
        mark = "x" if task.mark in _DONE else " " if task.mark in " ." else task.mark
        found.append(f"- [{mark}] {number}.{at} {_NUMBER.sub('', task.text)}")
        own = [lines[line - 1] for line in range(task.line + 1, task.end + 1) if owners.get(line) is task]
        found += [f"  {line}" for line in _details(task, own)]
    return "\n".join([*found, ""])


def _details(task: PlanTask, lines: list[str]) -> list[str]:
    """Return the lines below a task, at their own depth; those that continue its text are part of it already."""
    kept = [line.expandtabs(4) for line in lines if line.strip()]
    while kept and " ".join(kept[0].split()) in task.text:
        kept.pop(0)
    depth = min((len(line) - len(line.lstrip()) for line in kept), default=0)
    return [line[depth:] for line in kept]


def _without_empty(lines: list[str]) -> list[str]:
    """Drop headings with nothing left below them, and blank lines that follow another."""
    kept: list[str] = []
    for line in reversed(lines):
        heading = _HEADING.match(line)
        below = next((one for one in reversed(kept) if one.strip()), None)
        deeper = _HEADING.match(below) if below else None
        if heading and (below is None or (deeper and len(deeper[1]) <= len(heading[1]))):
            continue
        if line.strip() or (kept and kept[-1].strip()):
            kept.append(line)
    return kept[::-1]


def _titled(lines: list[str], title: str) -> str:
    text = "\n".join(lines).strip()
    return f"{text}\n" if text.startswith("# ") else f"# {title}\n\n{text}\n" if text else f"# {title}\n"
