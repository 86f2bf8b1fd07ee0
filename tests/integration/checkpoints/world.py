"""A scratch repository, what an agent may do to it, and a picture of everything that a revert must bring back."""

from __future__ import annotations

import asyncio
import concurrent.futures.thread  # noqa: F401 - a user who is not root may not be able to import it later
import os
import re
import shutil
import stat
import subprocess
import traceback
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest

from spool.host.git.checkpoints.checkpoints import Checkpoints
from spool.host.git.repository import Repository, find_repository

CHANGE = "add-auth"
ENV = {
    "PATH": os.environ["PATH"],
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Test",
    "GIT_AUTHOR_EMAIL": "test@example.com",
    "GIT_COMMITTER_NAME": "Test",
    "GIT_COMMITTER_EMAIL": "test@example.com",
    "GIT_ALLOW_PROTOCOL": "file",
    "GIT_EDITOR": "true",
}
_Result = TypeVar("_Result")

NOBODY = 65534
as_root = pytest.mark.root
"""For a test that becomes somebody else, or mounts."""

Entry = tuple[str, int, bytes]


@dataclass(frozen=True)
class Picture:
    """Everything a person could see of a working tree and its repository."""

    entries: dict[str, Entry]
    index: str
    status: str
    refs: str
    head: str
    state: dict[str, bytes]


class World:
    """A repository in a folder of its own, with nothing of the tester's around it."""

    def __init__(self, base: Path, *, object_format: str = "sha1", init: bool = True) -> None:
        self.base = base
        self.top = base / "project"
        self.mounted: list[Path] = []
        self.top.mkdir(parents=True, exist_ok=True)
        (base / "home").mkdir(exist_ok=True)
        self.env = {**ENV, "HOME": str(base / "home")}
        if init:
            self.git("init", "-q", "-b", "main", f"--object-format={object_format}")

    def git(self, *words: str, cwd: Path | None = None, check: bool = True) -> str:
        done = subprocess.run(
            ["git", *words], cwd=cwd or self.top, env=self.env, capture_output=True, check=check, timeout=600
        )
        return done.stdout.decode("utf-8", "surrogateescape")

    def write(self, name: str, content: str | bytes = "content\n", mode: int | None = None) -> Path:
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        if mode is not None:
            path.chmod(mode)
        return path

    def commit(self, message: str = "commit", *, cwd: Path | None = None) -> str:
        self.git("add", "-A", cwd=cwd)
        self.git("commit", "-q", "--allow-empty", "-m", message, cwd=cwd)
        return self.git("rev-parse", "HEAD", cwd=cwd).strip()

    def checkpoints(self, change: str = CHANGE, top: Path | None = None, **settings: Any) -> Checkpoints:
        settings.setdefault("now", lambda: datetime.now(UTC))
        settings.setdefault("timeout_s", 30)
        return Checkpoints(self.repository(top), change, **settings)

    def repository(self, top: Path | None = None) -> Repository:
        found = run(find_repository(top or self.top, timeout_s=30))
        assert isinstance(found, Repository)
        return found

    def picture(self, top: Path | None = None) -> Picture:
        top = top or self.top
        git_dir = Path(self.git("rev-parse", "--absolute-git-dir", cwd=top).strip())
        return Picture(
            entries=entries(top),
            index=self.git("ls-files", "-s", "-v", "-z", cwd=top),
            status=self.git("status", "--porcelain=v2", "-z", "--untracked-files=all", cwd=top),
            refs=self.refs(top),
            head=(git_dir / "HEAD").read_text(),
            state=_state(git_dir),
        )

    def refs(self, top: Path | None = None) -> str:
        rows = self.git("for-each-ref", cwd=top).splitlines()
        return "\n".join(row for row in rows if not re.search(r"\trefs/(spool/|remotes/|stash$)", row))

    def ignored(self, top: Path | None = None) -> list[str]:
        """Return what the rules of this moment ignore: folders with a slash, and files."""
        told = self.git("status", "--porcelain", "-z", "--ignored=matching", "--untracked-files=all", cwd=top)
        return [row[3:] for row in told.split("\0") if row.startswith("!! ")]


def differences(one: Picture, other: Picture) -> list[str]:
    """Return in what two pictures differ, in words short enough to read."""
    names = sorted(one.entries.keys() | other.entries.keys())
    found = [
        f"{name}: {str(one.entries.get(name))[:60]} and {str(other.entries.get(name))[:60]}"
        for name in names
        if one.entries.get(name) != other.entries.get(name)
    ]
    return found + [
        f"{what}: {getattr(one, what)} and {getattr(other, what)}"
        for what in ("index", "status", "refs", "head", "state")
        if getattr(one, what) != getattr(other, what)
    ]


def run(work: Coroutine[Any, Any, _Result]) -> _Result:
    return asyncio.run(work)


def entries(top: Path) -> dict[str, Entry]:
    """Return every file, link, folder and FIFO, git directories and Spool's state aside."""
    found: dict[str, Entry] = {".": _entry(top)}
    for folder, names, files in os.walk(top):
        names[:] = [name for name in names if name != ".git"]
        for name in [*names, *files]:
            path = Path(folder) / name
            if name == ".git":
                continue
            found[str(path.relative_to(top))] = _entry(path)
    return found


def _entry(path: Path) -> Entry:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return ("link", 0, os.fsencode(os.readlink(path)))
    if stat.S_ISDIR(mode):
        return ("folder", stat.S_IMODE(mode), b"")
    if stat.S_ISREG(mode):
        return ("file", stat.S_IMODE(mode), path.read_bytes())
    return ("other", stat.S_IMODE(mode), b"")


def _state(git_dir: Path) -> dict[str, bytes]:
    names = ["MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "CHERRY_PICK_HEAD", "REBASE_HEAD", "ORIG_HEAD"]
    paths = [git_dir / name for name in names]
    for folder in ("rebase-merge", "rebase-apply", "sequencer"):
        paths += (git_dir / folder).rglob("*")
    return {str(path.relative_to(git_dir)): path.read_bytes() for path in paths if path.is_file()}


def as_nobody(world: World, work: Callable[[], object], *, but: Sequence[Path] = ()) -> None:
    """Give a world to a user who is not root, and do something as that user."""
    world.base.chmod(0o755)
    for above in world.base.parents[:4]:
        above.chmod(above.stat().st_mode | 0o011)
    for folder, names, files in os.walk(world.base):
        for path in [Path(folder), *(Path(folder) / name for name in [*names, *files])]:
            if path not in but and not any(path.is_relative_to(one) for one in but):
                os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            work()
            os._exit(0)
        except BaseException:  # noqa: BLE001 - the child must not return into pytest
            traceback.print_exc()
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def remove(path: Path) -> None:
    """Remove whatever stands there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()
