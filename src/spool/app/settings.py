"""Loads the effective settings of a project and the origin of each."""

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
    """Return the effective settings with the origin of each; `flag` returns the flag for a setting."""
    layers = read_layers(root, os.environ)
    layers += [Layer(flag(name), {name: value}) for name, value in flags.items()]
    return merge(layers)


def load_settings(root: Path | None, flags: Mapping[str, Any]) -> Settings:
    """Return the effective settings."""
    return resolve_settings(root, flags).settings
