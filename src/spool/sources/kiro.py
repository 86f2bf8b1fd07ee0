"""Kiro: `.kiro/specs/NAME/tasks.md`. Top-level numbers are stories, sub-numbers tasks; requirements.md is quoted."""

import re
from collections.abc import Iterator, Mapping

import msgspec

from spool.domain.change.tasks import GroupNotes, Task, TaskList, fenced_lines
from spool.sources.markdown import parse_markdown
from spool.sources.plan_format import PlanFormat
from spool.sources.source import Acceptance

_BOX = re.compile(r"[ \t]*[-*+][ \t]+\[([ xX~-])\](\*?)[ \t]+(\d+(?:\.\d+)*)[.)]?[ \t]+(.*)")
_REQUIREMENTS = re.compile(r"_?Requirements?:\s*([\d., ]+)")
_HEADING = re.compile(r"#+\s+Requirement\s+(\d+)\s*[:.-]?\s*(.*)", re.IGNORECASE)
_CRITERION = re.compile(r"\s*(\d+)[.)]\s+(.*)")
_TITLE = re.compile(r"^#[ \t]+(.+)$", re.MULTILINE)
_OPTIONAL = "-"
"""The mark of an optional task that is open: it may be ticked, and need not be."""


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    """A numbered box, and what stands below it."""

    number: str
    text: str
    mark: str
    line: int
    below: tuple[str, ...]

    @property
    def story(self) -> str:
        """The number of its story."""
        return self.number.partition(".")[0]


def parse_kiro(text: str, beside: Mapping[str, str]) -> TaskList:
    """Read the numbered boxes; a plan without numbers is read as any other."""
    boxes = list(_boxes(text))
    if not boxes:
        return parse_markdown(text, beside)
    quotes = dict(_criteria(beside.get("requirements.md", "")))
    titles = {one.story: one.text for one in boxes if one.number == one.story}
    parents = {one.story for one in boxes if one.number != one.story}
    tasks: list[Task] = []
    notes: dict[str, GroupNotes] = {}
    for one in boxes:
        group = f"{one.story}. {titles.get(one.story, 'Tasks')}"
        said = ", ".join(found for line in one.below for found in _REQUIREMENTS.findall(line))
        told = re.findall(r"[\d.]*\d", said)
        known = notes.get(group, GroupNotes())
        criteria = (*known.criteria, *(f"{number} {quotes[number]}" for number in told if number in quotes))
        notes[group] = GroupNotes(criteria=tuple(dict.fromkeys(criteria)))
        if one.number != one.story or one.story not in parents:
            details = (("Details", "\n".join(one.below)),) if one.below else ()
            tasks.append(Task(f"{one.number} {one.text}", one.mark, one.line, group, details=details))
    titled = _TITLE.search(text)
    return TaskList(tuple(tasks), notes, titled[1].strip() if titled else "")


def record_kiro(text: str, accepted: Acceptance) -> str:
    """Return the text in which the box around the tasks of an accepted story is ticked."""
    lines = text.split("\n")
    for one in _boxes(text):
        if one.number == accepted.story.id and one.mark == " ":
            lines[one.line - 1] = lines[one.line - 1].replace("[ ]", "[x]", 1)
    return "\n".join(lines)


KIRO = PlanFormat(
    kind="Kiro",
    owns=r"(?:.*/)?\.kiro/specs/[^/]+/tasks\.md",
    places=((".kiro/specs/*", r"tasks\.md"),),
    parse=parse_kiro,
    beside=("requirements.md", "design.md"),
    recorder=record_kiro,
)


def _boxes(text: str) -> Iterator[_Line]:
    lines = text.split("\n")
    fenced = fenced_lines(lines)
    found = [(at, box) for at, line in enumerate(lines, 1) if at not in fenced and (box := _BOX.match(line))]
    ends = [*(at for at, _ in found[1:]), len(lines) + 1]
    for (at, box), following in zip(found, ends, strict=False):
        mark = box[1].lower()
        below = (line.strip() for line in lines[at : following - 1])
        yield _Line(
            number=box[3],
            text=box[4].strip() + (" (optional)" if box[2] else ""),
            mark=_OPTIONAL if box[2] and mark == " " else mark,
            line=at,
            below=tuple(line for line in below if line and not line.startswith("#")),
        )


def _criteria(text: str) -> Iterator[tuple[str, str]]:
    """Yield the acceptance criteria of requirements.md by number, and each requirement's title."""
    requirement = ""
    for line in text.splitlines():
        if heading := _HEADING.match(line):
            requirement = heading[1]
            yield requirement, heading[2].strip()
        elif requirement and (criterion := _CRITERION.match(line)):
            yield f"{requirement}.{criterion[1]}", criterion[2].strip()
