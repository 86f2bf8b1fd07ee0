"""Loads the effective settings of a project and the origin of each."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from spool.domain.loop.settings import Layer, Resolved, merge
from spool.errors import UsageError
from spool.host.state.config_files import PROJECT_FILE, read_layers, user_file
from spool.sources.project import find_project

__all__ = ["PROJECT_FILE", "resolve_settings", "root_here", "user_file"]


def resolve_settings(root: Path | None, given: Iterable[Layer] = ()) -> Resolved:
    """Return the effective settings with the origin of each; those given with a command override the others."""
    return merge([*read_layers(root, os.environ), *given])


def root_here() -> Path | None:
    """Return the root of the project around the current directory, if there is one."""
    with suppress(UsageError):
        return find_project(Path.cwd()).root
    return None
