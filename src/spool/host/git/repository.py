"""Runs git without the user's hooks, filters, file system monitor and prompts."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from spool.domain.text.plain_text import one_line
from spool.host.external_command import Completed, not_run, run_command, short_name, succeeded
from spool.nofollow import read_linked

QUIET = (
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "gc.auto=0",
    "-c", "maintenance.auto=false",
    "-c", "core.quotePath=false",
)  # fmt: skip
_LOCAL = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_PREFIX")
_OFFLINE = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": ""}
"""A missing object of a partial clone makes git fetch, with programs that the repository's settings name.

git 2.44 knows the first variable; for earlier ones the second allows no protocol at all.
"""
_PERSONAL = (
    "GIT_AUTHOR_",
    "GIT_COMMITTER_",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_EXEC",
)


class CommandWrapper(Protocol):
    """Runs programs where an agent's files can do no harm."""

    def wrap(
        self, argv: Sequence[str | Path], env: Mapping[str, str], directory: Path
    ) -> tuple[Sequence[str | Path], Mapping[str, str]]:
        """Return the command that runs another one inside, with its environment."""


class Repository(msgspec.Struct, frozen=True):
    """A git working tree and its git directories.

    All git commands of a loop in its working tree go through `run_git`, which has this value. So two facts decide
    which git directory and which configuration is believed, and `workspaces/opening.py` sets both: `kept`, a folder
    for Spool's own data that the agent cannot write, and `sandbox`, in which git runs.
    """

    top: Path
    git_dir: Path
    common_dir: Path
    object_format: str
    kept: Path | None = None
    """The folder for data about a clone, whose git directory is the agent's."""
    sandbox: CommandWrapper | None = None

    @property
    def main(self) -> Path:
        """The first working tree, or the bare repository, which names the project."""
        return self.common_dir.parent if self.common_dir.name == ".git" else self.common_dir

    @property
    def spool_dir(self) -> Path:
        """Spool's folder for data that must survive `git clean -fdx`."""
        return self.kept or self.common_dir / "spool"

    @property
    def identity_file(self) -> Path:
        """The file with the identity of the working tree."""
        return (self.kept or self.git_dir / "spool") / "worktree"

    @property
    def is_clone(self) -> bool:
        """Whether it is a clone of Spool's, in which the git directory and its hooks are the agent's."""
        return self.kept is not None


class NoRepository(msgspec.Struct, frozen=True):
    """The lack of a usable repository."""

    why: str


def git_environment(**added: str) -> dict[str, str]:
    """Return the environment for a git that works here alone and fetches nothing."""
    return {**online_environment(), **_OFFLINE, **added}


def online_environment() -> dict[str, str]:
    """Return the user's environment without variables that select a repository, with git's messages in English."""
    inherited = {name: value for name, value in os.environ.items() if name not in _LOCAL}
    return {**inherited, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}


def bound_environment(git_dir: Path, top: Path, **added: str) -> dict[str, str]:
    """Return the environment for a git that works in one git directory, whatever GIT_CONFIG_COUNT and its like say."""
    inherited = git_environment(GIT_DIR=str(git_dir), GIT_WORK_TREE=str(top), **added)
    kept = (
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_TERMINAL_PROMPT",
        "GIT_OPTIONAL_LOCKS",
        "GIT_EXEC_PATH",
        *_OFFLINE,
        *_PERSONAL,
        *added,
    )
    return {name: value for name, value in inherited.items() if not name.startswith("GIT_") or name.startswith(kept)}


async def run_git(
    repository: Repository,
    *words: str | Path,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    directory: Path | None = None,
    quietly: bool = True,
) -> Completed:
    """Run git in a working tree and return its result, whatever the exit code. `quietly` disables the user's hooks.

    This is the one place where git runs on a tree that an agent writes: where there is a sandbox, inside it.
    """
    where, given = directory or repository.top, git_environment() if env is None else env
    argv: Sequence[str | Path] = ["git", *(QUIET if quietly else ()), *words]
    if repository.sandbox is not None:
        argv, given = repository.sandbox.wrap(argv, given, where)
    return await run_command(argv, directory=where, timeout_s=timeout_s, env=given, stdin=stdin)


async def ask_git(
    repository: Repository,
    *words: str | Path,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    directory: Path | None = None,
    quietly: bool = True,
) -> Completed:
    """Run git in a working tree; raise unless it succeeds."""
    name = short_name(["git", *words])
    try:
        done = await run_git(
            repository, *words, timeout_s=timeout_s, env=env, stdin=stdin, directory=directory, quietly=quietly
        )
    except OSError as error:
        raise not_run(name, error) from error
    return succeeded(name, done)


async def head_of(
    repository: Repository, *, timeout_s: float, inside: str = "", kind: Literal["commit", "tree"] = "commit"
) -> str:
    """Return the checked-out commit, or its tree, of a working tree or one inside it; empty before the first commit."""
    words = ("rev-parse", "--quiet", "--verify", f"HEAD^{{{kind}}}")
    done = await run_git(repository, *words, timeout_s=timeout_s, directory=repository.top / inside)
    return "" if done.exit_code else done.text


async def find_repository(
    directory: Path, *, timeout_s: float, sandbox: CommandWrapper | None = None
) -> Repository | NoRepository:
    """Return the repository around a directory, as found by git itself, so that its refusals apply."""
    words = ("--show-toplevel", "--absolute-git-dir", "--git-common-dir", "--show-object-format")
    argv: Sequence[str | Path] = ["git", *QUIET, "rev-parse", "--path-format=absolute", *words]
    env: Mapping[str, str] = git_environment()
    if sandbox is not None:
        argv, env = sandbox.wrap(argv, env, directory)
    try:
        found = await run_command(argv, directory=directory, timeout_s=timeout_s, env=env)
    except FileNotFoundError:
        return NoRepository("git is not installed")
    if found.exit_code:
        return NoRepository(one_line(found.errors.decode("utf-8", "replace")) or "this is not a git repository")
    answers = found.text.split("\n")
    if len(answers) != 4:
        return NoRepository("its path contains a line break, so git's output is ambiguous")
    top, git_dir, common_dir, object_format = answers
    if git_dir_of(Path(top)) != os.path.realpath(git_dir):
        return NoRepository(f"its settings name another working tree, {one_line(top)}")
    return Repository(Path(top), Path(git_dir), Path(common_dir), object_format, sandbox=sandbox)


def git_dir_of(top: Path) -> str | None:
    """Return the git directory that a working tree's `.git` names, by its real path."""
    link = top / ".git"
    with suppress(OSError, ValueError):
        if link.is_file():
            return os.path.realpath(top / os.fsdecode(read_linked(link).removeprefix(b"gitdir:").strip()))
        return os.path.realpath(link) if link.is_dir() else None
    return None
