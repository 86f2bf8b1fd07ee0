"""`spool config`: shows the effective settings and the origin of each."""

from collections.abc import Mapping
from pathlib import Path

import click

from spool.app.machine.trusted_settings import trust_report
from spool.app.starting.effective_settings import PROJECT_FILE, resolve_settings, root_here, user_file
from spool.domain.judging.gates.gate import GateSpec
from spool.domain.loop.settings import DURATIONS, NAMES, TABLES
from spool.domain.text.plain_text import one_line
from spool.views.say import json_text, say, say_json
from spool.views.tables import room, table

_NARROW = 80


@click.command("config")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def config(as_json: bool) -> None:
    """Show the effective settings and the origin of each value.

    Settings come from .spool/config.toml, your own config.toml, SPOOL_* variables and flags; later ones win.
    """
    root = root_here()
    resolved = resolve_settings(root)
    untrusted = trust_report(root, resolved).untrusted if root else {}
    values = {name: getattr(resolved.settings, name) for name in NAMES}
    if as_json:
        rows = {name: {"value": value, "origin": resolved.origins[name]} for name, value in values.items()}
        tables = {"prices": resolved.settings.prices, "harnesses": resolved.settings.harnesses}
        say_json({**rows, **tables}, indent=2)
        return
    head, width = ("setting", "value"), room()
    cells = [(name, one_line(_shown(name, value), max(20, min(width - 26, 200)))) for name, value in values.items()]
    origins = [f"{resolved.origins[name]}{_note(name, untrusted)}" for name in NAMES]
    notes = ["" if origin == "default" and width < _NARROW else origin for origin in origins]
    say(*table(head, cells, width=width, left=head, notes=notes, noted="from"))
    if resolved.settings.prices or resolved.settings.harnesses:
        say("")
    for model, price in resolved.settings.prices.items():
        say(f"[prices.{model}]  {json_text(price)}")
    for name, harness in resolved.settings.harnesses.items():
        say(f"[{TABLES}.{name}]  {json_text(harness)}{_note(f'{TABLES}.{name}', untrusted)}")
    say("", f"Files: {(root or Path()) / PROJECT_FILE}", f"       {user_file()}", err=True)


def _note(name: str, untrusted: Mapping[str, object]) -> str:
    return "  (not trusted: spool trust)" if name in untrusted else ""


def _shown(name: str, value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, tuple):
        return ", ".join(one.name if isinstance(one, GateSpec) else str(one) for one in value)
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g} s" if name in DURATIONS else str(value)
