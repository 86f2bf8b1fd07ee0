"""`spool undo`: brings the working tree back to where a story or a run began."""

import click

from spool.app.loops.undo_run import Undone
from spool.app.loops.undo_run import undo as undo_work
from spool.cli.options.target import complete_loop, on_terminal
from spool.domain.loop.checkpoint import Undo
from spool.domain.text.plain_text import clean, counted, one_line
from spool.errors import UsageError
from spool.views.live.estimates import WorkLine
from spool.views.say import say
from spool.views.words import moment

_SHOWN = 10


@click.command("undo")
@click.argument("change", required=False, shell_complete=complete_loop)
@click.option("--run", is_flag=True, help="Go back to where the run began, not the story.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.help_option("-h", "--help")
def undo(change: str | None, run: bool, yes: bool) -> int:
    """Bring the working tree back to where the story began, whatever its attempts did since.

    Without CHANGE, this is the loop that ran here last. The tree that is replaced is kept for 14 days. HEAD moves only
    over commits of the loop that no other branch, tag or remote holds.
    """
    with WorkLine() as line:
        done = undo_work(change, run=run, agrees=lambda plan: _agrees(plan, yes=yes), pace=line.advance)
    return _report(done)


def _agrees(plan: Undo, *, yes: bool) -> bool:
    begun = plan.begun
    say(f"{begun.change}: back to the beginning of {one_line(begun.label, 100)}, {moment(begun.began_at)}", err=True)
    for verb, names in (("restore", plan.back), ("rewrite", plan.changed), ("remove", plan.removed)):
        for name in names[:_SHOWN]:
            say(f"  {verb}  {clean(name)}", err=True)
        if len(names) > _SHOWN:
            say(f"  {verb}  {len(names) - _SHOWN} more", err=True)
    if plan.commits:
        say(f"  HEAD moves back over {counted(len(plan.commits), 'commit')} of this loop", err=True)
    for why in plan.staying:
        say(f"  HEAD stays, only files change: {clean(why)}", err=True)
    if yes:
        return True
    if not on_terminal():
        raise UsageError("--yes is required in non-interactive mode", hint="it goes back without asking")
    return click.confirm("Go back?", default=False, err=True)


def _report(done: Undone) -> int:
    what = f"the beginning of {one_line(done.plan.begun.label, 100)}"
    if not done.plan.needed:
        say(f"The working tree is as it was at {what}.")
        return 0
    if not done.done:
        say("Nothing was changed.", err=True)
        return 1
    say(f"Back at {what}.")
    if done.kept is not None:
        say(f"The previous tree is kept for 14 days: spool checkpoint restore {done.kept.name}")
        for warning in done.kept.warnings:
            say(f"warning: {warning}", err=True)
    return 0
