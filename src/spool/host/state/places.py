"""The user's own directories."""

import os
import sys
from pathlib import Path

from spool.errors import SpoolError

_ON_LINUX = {
    "config": ("XDG_CONFIG_HOME", ".config"),
    "state": ("XDG_STATE_HOME", ".local/state"),
    "data": ("XDG_DATA_HOME", ".local/share"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
}


def user_config(application: str = "spool") -> Path:
    """Return the user's configuration directory."""
    return _place("config", application)


def user_state() -> Path:
    """Return the user's own state directory, out of reach of an agent in the tree."""
    return _place("state", "spool")


def user_data() -> Path:
    """Return the user's data directory, for clones."""
    return _place("data", "spool")


def user_cache() -> Path:
    """Return the user's cache directory, for what can be made again."""
    return _place("cache", "spool")


def path_key(path: str | Path) -> str:
    """Return a file name for what is kept about a path."""
    import hashlib  # 2.5 ms with OpenSSL, and a quick command hashes nothing

    return hashlib.sha256(os.fsencode(Path(path).resolve())).hexdigest()[:16]


def _place(kind: str, application: str) -> Path:
    variable, below = _ON_LINUX[kind]
    given, home = os.environ.get(variable, ""), os.environ.get("HOME", "")
    if sys.platform == "linux" and (given or home).startswith("/"):
        return (Path(given) if given else Path(home, below)).joinpath(application).resolve()
    import platformdirs  # 7 ms to import: everything but the plain case above

    try:
        found = getattr(platformdirs, f"user_{kind}_path")(application)
    except RuntimeError:  # no HOME, and a user that the system does not know
        raise SpoolError(
            "cannot find your home directory", hint="set HOME, or XDG_STATE_HOME and XDG_CONFIG_HOME"
        ) from None
    assert isinstance(found, Path)  # noqa: S101 - for the type checker: platformdirs returns a Path
    return found.resolve()  # links in the user's own home are theirs; below it none is followed
