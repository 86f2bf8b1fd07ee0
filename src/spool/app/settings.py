"""The settings in force for a project, and where each value came from."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from spool.domain.settings import Layer, Resolved, Settings, merge
from spool.host.state.config import PROJECT_FILE, read_layers, user_file

__all__ = ["PROJECT_FILE", "load_settings", "resolve_settings", "user_file"]


def resolve_settings(
    root: Path | None, flags: Mapping[str, Any], *, flag: Callable[[str], str] = lambda name: name
) -> Resolved:
    """Return the settings in force, with the origin of each; `flag` names a flag as it is typed."""
    layers = read_layers(root, os.environ)
    layers += [Layer(flag(name), {name: value}) for name, value in flags.items()]
    return merge(layers)


def load_settings(root: Path | None, flags: Mapping[str, Any]) -> Settings:
    """Return the settings in force."""
    return resolve_settings(root, flags).settings
