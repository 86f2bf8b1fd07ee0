"""Reads tasks.md: which boxes there are, and which are ticked."""

import re

import msgspec

_BOX = re.compile(r"^([ \t]*)(?:[-*+]|\d+[.)])[ \t]+\[([ xX?~-])\](?:[ \t]+(.*))?$")
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.*?)[ \t]*#*$")
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})(.*)$")


class Task(msgspec.Struct, frozen=True):
    """One box of a task list: `x` done, space open, `?` a person's, `-` and `~` shelved."""

    text: str
    mark: str
    line: int
    group: str = ""

    @property
    def done(self) -> bool:
        """Whether the box is ticked."""
        return self.mark in "xX"

    @property
    def open(self) -> bool:
        """Whether the box waits for the agent: neither ticked, nor a person's, nor shelved."""
        return self.mark == " "


class TaskList(msgspec.Struct, frozen=True):
    """The boxes of one tasks.md, in order."""

    tasks: tuple[Task, ...] = ()

    @property
    def open(self) -> tuple[Task, ...]:
        """The boxes that wait for the agent."""
        return tuple(task for task in self.tasks if task.open)

    @property
    def done_count(self) -> int:
        """How many boxes are ticked."""
        return sum(task.done for task in self.tasks)

    @property
    def complete(self) -> bool:
        """Whether the work is done: there is a box, and none is open. A list without a box is not done."""
        return any(task.done for task in self.tasks) and not self.open


def parse_tasks(text: str) -> TaskList:
    """Read the boxes of a tasks.md. Boxes inside a fence do not count, unless the fence never closes."""
    lines = text.removeprefix("\ufeff").splitlines()
    fenced = _fenced_lines(lines)
    tasks, group = [], ""
    for number, line in enumerate(lines, 1):
        if number in fenced:
            continue
        if heading := _HEADING.match(line):
            group = heading[2] if len(heading[1]) == 2 else group
        elif box := _BOX.match(line):
            tasks.append(Task(text=(box[3] or "").strip(), mark=box[2], line=number, group=group))
    return TaskList(tuple(tasks))


def _fenced_lines(lines: list[str]) -> set[int]:
    fenced: set[int] = set()
    opened, mark = 0, ""
    for number, line in enumerate(lines, 1):
        fence = _FENCE.match(line)
        if fence is None:
            continue
        if not opened:
            opened, mark = number, fence[1]
        elif fence[1].startswith(mark) and not fence[2].strip():
            fenced.update(range(opened, number + 1))
            opened = 0
    return fenced
