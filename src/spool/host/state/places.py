"""The user's own directories."""

import hashlib
import os
from pathlib import Path

from spool.errors import SpoolError


def user_config(application: str = "spool") -> Path:
    """Return the user's configuration directory."""
    return _place("user_config_path", application)


def user_state() -> Path:
    """Return the user's own state directory, out of reach of an agent in the tree."""
    return _place("user_state_path", "spool")


def user_data() -> Path:
    """Return the user's data directory, for clones."""
    return _place("user_data_path", "spool")


def user_cache() -> Path:
    """Return the user's cache directory, for what can be made again."""
    return _place("user_cache_path", "spool")


def path_key(path: str | Path) -> str:
    """Return a file name for what is kept about a path."""
    return hashlib.sha256(os.fsencode(Path(path).resolve())).hexdigest()[:16]


def _place(kind: str, application: str) -> Path:
    import platformdirs  # 5 ms to import, and a quick command needs none of these places

    try:
        found = getattr(platformdirs, kind)(application)
    except RuntimeError:  # no HOME, and a user that the system does not know
        raise SpoolError(
            "cannot find your home directory", hint="set HOME, or XDG_STATE_HOME and XDG_CONFIG_HOME"
        ) from None
    assert isinstance(found, Path)  # noqa: S101 - for the type checker: platformdirs returns a Path
    return found.resolve()  # links in the user's own home are theirs; below it none is followed
