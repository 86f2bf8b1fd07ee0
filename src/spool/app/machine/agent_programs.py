"""Finds the programs of the agents."""

import shutil

from spool.domain.loop.settings import Settings
from spool.engine.ports import Harness
from spool.errors import NotInstalled
from spool.harness import registry


def installed(settings: Settings) -> list[str]:
    """Return the names of the agents that are installed."""
    tables = settings.harnesses
    return [name for name in registry.names(tables) if shutil.which(registry.find(name, tables).traits.program)]


def usable(settings: Settings) -> list[str]:
    """Return the installed agents that can do work: without the scripted one, with those of the settings."""
    return [name for name in installed(settings) if name != registry.SCRIPTED]


def require_program(harness: Harness, settings: Settings) -> str:
    """Return the path of an agent's program; raise NotInstalled if there is none."""
    program = harness.traits.program
    path = shutil.which(program)
    if path is None:
        raise NotInstalled(
            f"{program} is not installed, or not on PATH",
            hint=f"install it: {harness.traits.install}",
            others=tuple(usable(settings)),
        )
    return path
