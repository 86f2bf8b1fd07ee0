"""Folders without files, which git neither records nor lists one by one."""

import os
from collections import deque
from collections.abc import Callable, Iterable

import msgspec

from spool.host.git.checkpoints.paths import ExcludedPaths
from spool.host.git.checkpoints.record.folders import folders_of
from spool.host.git.checkpoints.record.shadow import Shadow
from spool.host.threads import Pulse, in_thread

_MORE = 500
"""Folders to look into beyond those that are known not to be ignored, before git is asked about them."""


class _Look(msgspec.Struct):
    """Findings of a look into folders."""

    seen: set[bytes] = set()
    full: set[bytes] = set()
    """Folders with a file in them, or that cannot be read."""
    folders: set[bytes] = set()
    others: set[bytes] = set()
    """FIFOs, sockets and devices, which git does not list."""


async def find_bare(
    shadow: Shadow,
    spare: ExcludedPaths,
    start: Iterable[bytes],
    known: Iterable[bytes],
    is_worktree: Callable[[bytes], bool],
) -> list[bytes]:
    """Return the outermost bare folders at and below the given ones, without the known ones.

    A folder is bare if no file is in it or below it, a `.git` aside, and nothing that is ignored or spared. Other
    working trees are not bare, and not entered. Neither are ignored folders: a `node_modules` has 100,000 files.
    """
    seen, full = set[bytes](), set[bytes]()
    waiting = [name for name in start if not spare.covers(name)]
    while waiting:
        found = await _looked(shadow.top, waiting, is_worktree)
        below = found.folders | found.others
        stays = {name for name in below if spare.covers(name)}
        stays |= await shadow.ignored(sorted(below - stays))
        seen |= found.seen
        full |= found.full | stays
        waiting = sorted(found.folders - stays - seen)
    full |= folders_of([*full])
    bare = seen - full - frozenset(known)
    return sorted(name for name in bare if name.rpartition(b"/")[0] not in bare)


async def _looked(top: bytes, names: list[bytes], is_worktree: Callable[[bytes], bool]) -> _Look:
    return await in_thread(lambda pulse: _look(top, names, is_worktree, pulse))


def _look(top: bytes, names: list[bytes], is_worktree: Callable[[bytes], bool], pulse: Pulse) -> _Look:
    look = _Look()
    waiting = deque(names)
    while waiting and len(look.seen) < len(names) + _MORE:
        pulse()
        name = waiting.popleft()
        if name in look.seen:
            continue
        if is_worktree(name):
            look.full.add(name)
            continue
        try:
            with os.scandir(top + b"/" + name) as entries:
                waiting += _sort(name, [entry for entry in entries if entry.name != b".git"], look)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            look.full.add(name)
    return look


def _sort(folder: bytes, entries: list[os.DirEntry[bytes]], look: _Look) -> list[bytes]:
    """Note what is in a folder; return the folders in it."""
    look.seen.add(folder)
    below = [folder + b"/" + entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    look.folders.update(below)
    for entry in entries:
        if entry.is_file(follow_symlinks=False) or entry.is_symlink():
            look.full.add(folder)
        elif not entry.is_dir(follow_symlinks=False):
            look.others.add(folder + b"/" + entry.name)
    return below
