"""Runs the program of a format of plans, where it has one."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from spool.errors import UsageError
from spool.host.external_command import Completed, run_command
from spool.sources.registry import tool_of
from spool.sources.source import FormatTool, Run, installed


def tool_runner(tool: FormatTool, directory: Path, *, timeout_s: float) -> Run:
    """Return what runs a format's program in a directory."""

    async def run(words: Sequence[str]) -> Completed:
        program = shutil.which(tool.name) or tool.name
        return await run_command([program, *words], directory=directory, timeout_s=timeout_s, env=tool.env | os.environ)

    return run


def usable_tool(kind: str, directory: Path, *, timeout_s: float) -> tuple[FormatTool, Run] | None:
    """Return the program of a format with what runs it; None if there is none, or it is not installed."""
    tool = tool_of(kind)
    return (tool, tool_runner(tool, directory, timeout_s=timeout_s)) if tool and installed(tool) else None


def require_tool(tool: FormatTool, why: str, hint: str = "") -> None:
    """Raise a UsageError if a program is not installed."""
    if not installed(tool):
        raise UsageError(f"{tool.name} is not installed: {why}", hint=hint or f"install {tool.name}")
