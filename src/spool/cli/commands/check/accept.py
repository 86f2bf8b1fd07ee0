"""`spool accept`: accepts work that only a person can judge."""

import sys

import click

from spool.app.verifying.acceptance import Question
from spool.app.verifying.acceptance import accept as accept_work
from spool.cli.options.target import complete_loop
from spool.domain.text.plain_text import clean
from spool.errors import UsageError
from spool.views.say import say


@click.command("accept")
@click.argument("change", required=False, shell_complete=complete_loop)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.help_option("-h", "--help")
def accept(change: str | None, yes: bool) -> int:
    """Accept work that needs you, as it is in the tree: old tests that must change, failures that may stay.

    Without CHANGE, this is the only loop of the repository that needs you. What changed in the tests is shown first.
    The acceptance holds for this tree alone, and is recorded with your name.
    """
    done = accept_work(change, lambda question: _agrees(question, yes=yes))
    if done is None:
        say("Nothing was accepted.", err=True)
        return 1
    say(f"Accepted by {done.by}." + (f" Continue with: spool run {done.loop.change}" if done.continues else ""))
    return 0


def _agrees(question: Question, *, yes: bool) -> bool:
    say(f"{question.loop.change}: {clean(question.refused.name)}: {clean(question.refused.why)}", err=True)
    for line in clean(question.difference).splitlines():
        say(f"  {line}", err=True)
    if yes:
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("--yes is required in non-interactive mode", hint="it accepts without asking")
    return click.confirm("Accept this?", default=False, err=True)
