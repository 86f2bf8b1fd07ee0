"""What a plan file holds, as values."""

import msgspec


class PlanTask(msgspec.Struct, frozen=True):
    """One task of a plan, and the line that it is on."""

    text: str
    mark: str
    line: int
    in_table: bool = False


class PlanStory(msgspec.Struct, frozen=True):
    """The tasks under one heading."""

    title: str
    tasks: tuple[PlanTask, ...]


class PlanItem(msgspec.Struct, kw_only=True):
    """A list item, or a row of a table, before it is known which of them are tasks."""

    text: str
    mark: str | None
    """None without a box."""
    line: int
    group: str = ""
    """The group that a table names in a column of its own."""
    in_table: bool = False
    children: list["PlanItem"] = []


class PlanSection(msgspec.Struct, kw_only=True):
    """A heading and the items directly under it."""

    title: str
    above: tuple[str, ...] = ()
    """The headings around it, outermost first, without the title of the whole plan."""
    level: int = 0
    label: bool = False
    """Whether its heading is a bold line or the like, not a heading of Markdown."""
    items: list[PlanItem] = []
