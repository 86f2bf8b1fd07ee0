"""The formats of plans, in the order in which an id is looked up."""

from spool.sources.change_folders import OWN
from spool.sources.kiro import KIRO
from spool.sources.markdown import MARKDOWN
from spool.sources.openspec import OPENSPEC
from spool.sources.prd import PRD
from spool.sources.source import FormatTool, Source
from spool.sources.spec_kit import SPEC_KIT

FOLDERS = (OWN, OPENSPEC)
"""Formats whose changes are folders with an id."""
FILES: tuple[Source, ...] = (PRD, KIRO, SPEC_KIT, MARKDOWN)
"""Formats whose plan is a file; the first that claims a path reads it."""
SOURCES: tuple[Source, ...] = (*FOLDERS, *FILES)
TOOLS: dict[str, FormatTool] = {one.tool.name: one.tool for one in SOURCES if one.tool is not None}
"""The programs of formats, by the name of their gate."""


def tool_of(kind: str) -> FormatTool | None:
    """Return the program of a format; None if it has none."""
    return next((one.tool for one in SOURCES if one.kind == kind), None)
