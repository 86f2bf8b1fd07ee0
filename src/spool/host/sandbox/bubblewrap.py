"""The command line of bubblewrap: the whole file system read-only, and everything private hidden."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

_RESOLVER = Path("/etc/resolv.conf")
_SCRATCH = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108 - the fence has its own


@dataclass(frozen=True, kw_only=True)
class View:
    """The file system as a fenced-in command sees it."""

    hidden: tuple[Path, ...]
    """Folders that look empty, but for what is shown again below."""
    read: frozenset[Path]
    write: frozenset[Path]
    links: Mapping[Path, str]
    """Symbolic links to make in hidden folders."""
    swapped: Mapping[Path, Path]
    """Writable files that stand at another path inside."""


def words_of(view: View, *, program: str, net: bool, directory: Path) -> list[str]:
    """Return the words before a fenced-in command."""
    words = [program, "--die-with-parent", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
    words += ["--unshare-cgroup-try", "--cap-drop", "ALL", *([] if net else ["--unshare-net"])]
    words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for folder in view.hidden:
        words += ["--tmpfs", str(folder)]
    resolver = _RESOLVER.resolve()
    if net and any(resolver.is_relative_to(folder) for folder in view.hidden):
        words += ["--ro-bind-try", str(resolver), str(resolver)]
    for path in _by_depth(view.read):
        words += ["--ro-bind-try", str(path), str(path)]
    for path in _by_depth(view.write):
        words += ["--bind-try", str(path), str(path)]
    for inside, outside in view.swapped.items():
        words += ["--bind-try", str(outside), str(inside)]
    for link, target in sorted(view.links.items()):
        words += ["--symlink", target, str(link)]
    for folder in view.hidden:
        if folder not in _SCRATCH:
            words += ["--remount-ro", str(folder)]
    return [*words, "--chdir", str(directory), "--"]


def outermost(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return the folders of a list that exist, without those that lie in another one."""
    found: list[Path] = []
    for path in _by_depth({path.resolve() for path in paths if path.is_dir()}):
        if not any(path.is_relative_to(other) for other in found):
            found.append(path)
    return tuple(found)


def _by_depth(paths: Iterable[Path]) -> list[Path]:
    return sorted(paths, key=lambda path: (len(path.parts), os.fsencode(path)))
