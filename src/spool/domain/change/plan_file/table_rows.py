"""Reads the tasks of a Markdown table."""

import re

from spool.domain.change.plan_file.marks import mark_of_status, split_mark
from spool.domain.change.plan_file.plan import PlanItem

_NAMES = ("task", "step", "item", "todo", "to do", "to-do", "action", "work item", "story", "user story", "feature")
_WEAK_NAMES = ("title", "name", "description", "summary", "what", "deliverable")
_STATUS = ("status", "state", "done", "done?", "complete", "completed", "progress", "✓", "✔", "✅", "x", "[ ]")
_GROUP = ("phase", "milestone", "epic", "sprint", "group", "area", "module", "section", "stage", "component")
_ID = ("#", "id", "no", "no.", "nr", "nr.", "number")
_DOTTED = re.compile(r"\d+(?:\.\d+)+")

Row = tuple[int, list[str]]
"""A line number and the cells in it."""


def table_items(head: list[str], rows: list[Row]) -> list[PlanItem]:
    """Return the tasks of a table; none if no column holds tasks."""
    names = [cell.strip("*_` ").lower().rstrip(":") for cell in head]
    status = _column(names, _STATUS)
    boxed = any(split_mark(cell)[0] is not None for _, cells in rows for cell in cells)
    task = _column(names, _NAMES)
    if task is None and (status is not None or boxed):
        task = _column(names, _WEAK_NAMES)
    if task is None:
        return []
    number, group = _column(names, _ID), _column(names, _GROUP)
    found: list[PlanItem] = []
    for line, cells in rows:
        mark, text = _mark(cells, task, status)
        if text:
            named = _cell(cells, group) or (found[-1].group if found else "")
            found.append(PlanItem(text=_numbered(text, _cell(cells, number)), mark=mark, line=line, group=named))
            found[-1].in_table = True
    return found


def _mark(cells: list[str], task: int, status: int | None) -> tuple[str | None, str]:
    mark, text = split_mark(_cell(cells, task))
    if mark is None and status is not None:
        return mark_of_status(_cell(cells, status)), text
    if mark is None:  # a box in a column without a name
        mark = next((one for cell in cells for one, rest in [split_mark(cell)] if one is not None and not rest), None)
    return mark, text


def _column(names: list[str], wanted: tuple[str, ...]) -> int | None:
    for name in wanted:
        for at, found in enumerate(names):
            if found in (name, f"{name}s"):
                return at
    return None


def _cell(cells: list[str], at: int | None) -> str:
    return cells[at].strip() if at is not None and at < len(cells) else ""


def _numbered(text: str, number: str) -> str:
    return f"{number} {text}" if _DOTTED.fullmatch(number) and not text.startswith(number) else text
