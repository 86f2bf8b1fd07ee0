"""The forms that `--control` adds: stop a loop, and add a note to its next prompts."""

from spool.domain.loop.summary import LoopSummary
from spool.web.links import Links


def control_forms(loop: LoopSummary, links: Links) -> str:
    """Return the forms for a loop; only a running one can be stopped."""
    stop = (
        f'<form method="post" action="{links.act(loop, "stop")}"><p>'
        '<button type="submit" class="bad">Stop this loop</button> '
        "<small>The agent is ended; nothing is lost, and the same command continues.</small></p></form>"
    )
    note = (
        f'<form method="post" action="{links.act(loop, "note")}">'
        '<p><label for="note">Note for all later prompts</label></p>'
        '<textarea id="note" name="note" rows="3" required></textarea>'
        '<p><button type="submit">Add the note</button></p></form>'
    )
    return f"<details><summary>Control</summary>{stop if loop.running else ''}{note}</details>"
