"""What the tests of workspaces share: a repository of a person, and clones of it, with real git."""

from __future__ import annotations

import asyncio
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from spool.domain.change.workspaces import Workspace
from spool.host.git.repository import Repository, find_repository
from spool.host.git.workspaces.clones import Clone, CloneRecipe, home_of, make_clone, workspace_of
from spool.host.git.workspaces.delivery import Branches, Delivered
from tests.support import PATIENCE_S

CHANGE = "add-auth"
BRANCH = f"change/{CHANGE}"


def git(folder: Path, *words: str, check: bool = True) -> str:
    """Run git as a person does."""
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0 or not check, done.stderr
    return done.stdout.strip()


@dataclass
class Person:
    """A person's repository, and the clones that Spool makes of it."""

    root: Path

    @property
    def repository(self) -> Repository:
        found = asyncio.run(find_repository(self.root, timeout_s=30))
        assert isinstance(found, Repository), found
        return found

    def git(self, *words: str, check: bool = True) -> str:
        return git(self.root, *words, check=check)

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def commit(self, name: str, text: str) -> str:
        self.write(name, text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", f"write {name}")
        return self.git("rev-parse", "HEAD")

    def tip(self, branch: str = BRANCH) -> str:
        return self.git("rev-parse", "--quiet", "--verify", f"refs/heads/{branch}", check=False)

    def clone(self, change: str = CHANGE, *, folders: tuple[str, ...] = (), timeout_s: float = 30) -> Cloned:
        branch = f"change/{change}"
        tip = self.tip(branch)
        base = tip or self.git("rev-parse", "HEAD")
        repository = self.repository
        plan = CloneRecipe(change=change, branch=branch, base=base, left=tip, folders=folders)
        clone = asyncio.run(make_clone(repository, plan, timeout_s=timeout_s))
        return Cloned(self, change, home_of(repository, change), clone)


@dataclass
class Cloned:
    """A clone, and what an agent does in it."""

    person: Person
    change: str
    home: Path
    record: Clone

    @property
    def top(self) -> Path:
        return self.home / self.record.folder

    @property
    def workspace(self) -> Workspace:
        return workspace_of(self.home, self.record, "")

    def git(self, *words: str, check: bool = True) -> str:
        return git(self.top, *words, check=check)

    def commit(self, name: str, text: str) -> str:
        (self.top / name).write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", f"write {name}")
        return self.git("rev-parse", "HEAD")

    def deliver(self) -> Delivered:
        branches = Branches(self.person.repository.common_dir, timeout_s=30)
        return asyncio.run(branches.deliver(self.change, self.workspace))


def make_person(
    base: Path, monkeypatch: pytest.MonkeyPatch, *, name: str = "project", options: tuple[str, ...] = ()
) -> Person:
    """Make a repository with one commit, and a home of its own around it."""
    home, root = base / "home", base / name
    home.mkdir()
    root.mkdir()
    for variable in [one for one in os.environ if one.startswith(("GIT_", "XDG_"))]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    (home / ".gitconfig").write_text("[user]\n\tname = Test\n\temail = test@example.com\n")
    git(root, "init", "--quiet", "--initial-branch=main", *options)
    person = Person(root)
    person.commit("code.py", "print(1)\n")
    return person
