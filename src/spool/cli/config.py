"""`spool config`: shows the effective settings and the origin of each."""

from pathlib import Path

import click
import msgspec

from spool.app.settings import PROJECT_FILE, root_here, user_file
from spool.cli.target import resolve
from spool.domain.settings import DURATIONS, NAMES


@click.command("config")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def config(as_json: bool) -> None:
    """Show the effective settings and the origin of each value.

    Settings come from .spool/config.toml, your own config.toml, SPOOL_* variables and flags; later ones win.
    """
    root = root_here()
    resolved = resolve(root, {})
    values = {name: getattr(resolved.settings, name) for name in NAMES}
    if as_json:
        rows = {name: {"value": value, "origin": resolved.origins[name]} for name, value in values.items()}
        tables = {"prices": resolved.settings.prices, "harnesses": resolved.settings.harnesses}
        click.echo(msgspec.json.format(msgspec.json.encode({**rows, **tables}), indent=2).decode())
        return
    width = max(map(len, NAMES))
    shown = {name: _shown(name, value) for name, value in values.items()}
    value_width = max(map(len, shown.values()))
    for name in NAMES:
        click.echo(f"{name:<{width}}  {shown[name]:<{value_width}}  {resolved.origins[name]}")
    for model, price in resolved.settings.prices.items():
        click.echo(f"[prices.{model}]  {msgspec.json.encode(price).decode()}")
    for name, table in resolved.settings.harnesses.items():
        click.echo(f"[harnesses.{name}]  {msgspec.json.encode(table).decode()}")
    click.echo(f"\nFiles: {(root or Path()) / PROJECT_FILE}\n       {user_file()}", err=True)


def _shown(name: str, value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g} s" if name in DURATIONS else str(value)
