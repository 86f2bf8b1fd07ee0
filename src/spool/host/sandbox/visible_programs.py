"""Finds the files and folders that programs need, so that they run where the home directory is hidden.

A program is more than its file: an npm agent is a link into a `node_modules`, a Python script names an interpreter in
its first line, and the interpreter of a virtual environment is a link to another installation.
"""

import os
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from spool.nofollow import read_head

_FIRST_LINE = 512
_LINKS = 40
"""Links followed in one path, as the kernel does."""
_MODULES = "node_modules"
_ENVIRONMENT = "pyvenv.cfg"


@dataclass
class Needs:
    """Paths that a sandbox must show."""

    paths: set[Path] = field(default_factory=set)
    links: dict[Path, str] = field(default_factory=dict)
    """Symbolic links, each with its target."""


def needs_of(programs: Iterable[str], folders: Sequence[Path], *, whole_path: bool = False) -> Needs:
    """Return what some programs, or all programs on the PATH, need in hidden folders.

    A folder that holds one of those, a home directory on the PATH for example, is never shown as a whole.
    """

    def hidden(path: Path) -> bool:
        return any(path.is_relative_to(folder) for folder in folders)

    def holds_private(path: Path) -> bool:
        return any(folder.is_relative_to(path) for folder in folders)

    search = os.environ.get("PATH", os.defpath)
    needs = Needs()
    seen: set[Path] = set()
    waiting = [Path(found) for name in programs if (found := shutil.which(name, path=search))]
    closed = set(unreadable_folders())
    for folder in map(Path, search.split(os.pathsep) if whole_path else ()):
        if hidden(folder) and folder not in closed:
            real = _real(folder, needs, hidden)
            if not holds_private(real):
                needs.paths.add(real)
            waiting += _executables(folder)
    while waiting:
        program = waiting.pop()
        if program in seen:
            continue
        seen.add(program)
        environment = _real(program.parent, needs, hidden).parent
        if hidden(environment) and (environment / _ENVIRONMENT).exists() and not holds_private(environment):
            needs.paths.add(environment)  # its python is a link to another installation, and its packages are here
        real = _real(program, needs, hidden)
        if hidden(real) and real.is_file():
            whole = _installation(real)
            needs.paths.add(real if holds_private(whole) else whole)
        waiting += _interpreters(real, search)
    # A link inside a folder that is shown is there already.
    needs.links = {link: to for link, to in needs.links.items() if not any(map(link.is_relative_to, needs.paths))}
    return needs


def unreadable_folders() -> list[Path]:
    """Return the folders on the PATH that this user may not read: of another user's home, for example."""
    folders = map(Path, os.environ.get("PATH", os.defpath).split(os.pathsep))
    return [folder for folder in folders if _is_refused(folder)]


def _is_refused(folder: Path) -> bool:
    try:
        os.scandir(folder).close()
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def _executables(folder: Path) -> Iterator[Path]:
    with suppress(OSError), os.scandir(folder) as entries:
        yield from (Path(entry.path) for entry in entries if os.access(entry.path, os.X_OK) and entry.is_file())


def _real(path: Path, needs: Needs, hidden: Callable[[Path], bool]) -> Path:
    """Return the path without links, and note the hidden links on the way."""
    rest = list(path.parts[1:])
    at = Path("/")
    followed = 0
    while rest:
        part = rest.pop(0)
        if part == "..":
            at = at.parent
            continue
        here = at / part
        if not here.is_symlink() or followed == _LINKS:
            at = here
            continue
        followed += 1
        target = here.readlink()
        if hidden(here):
            needs.links[here] = str(target)
        if target.is_absolute():
            at = Path("/")
        rest = [*(part for part in target.parts if part != "/"), *rest]
    return at


def _installation(program: Path) -> Path:
    """Return the folder that a program is installed in, or the program alone if nothing belongs to it."""
    parts = program.parts
    if _MODULES in parts:
        return Path(*parts[: parts.index(_MODULES) + 1])
    if program.parent.name == "shims":  # pyenv, asdf
        return program.parent.parent
    root = program.parent.parent
    return root if program.parent.name == "bin" and _is_prefix(root) else program


def _is_prefix(root: Path) -> bool:
    """Whether a folder holds one Python or Node, unlike `~/.local`, which holds much besides."""
    if (root / "share").is_dir() and root.name == ".local":
        return False
    return (root / _ENVIRONMENT).exists() or any(root.glob("lib/python3*")) or (root / "lib" / _MODULES).is_dir()


def _interpreters(program: Path, search: str) -> Iterator[Path]:
    """Yield the interpreter that a script names: in its first line, or in the second if its path has a space."""
    try:
        first, second, *_ = [*read_head(program, 2 * _FIRST_LINE).split(b"\n", 2), b""]
    except OSError:
        return
    if not first.startswith(b"#!"):
        return
    words = os.fsdecode(first[2:]).split()
    if second.startswith(b"'''exec' "):  # as pip and uv write it
        with suppress(ValueError):
            words = shlex.split(os.fsdecode(second))[1:]
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    if words and (found := shutil.which(words[0], path=search)):
        yield Path(found)
