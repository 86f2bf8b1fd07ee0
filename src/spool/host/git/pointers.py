"""Finds a working tree, its repository and its branch by their files, without running git: quick commands need them."""

from contextlib import suppress
from pathlib import Path

from spool.nofollow import read_linked


def top_of(directory: Path) -> Path | None:
    """Return the working tree that contains a directory, if any."""
    return next((root for root in (directory, *directory.parents) if (root / ".git").exists()), None)


def main_of(top: Path) -> Path:
    """Return the main directory of a working tree's repository, as `Repository.main` names it."""
    common = common_of(top)
    return common.parent if common.name == ".git" else common


def common_of(top: Path) -> Path:
    """Return the git directory that all working trees of a repository share."""
    git_dir = git_directory(top)
    with suppress(OSError):
        return (git_dir / read_linked(git_dir / "commondir").decode("utf-8", "surrogateescape").strip()).resolve()
    return git_dir


def branch_of(top: Path) -> str:
    """Return the branch of a working tree; empty if there is none, or no git."""
    with suppress(OSError):
        head = read_linked(git_directory(top) / "HEAD").decode("utf-8", "surrogateescape").strip()
        return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else ""
    return ""


def git_directory(top: Path) -> Path:
    """Return the git directory of a working tree; a linked one has a file that points to it."""
    pointer = top / ".git"
    with suppress(OSError):
        text = read_linked(pointer).decode("utf-8", "surrogateescape").strip()
        return (top / text.removeprefix("gitdir:").strip()).resolve()
    return pointer.resolve()
