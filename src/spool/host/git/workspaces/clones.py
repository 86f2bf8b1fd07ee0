"""Makes and finds the clones in which loops work, under the user's data directory.

    clones/<repository>-<key>/<change>/
        record.json            what the clone is, out of the agent's reach
        <repository>-<change>/ the clone, all that an agent may write
        spool/                 checkpoints and the index of the tree, out of the agent's reach

A clone copies the commits that it starts from. It shares no object with the person's repository: a hard-linked object
file could be changed through the clone, and alternates would show the agent all branches, stashes and deleted commits,
and break when `git gc` runs. It has no remote, no hook, and of the configuration only the author's name and address.
It is made under another name, and renamed when it is whole.
"""

import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from spool.domain.change.workspaces import Kind, Workspace
from spool.domain.loop.summary import SCHEMA
from spool.errors import StateError
from spool.host.external_command import checked, run_command
from spool.host.git.checkouts import bring_along
from spool.host.git.repository import QUIET, Repository, git_environment
from spool.host.git.workspaces.clone_pace import heard
from spool.host.git.workspaces.delivery import Branches
from spool.host.git.workspaces.transport import STALLED_S, fetch_commits
from spool.host.state.files import opened, replace_file, sync_folder
from spool.host.state.places import path_key, user_data
from spool.host.state.records import exactly, restored
from spool.nofollow import make_folder, read_file

RECORD = "record.json"
KEPT = "spool"
ALSO = "refs/spool/also"
"""The ref of `also`."""
_LOCK = "making.lock"
_UNFINISHED = ".unfinished-"
_REFS_S = 30.0
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class Clone(msgspec.Struct, frozen=True, kw_only=True):
    """The record of a clone, written by Spool and out of the agent's reach."""

    schema: int = SCHEMA
    id: str
    change: str
    repository: str
    """The git directory of the person's repository."""
    folder: str
    """The name of the clone's folder, beside the record."""
    branch: str
    base: str
    object_format: str
    sandboxed: bool = False
    """Whether sandboxed agents work in it; then nobody else does."""
    ready: bool = False
    """Whether the setup command has run."""


class CloneRecipe(msgspec.Struct, frozen=True, kw_only=True):
    """A clone to make."""

    change: str
    branch: str
    base: str
    left: str = ""
    """The branch's commit; empty if there is none yet."""
    also: str = ""
    """Another commit to fetch with its history."""
    sandboxed: bool = False
    folders: tuple[str, ...] = ()
    """Folders of the change to copy if they are not committed."""


def home_of(repository: Repository, change: str) -> Path:
    """Return the folder of a change's clone and of its record."""
    return clones_of(repository) / change


def clones_of(repository: Repository) -> Path:
    """Return the folder with the clones of a repository."""
    name = _UNSAFE.sub("_", repository.main.name.removesuffix(".git"))[:40] or "repository"
    return user_data() / "clones" / f"{name}-{path_key(repository.common_dir)}"


def read_record(home: Path) -> Clone | None:
    """Return the clone in a folder; None if there is none."""
    try:
        found = restored(read_file(home / RECORD), Clone)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise StateError(f"{home / RECORD} cannot be read: {error}") from None
    if found.schema > SCHEMA:
        raise StateError(f"{home / RECORD} was written by a newer Spool", hint="upgrade Spool")
    return found


def clone_repository(home: Path, clone: Clone) -> Repository:
    """Return the repository of a clone. Where it is comes from its record, never from the clone."""
    top = home / clone.folder
    git_dir = top / ".git"
    return Repository(top, git_dir, git_dir, clone.object_format, kept=home / KEPT)


def workspace_of(home: Path, clone: Clone, inside: str) -> Workspace:
    """Return a clone as a workspace."""
    return Workspace(
        kind=Kind.CLONE,
        id=clone.id,
        path=str(home / clone.folder),
        inside=inside,
        repository=clone.repository,
        branch=clone.branch,
        base=clone.base,
        sandboxed=clone.sandboxed,
    )


async def make_clone(repository: Repository, plan: CloneRecipe, *, timeout_s: float = STALLED_S) -> Clone:
    """Make the clone of a change, unless there is one; a killed maker leaves only what the next one removes."""
    home = home_of(repository, plan.change)
    make_folder(home.parent)
    with _making(home.parent):
        for stale in home.parent.glob(f"{_UNFINISHED}*"):
            shutil.rmtree(stale, ignore_errors=True)  # a git of a killed maker may still write there
        if (found := read_record(home)) is not None:
            return found
        draft = _draft(home.parent)
        make_folder(draft / KEPT)
        clone = await _fill(draft, repository, plan, timeout_s)
        await Branches(repository.common_dir, timeout_s=_REFS_S).leave(plan.change, plan.left)
        replace_file(draft / RECORD, exactly(clone))
        draft.rename(home)
        sync_folder(home.parent)
    return clone


def mark_ready(home: Path, clone: Clone) -> Clone:
    """Record that the setup command has run."""
    ready = msgspec.structs.replace(clone, ready=True)
    replace_file(home / RECORD, exactly(ready))
    return ready


def remove_clone(home: Path) -> None:
    """Remove a clone: renamed first, so that a killed removal leaves nothing that looks like a clone."""
    gone = _draft(home.parent)
    with _making(home.parent):
        home.rename(gone)
        sync_folder(home.parent)
        shutil.rmtree(gone)


async def _fill(draft: Path, repository: Repository, plan: CloneRecipe, timeout_s: float) -> Clone:
    name = draft.parent.name.rpartition("-")[0]
    top = draft / f"{name}-{plan.change}"
    await fill_clone(top, repository, branch=plan.branch, commit=plan.base, timeout_s=timeout_s)
    if plan.also:
        await fetch_commits(repository.common_dir, top / ".git", commit=plan.also, ref=ALSO, timeout_s=timeout_s)
    for folder in plan.folders:
        bring_along(Path(folder), top, newer=True)
    return Clone(
        id=secrets.token_hex(8),
        change=plan.change,
        repository=str(repository.common_dir),
        folder=top.name,
        branch=plan.branch,
        base=plan.base,
        object_format=repository.object_format,
        sandboxed=plan.sandboxed,
    )


async def fill_clone(
    top: Path, repository: Repository, *, branch: str, commit: str, timeout_s: float = STALLED_S
) -> None:
    """Make a clone that has one commit and its history, checked out on a branch; each git may stall for a time."""
    make_folder(top)

    async def git(*words: str) -> None:
        await checked(["git", *QUIET, *words], directory=top, timeout_s=timeout_s, env=own_environment(), heard=heard)

    await git("init", "--quiet", "--template=", f"--object-format={repository.object_format}")
    await git("symbolic-ref", "HEAD", f"refs/heads/{branch}")
    for key, value in (await author_of(repository)).items():
        await git("config", "--local", key, value)
    ref = f"refs/heads/{branch}"
    await fetch_commits(repository.common_dir, top / ".git", commit=commit, ref=ref, timeout_s=timeout_s)
    await git("-c", "core.fsync=all", "read-tree", "-v", "--reset", "-u", "HEAD")


def _draft(folder: Path) -> Path:
    return folder / f"{_UNFINISHED}{secrets.token_hex(8)}"


def own_environment() -> dict[str, str]:
    """Return the environment of a git that uses no settings but the clone's: the filters of others are not run."""
    return git_environment(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1")


async def author_of(repository: Repository) -> dict[str, str]:
    """Return the person's name and address, which a sandbox would hide with their home."""
    found = {}
    for key in ("user.name", "user.email"):
        done = await run_command(
            ["git", *QUIET, "config", "--get", key], directory=repository.top, timeout_s=_REFS_S, env=git_environment()
        )
        if not done.exit_code and done.text:
            found[key] = done.text
    return found


@contextmanager
def _making(folder: Path) -> Iterator[None]:
    """Let one process at a time make or remove clones of a repository."""
    with opened(folder / _LOCK, os.O_RDWR | os.O_CREAT) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


def known_clones(folder: Path) -> Sequence[tuple[Path, Clone]]:
    """Return the clones in a folder of clones, by change; one whose record cannot be read is left out."""
    found = []
    for home in sorted(folder.glob("[!.]*")):
        with suppress(StateError):
            if (clone := read_record(home)) is not None:
                found.append((home, clone))
    return found
