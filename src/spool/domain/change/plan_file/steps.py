"""Finds the steps of a plan whose steps are headings with prose below them, and nothing is in a list.

Any text has headings, so only those count that say that they are steps: `Step 1: …`, or those below *Steps*.
"""

import re

from spool.domain.change.plan_file.headings import announces_work, is_background
from spool.domain.change.plan_file.marks import is_struck
from spool.domain.change.plan_file.plan import PlanItem, PlanSection

_STEP = re.compile(
    r"\W*(?:\d+[.)]\s+)?(?:step|task|phase|stage|milestone|story|epic|sprint|iteration|ticket|schritt|aufgabe)\s+"
    r"#?(?:\d|[A-Z](?=[:.)\s]*$|[:.)]))",
    re.IGNORECASE,
)
_VAGUE = re.compile(r"(?:\d+[.)]?\s+)?implementation", re.IGNORECASE)
_TICKS = " ✅✔☑\ufe0f"
_FEWEST = 2


def heading_steps(sections: list[PlanSection]) -> list[PlanSection]:
    """Return the sections that are steps, the innermost ones; none if there are not at least two."""
    named = [section for section in sections if section.level and _is_step(section)]
    steps = [one for one in named if not any(one.line < other.line <= one.end for other in named)]
    listed = any(section.items for section in sections for one in steps if one.line <= section.line <= one.end)
    return steps if len(steps) >= _FEWEST and not listed else []


def as_item(section: PlanSection) -> PlanItem:
    """Return the one task of a step: its heading, with all that stands below it. A sign at the end means done."""
    text = section.title.rstrip(_TICKS)
    mark = "x" if text != section.title or is_struck(text) else None
    return PlanItem(text=text, mark=mark, line=section.line, end=section.end, in_heading=True)


def _is_step(section: PlanSection) -> bool:
    if is_background(section.title):
        return False
    around = section.above[-1] if section.above else ""
    # Designs have a section "Implementation" too, with prose about each part.
    return _STEP.match(section.title) is not None or (announces_work(around) and not _VAGUE.fullmatch(around))
