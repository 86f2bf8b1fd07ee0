"""Makes the first snapshots of changes from the person's repository, for a thousand changes as fast as for one.

One `git fast-import` writes all commits, and one push takes them to the remote: a process per change would take half a
minute. The objects of the person's repository are borrowed, and nothing is written there.
"""

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.domain.loop.spec import LoopSpec
from spool.fleet.snapshots.carried_state import first_files
from spool.fleet.snapshots.snapshot_store import SnapshotStore, commit_head, state_commit
from spool.fleet.snapshots.tree_commits import Parents
from spool.fleet.values import SnapshotMark, ref_of
from spool.host.git.repository import Repository
from spool.nofollow import WHOLE, read_file
from spool.sources.project import Project

_TREE = "refs/spool/made/tree"


class First(msgspec.Struct, frozen=True, kw_only=True):
    """A change to submit."""

    spec: LoopSpec
    mark: SnapshotMark


async def write_first(
    store: SnapshotStore, repository: Repository, project: Project, firsts: Sequence[First]
) -> dict[str, str]:
    """Write the snapshots into a store; return the commit for each ref."""
    stream: list[bytes] = []
    for at, first in enumerate(firsts):
        number = 2 * at + 1
        stream.append(_tree_commit(repository, project, first, number))
        pieces = first_files(first.spec, algorithm=repository.object_format)
        stream.append(state_commit(first.mark, pieces, parent=f":{number}", number=number + 1))
    commits = await store.imported(stream)
    return {ref_of(first.mark.change): commit for first, commit in zip(firsts, commits, strict=True)}


def digest_of(project: Project, change: str) -> str:
    """Return a digest of the files of a change as they are in the person's tree."""
    digest = hashlib.sha256()
    for folder in project.paths_of(change):
        for path in _files(folder):
            digest.update(_entry(path, os.fsencode(os.path.relpath(path, project.root))))
    return digest.hexdigest()[:32]


def _tree_commit(repository: Repository, project: Project, first: First, number: int) -> bytes:
    """Return the commit of the tree to start from: the base, with the change as it is in the person's tree."""
    message = msgspec.json.encode(Parents(head=first.mark.base))
    lines = [commit_head(f"{_TREE}/{first.mark.change}", message, parent=first.mark.base, number=number)]
    for folder in project.paths_of(first.mark.change):
        place = os.fsencode(os.path.relpath(folder, repository.top))
        files = list(_files(folder))
        if files:
            lines.append(b"D %b\n" % quoted(place))
        lines += [_entry(path, os.fsencode(os.path.relpath(path, repository.top))) for path in files]
    return b"".join((*lines, b"\n"))


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files and links of a change, or the plan file itself; never through a link."""
    if not folder.is_dir() or folder.is_symlink():
        if os.path.lexists(folder):
            yield folder
        return
    for path, folders, names in os.walk(folder):
        folders.sort()
        yield from (Path(path, name) for name in sorted(names))


def _entry(path: Path, name: bytes) -> bytes:
    with suppress(OSError):
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            return _inline(b"120000", name, os.fsencode(path.readlink()))
        if stat.S_ISREG(mode):
            return _inline(b"100755" if mode & stat.S_IXUSR else b"100644", name, read_file(path, most_bytes=WHOLE))
    return b""


def _inline(mode: bytes, name: bytes, content: bytes) -> bytes:
    return b"M %b inline %b\ndata %d\n%b\n" % (mode, quoted(name), len(content), content)


def quoted(name: bytes) -> bytes:
    """Return a path as `git fast-import` reads it."""
    escaped = name.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"%b"' % escaped
