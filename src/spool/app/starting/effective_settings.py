"""Loads the effective settings of a project and the origin of each."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from spool.domain.loop.settings import Layer, Resolved, merge
from spool.errors import UsageError
from spool.host.state.config_files import PROJECT_FILE, read_layers, user_file
from spool.sources.project import find_project

__all__ = ["PROJECT_FILE", "resolve_settings", "root_here", "user_file"]


def resolve_settings(
    root: Path | None, flags: Mapping[str, Any], *, flag: Callable[[str], str] = lambda name: name
) -> Resolved:
    """Return the effective settings with the origin of each; `flag` returns the flag for a setting."""
    layers = read_layers(root, os.environ)
    layers += [Layer(flag(name), {name: value}) for name, value in flags.items()]
    return merge(layers)


def root_here() -> Path | None:
    """Return the root of the project around the current directory, if there is one."""
    with suppress(UsageError):
        return find_project(Path.cwd()).root
    return None
