"""`spool trust`: shows which settings of the repository need trust, and grants or withdraws it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from spool.app.machine.trusted_settings import TrustReport, grant, require_trust, trust_report, withdraw
from spool.app.starting.effective_settings import PROJECT_FILE, resolve_settings, root_here
from spool.domain.loop.settings import Layer, Resolved
from spool.domain.text.plain_text import counted
from spool.errors import Untrusted, UsageError
from spool.views.say import json_text, say, say_json


@click.command("trust")
@click.option("--grant", "granting", is_flag=True, help="Let the settings count as they are now.")
@click.option("--withdraw", "withdrawing", is_flag=True, help="Trust nothing of this repository any more.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.help_option("-h", "--help")
def trust(granting: bool, withdrawing: bool, as_json: bool) -> None:
    """Show which settings of this repository need your trust, and whether they have it.

    Settings in .spool/config.toml that run a program, widen permissions or reach outside the tree count only once you
    have trusted their values. A changed value is a new one. Your own settings, variables and flags need no trust.
    """
    if granting and withdrawing:
        raise UsageError("--grant and --withdraw cannot be used together")
    root = root_here() or Path.cwd()
    gone = withdraw(root) if withdrawing else False
    report = grant(root) if granting else trust_report(root)
    if as_json:
        say_json(report)
        return
    if withdrawing:
        say(f"Withdrawn: nothing of {root} is trusted." if gone else f"Nothing of {root} was trusted.")
    _show(report)


def settings_to_start(root: Path, given: Iterable[Layer] = (), *, ask: bool) -> Resolved:
    """Return the settings for something that starts; ask for trust that is missing, or raise Untrusted."""
    resolved = resolve_settings(root, given)
    try:
        return require_trust(root, resolved)
    except Untrusted as error:
        if not ask or not _agrees(root, error.values):
            raise
        grant(root, error.values)
        return resolved


def _agrees(root: Path, values: dict[str, Any]) -> bool:
    say(f"{root / PROJECT_FILE} asks for:", err=True)
    say(*(f"  {name} = {json_text(value)}" for name, value in values.items()), err=True)
    say("They can run programs and widen what the agent may do.", err=True)
    return click.confirm("Trust these values?", default=False, err=True)


def _show(report: TrustReport) -> None:
    if not report.asked:
        say(f"{report.root} asks for nothing that needs trust.")
        return
    width = max(len(one.name) for one in report.asked)
    for one in report.asked:
        say(f"{'trusted' if one.trusted else 'not trusted':<11}  {one.name:<{width}}  {json_text(one.value)}")
    if report.by_path:
        say("SPOOL_TRUSTED_PATHS trusts this directory.", err=True)
    elif missing := len(report.untrusted):
        say(f"Not trusted: {counted(missing, 'setting')}. Loops do not start until you run:", err=True)
        say("  spool trust --grant", err=True)
