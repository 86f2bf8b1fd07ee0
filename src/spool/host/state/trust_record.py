"""Keeps what the person has trusted of each repository's settings, as hashes in the user's state directory."""

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from spool.decoders import decoded
from spool.errors import StateError
from spool.host.state.files import replace_file
from spool.host.state.places import user_state
from spool.nofollow import make_folder, read_file, read_linked

TRUSTED_PATHS = "SPOOL_TRUSTED_PATHS"
"""Directories, separated by colons, whose repositories are trusted; for CI."""


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """A repository's trusted settings."""

    root: str
    granted_at: datetime
    values: dict[str, str]
    """The hash of each trusted value, by the name of its setting."""


def hash_of(value: Any) -> str:
    """Return the hash of a setting's value."""
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()


def read_grant(root: Path) -> Grant | None:
    """Return what is trusted of the repository around a directory; None if nothing is."""
    path = grant_path(root)
    try:
        return decoded(read_file(path), Grant)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StateError(f"{path} cannot be read: {error}", hint="remove it, and trust the repository again") from None


def write_grant(root: Path, values: Mapping[str, Any], now: datetime) -> None:
    """Trust these values of a repository, and no others."""
    path = grant_path(root)
    make_folder(path.parent)
    grant = Grant(root=str(root), granted_at=now, values={name: hash_of(value) for name, value in values.items()})
    replace_file(path, msgspec.json.encode(grant))


def remove_grant(root: Path) -> bool:
    """Trust nothing of a repository any more; return whether anything was trusted."""
    try:
        grant_path(root).unlink()
    except FileNotFoundError:
        return False
    return True


def trusted_path(root: Path, environment: Mapping[str, str]) -> bool:
    """Whether the environment trusts a directory."""
    listed = [Path(one) for one in environment.get(TRUSTED_PATHS, "").split(os.pathsep)]
    return any(root.resolve().is_relative_to(one.resolve()) for one in listed if one.is_absolute())


def grant_path(root: Path) -> Path:
    """Return the file with what is trusted of a directory."""
    repository, inside = _repository(root.resolve())
    key = hashlib.sha256(os.fsencode(repository) + b"\0" + os.fsencode(inside)).hexdigest()[:32]
    return user_state() / "trust" / f"{key}.json"


def main_checkout(root: Path) -> Path | None:
    """Return the directory of the main checkout that a directory in a linked worktree stands for; None elsewhere."""
    repository, inside = _repository(root.resolve())
    main = repository.parent / inside
    return main if repository.name == ".git" and main != root.resolve() else None


def _repository(root: Path) -> tuple[Path, Path]:
    """Return what identifies a repository, shared by its worktrees, and where in it a directory is. Runs no git."""
    for top in (root, *root.parents):
        git = top / ".git"
        if git.is_dir():
            return git.resolve(), root.relative_to(top)
        if git.is_file():
            return _common_dir(git) or top, root.relative_to(top)
    return root / ".git", Path()  # as after `git init`, which must not withdraw what was trusted before it


def _common_dir(link: Path) -> Path | None:
    """Return the git directory that a linked worktree shares; None unless that directory knows the worktree.

    Anybody can write a `.git` file that names another repository.
    """
    with suppress(OSError, ValueError):
        git_dir = (link.parent / read_linked(link).decode("utf-8").removeprefix("gitdir:").strip()).resolve()
        back = (git_dir / read_linked(git_dir / "gitdir").decode("utf-8").strip()).resolve()
        common = (git_dir / read_linked(git_dir / "commondir").decode("utf-8").strip()).resolve()
        if back == link and git_dir.parent == common / "worktrees":
            return common
    return None
