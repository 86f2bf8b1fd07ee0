"""A disk that loses power: records what the store writes, and lays out every state that a power cut may leave.

The calls are the real ones, made in a real folder. What survives follows POSIX: data are safe once their file is
synced, names once their folder is; everything else may be there, be missing, or be half there, in any combination. A
rename is one step, as in every journaling file system. A name is lost with the folder that holds it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import combinations, product
from pathlib import Path
from unittest.mock import patch

FOLDER = -1
"""The inode number that stands for any folder."""


@dataclass(frozen=True)
class NameStep:
    """A change of names that is one step: each name gets an inode, or None where it goes."""

    names: tuple[tuple[str, int | None], ...]

    def touches(self, folder: str) -> bool:
        return any(os.path.dirname(name) == folder for name, _ in self.names)


@dataclass(frozen=True)
class DataStep:
    """Bytes added to an inode, or, with None, its truncation."""

    inode: int
    data: bytes | None


@dataclass(frozen=True)
class Sync:
    """The sync of a file, or of a folder."""

    inode: int
    folder: str = ""


Step = NameStep | DataStep | Sync
State = tuple[tuple[str, int, bytes], ...]
"""Each name that is left, with its inode and content."""


@dataclass
class PowerlessDisk:
    """The steps below one folder, and what is safe of them."""

    root: Path
    steps: list[Step] = field(default_factory=list)
    _live: dict[str, int] = field(default_factory=dict)
    _open: dict[int, tuple[int, str]] = field(default_factory=dict)
    _inodes: int = 0

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record the calls of the block."""
        wrappers: dict[str, Callable[..., object]] = {
            "open": self._opened, "write": self._wrote, "fsync": self._synced, "close": self._closed,
            "rename": self._renamed, "replace": self._renamed, "link": self._linked, "unlink": self._unlinked,
            "mkdir": self._made,
        }  # fmt: skip
        originals = {name: getattr(os, name) for name in wrappers}

        def wrapped(name: str) -> Callable[..., object]:
            def call(*args: object, **kwargs: object) -> object:
                return wrappers[name](originals[name], *args, **kwargs)

            return call

        with ExitStack() as patches:
            for name in wrappers:
                patches.enter_context(patch.object(os, name, wrapped(name)))
            yield

    def states(self, crash_after: int) -> Iterator[State]:
        """Yield each state that a power cut after this many steps may leave."""
        names, data, pending_names, pending_data = _safe(self.steps[:crash_after])
        subsets = [kept for size in range(len(pending_names) + 1) for kept in combinations(pending_names, size)]
        contents = [[(inode, text) for text in _variants(data.get(inode, b""), todo)] for inode, todo in pending_data]
        for kept, chosen in product(subsets, product(*contents)):
            found: dict[str, int | None] = {}
            for _, step in sorted([*names, *kept], key=lambda numbered: numbered[0]):
                found.update(step.names)
            yield _reachable(found, {**data, **dict(chosen)}, str(self.root))

    def _inside(self, path: object, folder: object = None) -> str | None:
        """Return a path below the root, which may be relative to an open folder; None for any other."""
        if isinstance(path, int):
            return None
        base = Path.cwd() if folder is None else Path(f"/proc/self/fd/{folder}").readlink()
        text = os.path.abspath(base / os.fsdecode(path))  # type: ignore[arg-type]
        return text if text.startswith(str(self.root) + os.sep) or text == str(self.root) else None

    def _named(self, *names: tuple[str | None, int | None]) -> None:
        inside = tuple((name, inode) for name, inode in names if name is not None)
        self.steps.append(NameStep(inside))
        for name, inode in inside:
            if inode is None:
                self._live.pop(name, None)
            else:
                self._live[name] = inode

    def _opened(self, real: Callable[..., int], path: object, flags: int, *rest: object, **more: object) -> int:
        name = self._inside(path, more.get("dir_fd"))
        new = name is not None and not os.path.lexists(name)
        descriptor = real(path, flags, *rest, **more)
        if name is not None and new:
            self._inodes += 1
            self._named((name, self._inodes))
        if name is not None:
            inode = FOLDER if os.path.isdir(name) else self._live[name]
            self._open[descriptor] = (inode, name)
            if flags & os.O_TRUNC and not new:
                self.steps.append(DataStep(inode, None))
        return descriptor

    def _wrote(self, real: Callable[..., int], descriptor: int, data: bytes) -> int:
        count = real(descriptor, data)
        if descriptor in self._open:
            self.steps.append(DataStep(self._open[descriptor][0], bytes(data[:count])))
        return count

    def _synced(self, real: Callable[..., None], descriptor: int) -> None:
        real(descriptor)
        if descriptor in self._open:
            inode, name = self._open[descriptor]
            self.steps.append(Sync(inode, name if inode == FOLDER else ""))

    def _closed(self, real: Callable[..., None], descriptor: int) -> None:
        self._open.pop(descriptor, None)
        real(descriptor)

    def _renamed(self, real: Callable[..., None], old: object, new: object, **more: object) -> None:
        real(old, new, **more)
        source, target = self._inside(old, more.get("src_dir_fd")), self._inside(new, more.get("dst_dir_fd"))
        if source is None or target is None:
            return
        moved = {name: inode for name, inode in self._live.items() if name.startswith(source + os.sep)}
        below = [(target + name[len(source) :], inode) for name, inode in moved.items()]
        gone = [(name, None) for name in (source, *moved)]
        self._named((target, self._live[source]), *below, *gone)

    def _linked(self, real: Callable[..., None], old: object, new: object, **more: object) -> None:
        real(old, new, **more)
        source, target = self._inside(old, more.get("src_dir_fd")), self._inside(new, more.get("dst_dir_fd"))
        if source is not None:
            self._named((target, self._live[source]))

    def _unlinked(self, real: Callable[..., None], path: object, **more: object) -> None:
        real(path, **more)
        if (name := self._inside(path, more.get("dir_fd"))) is not None:
            self._named((name, None))

    def _made(self, real: Callable[..., None], path: object, *rest: object, **more: object) -> None:
        real(path, *rest, **more)
        if (name := self._inside(path, more.get("dir_fd"))) is not None:
            self._named((name, FOLDER))


Numbered = list[tuple[int, NameStep]]
Pending = list[tuple[int, list[DataStep]]]


def _safe(steps: list[Step]) -> tuple[Numbered, dict[int, bytes], Numbered, Pending]:
    """Return the safe changes of names and the safe data after these steps, and the steps that are not safe yet."""
    safe: Numbered = []
    unsafe: Numbered = []
    data: dict[int, bytes] = {}
    open_data: dict[int, list[DataStep]] = {}
    for number, step in enumerate(steps):
        match step:
            case NameStep():
                unsafe.append((number, step))
            case DataStep(inode):
                open_data.setdefault(inode, []).append(step)
            case Sync(folder="") as sync:
                data[sync.inode] = _applied(data.get(sync.inode, b""), open_data.pop(sync.inode, []))
            case Sync(folder=folder):
                safe += [one for one in unsafe if one[1].touches(folder)]
                unsafe = [one for one in unsafe if not one[1].touches(folder)]
    return safe, data, unsafe, list(open_data.items())


def _applied(content: bytes, steps: list[DataStep]) -> bytes:
    for step in steps:
        content = b"" if step.data is None else content + step.data
    return content


def _variants(content: bytes, steps: list[DataStep]) -> list[bytes]:
    """Return what may be left of an inode: nothing of the steps, some, all, half of the last, or zeros for it."""
    done = [_applied(content, steps[:count]) for count in range(len(steps) + 1)]
    last = steps[-1].data or b""
    torn = [done[-2] + last[: len(last) // 2], done[-2] + bytes(len(last))] if last else []
    return list(dict.fromkeys([*done, *torn]))


def _reachable(names: dict[str, int | None], data: dict[int, bytes], root: str) -> State:
    folders, found = {root}, []
    for name, inode in sorted(names.items()):
        if inode is not None and os.path.dirname(name) in folders:
            found.append((name, inode, data.get(inode, b"")))
            if inode == FOLDER:
                folders.add(name)
    return tuple(found)


def lay_out(state: State, root: Path, target: Path) -> None:
    """Make the files, links and folders of a state in another folder."""
    made: dict[int, Path] = {}
    for name, inode, content in state:
        path = target / Path(name).relative_to(root)
        if inode == FOLDER:
            path.mkdir()
        elif inode in made:
            os.link(made[inode], path)
        else:
            path.write_bytes(content)
            made[inode] = path
