"""The values of a plan file."""

import msgspec


class PlanTask(msgspec.Struct, frozen=True):
    """One task of a plan, and the line that it is on."""

    text: str
    mark: str
    line: int
    in_table: bool = False
    end: int = 0
    """The last line of the item, with all that stands below it."""
    in_heading: bool = False


class PlanStory(msgspec.Struct, frozen=True):
    """The tasks under one heading."""

    title: str
    tasks: tuple[PlanTask, ...]
    criteria: tuple[str, ...] = ()
    """Its acceptance criteria, where they are not its tasks."""
    around: str = ""
    """The heading around it, which distinguishes it from another of the same title."""


class PlanItem(msgspec.Struct, kw_only=True):
    """A list item, or a row of a table, before it is known which of them are tasks."""

    text: str
    mark: str | None
    """None without a box."""
    line: int
    end: int = 0
    block: int = 0
    """The first line of the list that it is in."""
    ordered: bool = False
    struck: bool = False
    group: str = ""
    """The group that a table names in a column of its own."""
    in_table: bool = False
    in_heading: bool = False
    """Whether it is a heading, with prose below it."""
    children: list["PlanItem"] = []


class PlanSection(msgspec.Struct, kw_only=True):
    """A heading and the items directly under it."""

    title: str
    above: tuple[str, ...] = ()
    """The headings around it, outermost first, without the title of the whole plan."""
    level: int = 0
    """0 for what stands before any heading, and under the title of the whole plan."""
    line: int = 0
    end: int = 0
    """The last line of what stands below its heading, with the headings inside of it."""
    bold: bool = False
    """Whether its heading is a bold line or the like, not a heading of Markdown."""
    items: list[PlanItem] = []
    checks: list[PlanItem] = []
    """The items under a heading inside of it that says how it is checked."""
