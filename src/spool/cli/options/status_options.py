"""`--status`, `--add-context` and `--clear-context`. They start no loop, so they import little."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spool.domain.loop.summary import LoopKind, state_path
from spool.views.say import say


def show_or_add_context(door: LoopKind, given: Mapping[str, Any], root: Path, change: str) -> int:
    """Handle whichever of the three options was given and return the exit code."""
    if given["status"]:
        from spool.app.loops.loop_list import report
        from spool.views.loop_status import show_report

        show_report(report(root, door, change), as_json=given["as_json"])
        return 0
    from spool.app.loops.notes import add_note, clear_notes

    state = Path(state_path(str(root), door, change))
    if given["clear_context"]:
        clear_notes(state)
        say(f"Cleared the context of {change}.")
    else:
        add_note(state, given["add_context"])
        clear = f"spool {door} --clear-context --change {change}"
        say(f"Added to the context of {change}; every later prompt includes it. To remove it: {clear}")
    return 0
