"""Finds a harness by name: built in, from the settings, or from another package's entry point."""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import msgspec

from spool.decoders import converted
from spool.domain.text.plain_text import did_you_mean, one_line
from spool.engine.ports import Harness
from spool.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

ENTRY_POINTS = "spool.harnesses"
BUILT_IN = ("claude", "codex", "opencode", "gemini", "copilot", "qwen", "aider", "pi")
"""The modules of this package with an agent; `spool init` proposes the first one that is installed."""

SCRIPTED = "scripted"
AGENTS = frozenset(BUILT_IN)
"""The agents that Spool knows; a repository may choose among them. The scripted one runs what its script says."""
Tables = Mapping[str, Mapping[str, Any]]
"""The `[harnesses.NAME]` tables of the settings."""


def names(tables: Tables) -> list[str]:
    """Return the names that `find` accepts."""
    added = {found.name for found in _added()}
    return sorted({*BUILT_IN, SCRIPTED, *added, *(name for name, table in tables.items() if "argv" in table)})


def folders() -> tuple[str, ...]:
    """Return the patterns of what known agents keep in a project."""
    kept = (find(name, {}).traits.folder for name in BUILT_IN)
    return tuple(folder for folder in kept if folder)


def find(name: str, tables: Tables) -> Harness:
    """Return the harness with this name."""
    table = tables.get(name, {})
    if name in BUILT_IN:
        return cast(Harness, import_module(f"spool.harness.{name}").HARNESS)
    if name == SCRIPTED:
        from spool.harness.scripted import Scripted, ScriptedOptions

        return Scripted(_options(name, table, ScriptedOptions))
    if table or name == "command":
        from spool.harness.own_command import CommandOptions, command

        return command(name, _options(name, table, CommandOptions))
    return _from_entry_point(name, tables)


def _from_entry_point(name: str, tables: Tables) -> Harness:
    for found in _added():
        if found.name == name:
            return cast(Harness, found.load()())
    known = names(tables)
    own = (
        'one of your own is a table of the settings: [harnesses.my-agent] argv = ["my-agent"]; the prompt is its input'
    )
    hint = did_you_mean(name, known) or f"known: {', '.join(known)}; {own}"
    raise UsageError(f"unknown harness '{one_line(name, 60)}'", hint=hint)


def _added() -> "EntryPoints":
    from importlib.metadata import entry_points  # 14 ms to import, and rarely needed

    return entry_points(group=ENTRY_POINTS)


def _options(name: str, table: Mapping[str, Any], kind: type[msgspec.Struct]) -> Any:
    try:
        return converted(dict(table), kind)
    except msgspec.ValidationError as error:
        hint = f"settings of a harness: {', '.join(kind.__struct_fields__)}"
        raise UsageError(f"invalid settings for harness '{name}': {error}", hint=hint) from None
