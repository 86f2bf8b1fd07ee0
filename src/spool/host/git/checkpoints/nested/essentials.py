"""The files without which git refuses a git directory: HEAD, the configuration and the packed refs."""

import os
from contextlib import suppress
from pathlib import Path

from spool.host.git.repository import Repository
from spool.host.state.files import replace_file
from spool.nofollow import read_linked

_NAMES = ("HEAD", "config", "config.worktree", "packed-refs")
_SHARED = ("config", "packed-refs")
"""Those of all working trees together."""
_MOST_BYTES = 1 << 20


def read_essentials(repository: Repository) -> dict[str, bytes]:
    """Return what these files hold, where they exist."""
    found = {name: content_of(repository, name) for name in _NAMES}
    return {name: content for name, content in found.items() if content is not None}


def content_of(repository: Repository, name: str) -> bytes | None:
    """Return what one of them holds; None if there is none."""
    with suppress(OSError):
        path = _path(repository, name)
        return read_linked(path, most_bytes=_MOST_BYTES)
    return None


def put_essential(repository: Repository, name: str, content: bytes) -> Path | None:
    """Write one of them; return where the one that stood there is now."""
    path = _path(repository, name)
    aside = path.with_name(f"{name}.unreadable") if os.path.lexists(path) else None
    if aside is not None:
        path.rename(aside)
    replace_file(path, content)
    path.chmod(0o644)
    return aside


def _path(repository: Repository, name: str) -> Path:
    return (repository.common_dir if name in _SHARED else repository.git_dir) / name
