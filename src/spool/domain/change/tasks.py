"""Parses the boxes of tasks.md.

There are two formats. In the plain one a task is `- [ ] 1.1 text` under a `##` group. In the enhanced one it is a
section `### Task 1.1: name` with bold fields, whose Status is the box: `- **Status**: [ ] pending`.
"""

import re

import msgspec

BOXLESS = "."
"""The mark of a plan's item without a box: open until its story is accepted."""
_BOX = re.compile(r"^([ \t]*)(?:[-*+]|\d+[.)])[ \t]+\[([ xX?~.-])\](?:[ \t]+(.*))?$")
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.*?)[ \t]*#*$")
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})(.*)$")
_COMMENT, _COMMENT_END = "<!--", "-->"
_FIELD = re.compile(r"^[ \t]*[-*+][ \t]+\*\*([^*]+?):?\*\*:?[ \t]*(.*)$")
_STATUS = re.compile(r"\[([ xX?~-])\].*")
_AND = re.compile(r"\s*(?:[,;&]|\band\b)\s*")
_TASK_HEADING = re.compile(r"Task[ \t]+(.+)", re.IGNORECASE)


class Task(msgspec.Struct, frozen=True):
    """One box of a task list: `x` done, space open, `?` for a person, `-` and `~` shelved."""

    text: str
    mark: str
    line: int
    group: str = ""
    heading: str = ""
    """The name of the `### Task` section whose Status is this box."""
    details: tuple[tuple[str, str], ...] = ()

    @property
    def done(self) -> bool:
        """Whether the box is ticked."""
        return self.mark in "xX"

    @property
    def open(self) -> bool:
        """Whether the task is left for the agent: not ticked, not for a person, not shelved."""
        return self.mark in (" ", BOXLESS)

    @property
    def boxless(self) -> bool:
        """Whether it is open and has no box to tick."""
        return self.mark == BOXLESS


class Boxes(msgspec.Struct, frozen=True, kw_only=True):
    """The number of ticked and all boxes."""

    done: int
    total: int


class GroupNotes(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan says of a group beside its tasks."""

    id: str = ""
    """Its own id; empty where its number or place is one."""
    title: str = ""
    needs: tuple[str, ...] = ()
    """The groups that it depends on, as written: by id, number or title."""
    criteria: tuple[str, ...] = ()
    """The acceptance criteria, which are not tasks."""


class TaskList(msgspec.Struct, frozen=True):
    """The boxes of one tasks.md, in order."""

    tasks: tuple[Task, ...] = ()
    notes: dict[str, GroupNotes] = {}
    """By group."""
    title: str = ""
    """The title of the plan, where it has one."""

    @property
    def open(self) -> tuple[Task, ...]:
        """The boxes left for the agent."""
        return tuple(task for task in self.tasks if task.open)

    @property
    def done_count(self) -> int:
        """The number of ticked boxes."""
        return sum(task.done for task in self.tasks)

    @property
    def boxes(self) -> Boxes:
        """The count of its boxes."""
        return Boxes(done=self.done_count, total=len(self.tasks))

    @property
    def accepted(self) -> Boxes:
        """The count of its boxes once the work is accepted, which ends the tasks without a box."""
        return Boxes(done=sum(task.done or task.boxless for task in self.tasks), total=len(self.tasks))

    @property
    def text(self) -> str:
        """The list as a tasks.md."""
        groups: dict[str, list[str]] = {}
        for task in self.tasks:
            groups.setdefault(task.group, []).append(f"- [{task.mark}] {' '.join(task.text.split())}\n")
        return "\n".join((f"## {name}\n\n" if name else "") + "".join(lines) for name, lines in groups.items())

    @property
    def complete(self) -> bool:
        """Whether the work is done: some box is ticked and none is open."""
        return any(task.done for task in self.tasks) and not self.open


def parse_tasks(text: str) -> TaskList:
    """Parse the boxes of a tasks.md. Boxes inside a fence or a comment do not count, unless it never closes."""
    lines = text.removeprefix("\ufeff").splitlines()
    fenced = fenced_lines(lines)
    reading = _TaskPosition()
    for number, line in enumerate(lines, 1):
        if number not in fenced:
            reading.take(number, line)
    reading.close_section()
    return TaskList(tuple(reading.tasks), reading.notes)


class _TaskPosition:
    """The parser's position: its group and its task section."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []
        self.notes: dict[str, GroupNotes] = {}
        self._group = ""
        self._section = ""
        self._status = (" ", 0)
        self._details: list[tuple[str, str]] = []

    def take(self, number: int, line: str) -> None:
        """Parse one line."""
        if heading := _HEADING.match(line):
            self._enter(number, len(heading[1]), heading[2])
        elif field := _FIELD.match(line):
            self._note(number, field[1], field[2].strip())
        elif box := _BOX.match(line):
            if not self._section:
                self.tasks.append(Task(text=(box[3] or "").strip(), mark=box[2], line=number, group=self._group))
        elif self._details and line.strip():
            name, value = self._details[-1]
            self._details[-1] = (name, f"{value}\n{line.strip()}".strip())

    def close_section(self) -> None:
        """End a `### Task` section: its Status is its box; without a Status it is open."""
        if self._section:
            mark, line = self._status
            self.tasks.append(
                Task(
                    text=self._section,
                    mark=mark,
                    line=line,
                    group=self._group,
                    heading=self._section,
                    details=tuple(self._details),
                )
            )
        self._section, self._details = "", []

    def _enter(self, number: int, level: int, title: str) -> None:
        self.close_section()
        if level == 2:
            self._group, number_of = title, 2
            while any(task.group == self._group for task in self.tasks):  # equal headings are two groups
                self._group, number_of = f"{title} ({number_of})", number_of + 1
        elif level == 3 and (task := _TASK_HEADING.fullmatch(title)):
            self._section, self._status = task[1], (" ", number)

    def _note(self, number: int, name: str, value: str) -> None:
        if self._section and name.lower() == "status" and (status := _STATUS.fullmatch(value)):
            self._status = (status[1], number)
        elif self._section:
            self._details.append((name, value))
        elif name.lower() == "depends on":
            self.notes[self._group] = GroupNotes(needs=tuple(_AND.split(value)))


def fenced_lines(lines: list[str]) -> set[int]:
    """Return the lines inside fences and comments, each with its first and last."""
    fenced: set[int] = set()
    opened, mark = 0, ""
    for number, line in enumerate(lines, 1):
        fence = _FENCE.match(line)
        if not opened and line.lstrip().startswith(_COMMENT):
            opened, mark = number, _COMMENT
        elif not opened and fence:
            opened, mark = number, fence[1]
        closed = _COMMENT_END in line if mark == _COMMENT else number > opened and fence and _closes(fence, mark)
        if opened and closed:
            fenced.update(range(opened, number + 1))
            opened, mark = 0, ""
    return fenced


def _closes(fence: re.Match[str], mark: str) -> bool:
    return fence[1].startswith(mark) and not fence[2].strip()
