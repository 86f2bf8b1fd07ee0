"""Finds or creates a change's working tree, before a loop starts, so blocking subprocesses are fine."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from spool.decoders import decoded
from spool.domain.change.checkout import Checkout, branches_for, folders_for, gives
from spool.domain.change.workspaces import branch_of_change
from spool.domain.text.plain_text import one_line
from spool.errors import CommandFailed, CommandTimeout, Hint, NoWorktree, UsageError
from spool.host.git.pointers import main_of, top_of
from spool.host.git.repository import QUIET, git_environment, online_environment
from spool.host.state.places import user_config
from spool.nofollow import read_linked

TIMEOUT_S = 30.0
_INCLUDE = ".worktreeinclude"
"""Names untracked files for new worktrees, as .gitignore does; other tools read it too."""
_OFTEN_NEEDED = (".venv", "node_modules", ".env")


class KnownWorktree(msgspec.Struct, frozen=True):
    """A worktree in the registry of wt-tools."""

    path: str = ""
    branch: str | None = None


class KnownProject(msgspec.Struct, frozen=True):
    """A project in the registry of wt-tools."""

    path: str = ""
    worktrees: dict[str, KnownWorktree] = {}


class _Projects(msgspec.Struct):
    projects: dict[str, KnownProject] = {}


def checkouts(directory: Path) -> list[Checkout]:
    """Return the working trees of the repository around a directory; none outside a repository."""
    try:
        listed = git("worktree", "list", "--porcelain", "-z", directory=directory)
    except (CommandFailed, FileNotFoundError, NotADirectoryError):
        return []
    found = []
    repository = ""
    for number, record in enumerate(listed.rstrip("\0").split("\0\0")):
        fields = dict(line.partition(" ")[::2] for line in record.split("\0"))
        path = Path(fields.get("worktree", ""))
        repository = repository or path.name.removesuffix(".git") or path.parent.name
        if "bare" not in fields and path.is_dir():
            branch = fields["branch"].removeprefix("refs/heads/") if "branch" in fields else None
            found.append(Checkout(path=str(path), branch=branch, repository=repository, is_main=number == 0))
    return found


def find_checkout(change_id: str, *, here: Path, projects: Iterable[Path] | None = None) -> Checkout:
    """Return the only working tree of a change: in the repository around `here`, else in the given projects."""
    found = _candidates(change_id, here) or registered(change_id, here)
    if not found and projects is not None:
        found = _elsewhere(change_id, projects)
    if len(found) == 1:
        return found[0]
    if found:
        listed = "".join(f"\n    {one.path}{f'  ({one.branch})' if one.branch else ''}" for one in found)
        raise UsageError(f"'{change_id}' has more than one worktree:{listed}", hint=Hint.CHOOSE_PATH)
    name = f"{_repository_name(here)}-wt-{change_id}"
    raise NoWorktree(
        f"no worktree for '{change_id}'",
        hint=f"git worktree add {shlex.quote(f'../{name}')} -b {branch_of_change(change_id)}",
    )


def checkout_at(path: Path) -> Checkout:
    """Return the working tree that contains a path."""
    try:
        top = git("rev-parse", "--show-toplevel", directory=path).strip("\n")
    except (CommandFailed, FileNotFoundError, NotADirectoryError):
        raise UsageError(f"{path} is not in a git working tree") from None
    for one in checkouts(Path(top)):
        if Path(one.path).resolve() == Path(top).resolve():
            return one
    return Checkout(path=top, repository=Path(top).name)


def make_checkout(
    change_id: str, *, here: Path, copy: Sequence[str], setup: str, folders: Sequence[Path] = (), base: str = ""
) -> tuple[Checkout, list[Path]]:
    """Create a change's worktree beside the main one, on its branch, and copy the files that match `copy`.

    A new branch starts at `base`, by default where the main worktree is. Copy `folders` too, where they are not
    committed; return those that were.
    """
    known = checkouts(here)
    if not known:
        raise UsageError(f"{here} is not in a git working tree", hint="run this in a git repository")
    main = Path(known[0].path)
    path = main.parent / folders_for(change_id, known[0].repository)[0]
    if path.exists():
        raise UsageError(f"{path} already exists, and is not a worktree of this repository", hint=Hint.CHOOSE_PATH)
    branch = existing_branch(change_id, main)
    words = [str(path), branch] if branch else ["-b", branch_of_change(change_id), str(path), *([base] if base else [])]
    git("worktree", "add", "--quiet", *words, directory=main, quietly=False)
    copy_untracked(main, path, copy)
    brought = [folder for folder in folders if bring_along(folder, path, newer=branch is None)]
    if setup:
        set_up(setup, path)
    made = Checkout(path=str(path), branch=branch or branch_of_change(change_id), repository=known[0].repository)
    return made, brought


def has_branch(change_id: str, here: Path) -> bool:
    """Whether the repository around a directory has a branch for a change."""
    known = checkouts(here)
    return bool(known) and existing_branch(change_id, Path(known[0].path)) is not None


def wt_tools_projects(file: Path) -> dict[str, KnownProject]:
    """Return the projects in the registry of wt-tools; none if the file is missing or invalid."""
    try:
        return decoded(read_linked(file), _Projects).projects
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}


def wt_tools_file() -> Path:
    """Return the path of wt-tools' registry."""
    return user_config("wt-tools") / "projects.json"


def common_dir(directory: Path) -> Path:
    """Return the git directory that all working trees of a repository share."""
    return Path(git("rev-parse", "--path-format=absolute", "--git-common-dir", directory=directory).strip("\n"))


def git(*words: str, directory: Path, quietly: bool = True) -> str:
    """Run git and return its output; raise unless it succeeds. `quietly` disables the user's hooks."""
    try:
        done = subprocess.run(
            ["git", *(QUIET if quietly else ()), *words],
            cwd=directory, env=git_environment() if quietly else online_environment(), stdin=subprocess.DEVNULL,
            capture_output=True, timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise CommandTimeout(f"'git {words[0]}' did not answer within {TIMEOUT_S:g} s") from None
    if done.returncode:
        raise CommandFailed(f"'git {words[0]}' failed: {one_line(done.stderr.decode('utf-8', 'replace'), 300)}")
    return done.stdout.decode("utf-8", "surrogateescape")


def _candidates(change_id: str, directory: Path) -> list[Checkout]:
    return _unique(one for one in checkouts(directory) if gives(one, change_id))


def registered(change_id: str, here: Path) -> list[Checkout]:
    """Return the worktree that wt-tools knows under this name in the repository around a directory."""
    top = top_of(here)
    main = main_of(top).resolve() if top else None
    projects = wt_tools_projects(wt_tools_file()).items()
    return [
        Checkout(path=one.path, branch=one.branch, repository=name)
        for name, project in projects
        if project.path and Path(project.path).resolve() == main
        if (one := project.worktrees.get(change_id)) is not None and Path(one.path).is_dir()
    ]


def _elsewhere(change_id: str, projects: Iterable[Path]) -> list[Checkout]:
    known = [Path(one.path) for one in wt_tools_projects(wt_tools_file()).values() if one.path]
    found = []
    for path in dict.fromkeys([*projects, *known]):
        found += registered(change_id, path) + _candidates(change_id, path)
    return _unique(found)


def _unique(found: Iterable[Checkout]) -> list[Checkout]:
    return list({Path(one.path).resolve(): one for one in reversed(list(found))}.values())[::-1]


def existing_branch(change_id: str, main: Path) -> str | None:
    """Return the branch that a change has already, if any."""
    for branch in branches_for(change_id):
        if git("branch", "--list", "--format=%(refname:short)", "--", branch, directory=main).strip() == branch:
            return branch
    return None


def copy_untracked(main: Path, made: Path, patterns: Sequence[str]) -> None:
    """Copy the files that match some patterns, or those of `.worktreeinclude`, to a new working tree without them."""
    for source in _to_copy(main.resolve(), patterns):
        target = made / source.relative_to(main.resolve())
        if not os.path.lexists(target):  # a branch may bring a link that leads nowhere yet
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)


def _to_copy(main: Path, patterns: Sequence[str]) -> list[Path]:
    """Return the files to copy: none behind a linked folder, which may lead outside the repository."""
    found = {path for pattern in patterns for path in main.glob(pattern) if path.is_file()}
    if (main / _INCLUDE).is_file():
        words = ("ls-files", "--others", "--ignored", f"--exclude-from={_INCLUDE}", "-z")
        listed = (main / name for name in git(*words, directory=main).split("\0") if name)
        found |= {path for path in listed if not path.is_relative_to(main / ".spool") and not path.is_dir()}
    return sorted(path for path in found if path.parent.resolve() == path.parent)


def lacking(main: Path, made: Path) -> list[str]:
    """Return what a new working tree lacks of what checks often need, and git does not have."""
    return [name for name in _OFTEN_NEEDED if os.path.lexists(main / name) and not os.path.lexists(made / name)]


def bring_along(path: Path, worktree: Path, *, newer: bool) -> bool:
    """Copy a folder or file to a new working tree that lacks it or, if `newer`, has only what was committed of it."""
    top = top_of(path.parent)
    if top is None or not path.exists():
        return False
    target = worktree / path.relative_to(top)
    if target.exists() and not (newer and _uncommitted(path)):
        return False
    if path.is_dir():
        shutil.copytree(path, target, symlinks=True, dirs_exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target, follow_symlinks=False)
    return True


def _uncommitted(path: Path) -> bool:
    words = ("status", "--porcelain", "--ignored", "--untracked-files=all", "--", path.name)
    return bool(git(*words, directory=path.parent))


def set_up(command: str, directory: Path) -> None:
    """Run the user's own command line verbatim."""
    done = subprocess.run(["/bin/sh", "-c", command], cwd=directory, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise CommandFailed(
            f"the setup command exited with code {done.returncode}", hint=f"the worktree is in {directory}"
        )


def _repository_name(here: Path) -> str:
    known = checkouts(here)
    return known[0].repository if known else "REPOSITORY"
