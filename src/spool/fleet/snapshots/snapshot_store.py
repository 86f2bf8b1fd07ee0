"""A worker's own bare repository, which fetches snapshots from their remote and pushes them there.

    refs/spool/fleet/<change>  ->  state commit     its message is the mark, its tree Spool's files of the loop
                                     |
                                   tree commit      the working tree; see `trees.py`
                                     |
                                   HEAD             the commits of the work

The state commit has no earlier one as a parent: what a snapshot replaces is garbage from then on. A push is a
compare-and-swap, and one that failed is looked up before it is believed to have failed: the answer may have been lost.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.decoders import decoded
from spool.domain.text.plain_text import one_line
from spool.errors import CommandFailed, CommandTimeout, FencedOff, SpoolError, StateError
from spool.fleet.snapshots.pieces import Piece
from spool.fleet.values import PROTOCOL, REFS, SnapshotMark, ref_of
from spool.host.external_command import Completed, checked, run_command
from spool.host.git.repository import QUIET, Repository, online_environment
from spool.host.git.workspaces.clone_pace import heard
from spool.host.git.workspaces.transport import CLONE_S, STALLED_S
from spool.host.state.files import replace_file
from spool.nofollow import make_folder, read_linked

MADE = "refs/spool/made/"
"""The prefix of a store's last snapshot per change."""
_LOCAL_S = 120.0
_PUSH_S = 600.0
_CHUNK = 500
"""Refs in one command."""
_PAUSES_S = (0.2, 1.0, 3.0, 10.0, 30.0)
"""Between two tries at a remote that does not answer; the last one repeats."""
_BELIEVED = 3
"""A refusal is believed with this many pauses left: the first ones may be locks of other pushes."""
_FETCH = (
    "fetch", "--progress", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--no-recurse-submodules", "--refmap=",
    "--force",
)  # fmt: skip
_PUSH = ("-c", "pack.compression=1", "-c", "push.followTags=false", "push", "--quiet", "--porcelain", "--no-verify")


class StoredSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot that is in the store."""

    commit: str
    tree_commit: str
    mark: SnapshotMark


class SnapshotStore:
    """The worker's bare repository for the snapshots of one remote."""

    def __init__(self, path: Path, url: str) -> None:
        self.path = path
        self.url = url

    @property
    def repository(self) -> Repository:
        """The store, for those who clone from it."""
        return Repository(self.path, self.path, self.path, self.object_format)

    @property
    def object_format(self) -> str:
        """Its git object format."""
        with suppress(OSError):
            if "sha256" in read_linked(self.path / "config").decode("utf-8", "replace"):
                return "sha256"
        return "sha1"

    async def prepare(self, object_format: str) -> None:
        """Make the repository if there is none."""
        await make_bare(self.path, object_format)

    async def fetch(self, change: str) -> StoredSnapshot | None:
        """Fetch the snapshot of a change; None if the remote has none."""
        ref = ref_of(change)
        tip = await self.tip(ref)
        if not tip:
            return None
        await self.prepare("sha256" if len(tip) == 64 else "sha1")
        await self._fetch(self.url, ref)
        return await self.fetched(ref)

    async def fetched(self, ref: str) -> StoredSnapshot:
        """Return the snapshot that a ref of this store names; raise a StateError if it is of another change."""
        snapshot = await self.read(await self._oid(ref))
        if ref_of(snapshot.mark.change) != ref:
            raise StateError(
                f"it is a snapshot of {one_line(snapshot.mark.change, 80)}, not of {ref.removeprefix(REFS)}"
            )
        return snapshot

    async def tip(self, ref: str, url: str = "") -> str:
        """Return where a ref is on the remote; empty if there is none."""
        return (await self.tips(ref, url)).get(ref, "")

    async def read(self, commit: str) -> StoredSnapshot:
        """Return a snapshot by its commit."""
        shown = await self._checked("show", "--no-patch", "--format=%P%n%B", commit)
        parents, _, message = shown.text.partition("\n")
        try:
            head = decoded(message, _MarkSchema)
            if head.protocol > PROTOCOL:
                raise StateError("the snapshot was written by a newer Spool", hint="upgrade Spool on this host")
            return StoredSnapshot(commit=commit, tree_commit=parents.split()[0], mark=decoded(message, SnapshotMark))
        except (msgspec.MsgspecError, UnicodeError, RecursionError, IndexError):
            raise StateError(f"{commit[:12]} is not a snapshot of this version of Spool") from None

    async def files(self, commit: str, *, only: Sequence[str] = ()) -> dict[str, bytes]:
        """Return Spool's files in a snapshot, by name; all of them, or some."""
        listed = await self._checked("ls-tree", "-r", "-z", "--full-tree", commit, "--", *only)
        rows = [row.partition("\t") for row in listed.text.split("\0") if row]
        oids = [about.split()[2] for about, _, _ in rows]
        batch = await self._checked("cat-file", "--batch", stdin="".join(f"{oid}\n" for oid in oids).encode())
        found, rest = {}, batch.output
        for _, _, name in rows:
            head, _, rest = rest.partition(b"\n")
            if head.endswith(b" missing"):
                raise StateError(f"{name} is missing in snapshot {commit[:12]}")
            size = int(head.split()[2])
            found[name], rest = rest[:size], rest[size + 1 :]
        return found

    async def write(self, tree_commit: str, pieces: Sequence[Piece], mark: SnapshotMark) -> StoredSnapshot:
        """Write a snapshot into the store and return it; nobody else sees it before it is pushed."""
        (commit,) = await self.imported([state_commit(mark, pieces, parent=tree_commit)])
        return StoredSnapshot(commit=commit, tree_commit=tree_commit, mark=mark)

    async def imported(self, parts: Sequence[bytes]) -> list[str]:
        """Write the commits of a stream, and return those that it asks for: one process, whatever their number."""
        made = await self._checked(*_IMPORT, stdin=b"".join(parts), timeout_s=CLONE_S)
        return made.text.split()

    async def remark(self, snapshot: StoredSnapshot, mark: SnapshotMark) -> StoredSnapshot:
        """Write the same snapshot with another mark."""
        words = ("commit-tree", f"{snapshot.commit}^{{tree}}", "-p", snapshot.tree_commit, "-F", "-")
        made = await self._checked(*_AUTHOR, *words, stdin=msgspec.json.encode(mark))
        return msgspec.structs.replace(snapshot, commit=made.text, mark=mark)

    async def push(self, new: str, old: str, ref: str, *, url: str = "", or_from: str = "") -> None:
        """Move a ref on a remote from one commit to another; raise FencedOff if it is elsewhere.

        With `or_from` it may be at another commit as well, of a push that was cut short.
        Try for as long as the remote does not answer: whoever waits no longer cancels this.
        """
        pauses = list(_PAUSES_S)
        while True:
            lease = f"--force-with-lease={ref}:{old}"
            pushed = await self._tried(*_PUSH, lease, "--", url or self.url, f"{new}:{ref}")
            if pushed is not None and pushed.exit_code == 0:
                return
            now = await self._looked_up(ref, url)
            if now == new:
                return  # it had arrived; only the answer was lost
            if now is not None and now == or_from != "":
                old, or_from = now, ""
                continue
            if now is not None and now != old:
                raise FencedOff(f"{ref} is at {now[:12] or 'nothing'}, not at {old[:12] or 'nothing'}")
            if now is not None and pushed is not None and len(pauses) <= _BELIEVED and b"!\t" in pushed.output:
                said = one_line((pushed.output + pushed.errors).decode("utf-8", "replace"), 300)
                raise Refused(f"the remote refuses {ref}: {said}")
            await asyncio.sleep(pauses.pop(0) if len(pauses) > 1 else pauses[0])

    async def keep(self, commit: str, ref: str) -> None:
        """Keep a commit under a ref of this store."""
        await self._checked("update-ref", ref, commit)

    async def commit_at(self, ref: str) -> str:
        """Return the commit of a ref of this store."""
        return await self._oid(ref)

    async def forget(self, *refs: str) -> None:
        """Drop refs of this store; what they held stays until git removes it."""
        script = "".join(f"delete {ref}\n" for ref in refs)
        await self._run("update-ref", "--no-deref", "--stdin", stdin=script.encode())

    async def tidy(self) -> None:
        """Remove what is no longer used, once there is much of it."""
        if (self.path / "HEAD").exists():
            await self._run("-c", "gc.auto=6700", "gc", "--auto", "--quiet", "--prune=1.day.ago", timeout_s=CLONE_S)

    async def push_all(self, moves: Mapping[str, tuple[str, str]]) -> dict[str, str]:
        """Move several refs on the remote, each from one commit to another; return those that were refused, and why."""
        refused: dict[str, str] = {}
        names = list(moves)
        for chunk in (names[at : at + _CHUNK] for at in range(0, len(names), _CHUNK)):
            leases = [f"--force-with-lease={ref}:{moves[ref][1]}" for ref in chunk]
            pushed = await self._run(
                *_PUSH, *leases, "--", self.url, *(f"{moves[ref][0]}:{ref}" for ref in chunk), timeout_s=CLONE_S
            )
            rows = [line.split("\t") for line in pushed.text.splitlines() if line.startswith("!\t")]
            refused |= {row[1].rpartition(":")[2]: row[2] for row in rows}
            if pushed.exit_code and not rows:
                said = one_line(pushed.errors.decode("utf-8", "replace"), 300)
                raise CommandFailed(f"cannot push to {self.url}: {said}")
        return refused

    async def tips(self, pattern: str, url: str = "") -> dict[str, str]:
        """Return where the refs of a remote are that match a pattern."""
        directory = self.path if self.path.is_dir() else Path("/")
        words = ("ls-remote", "--quiet", "--", url or self.url, pattern)
        listed = await checked(["git", *QUIET, *words], directory=directory, timeout_s=_PUSH_S, env=_environment())
        return {name: oid for oid, name in (line.split("\t", 1) for line in listed.text.splitlines())}

    async def fetch_all(self, url: str, refs: Sequence[str]) -> None:
        """Fetch refs of a remote into the same refs here."""
        for chunk in (refs[at : at + _CHUNK] for at in range(0, len(refs), _CHUNK)):
            await self._fetch(url, *chunk)

    async def borrow(self, objects: Path) -> None:
        """Use the objects of another repository on this machine as well."""
        make_folder(self.path / "objects" / "info")
        replace_file(self.path / "objects" / "info" / "alternates", os.fsencode(objects) + b"\n")

    async def head_of(self, tree_commit: str) -> str:
        """Return the commit that was checked out when a tree was recorded."""
        return await self._oid(f"{tree_commit}^1")

    async def names_in(self, commit: str) -> list[str]:
        """Return the paths of a commit's files."""
        listed = await self._checked("ls-tree", "-r", "-z", "--name-only", commit)
        return [name for name in listed.text.split("\0") if name]

    async def message_of(self, commit: str) -> str:
        """Return the message of a commit."""
        return (await self._checked("show", "--no-patch", "--format=%B", commit)).text

    async def _oid(self, name: str) -> str:
        return (await self._checked("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")).text

    async def _looked_up(self, ref: str, url: str) -> str | None:
        """Return where a ref is on a remote; None if the remote does not answer."""
        with suppress(CommandFailed, CommandTimeout):
            return await self.tip(ref, url)
        return None

    async def _tried(self, *words: str) -> Completed | None:
        with suppress(SpoolError):
            return await self._run(*words, timeout_s=_PUSH_S)
        return None

    async def _run(self, *words: str, timeout_s: float = _LOCAL_S, stdin: bytes = b"") -> Completed:
        argv = ["git", *QUIET, *words]
        return await run_command(
            argv, directory=self.path, timeout_s=timeout_s, env=_environment(self.path), stdin=stdin
        )

    async def _fetch(self, url: str, *refs: str) -> None:
        """Fetch refs into the same refs here; only a time without progress ends it."""
        argv = ["git", *QUIET, *_FETCH, "--", url, *(f"{ref}:{ref}" for ref in refs)]
        await checked(argv, directory=self.path, timeout_s=STALLED_S, env=_environment(self.path), heard=heard)

    async def _checked(self, *words: str, timeout_s: float = _LOCAL_S, stdin: bytes = b"") -> Completed:
        argv = ["git", *QUIET, *words]
        return await checked(argv, directory=self.path, timeout_s=timeout_s, env=_environment(self.path), stdin=stdin)


class Refused(CommandFailed):
    """A remote answers, and does not take a push: a hook, a protected branch, no permission."""


class _MarkSchema(msgspec.Struct):
    protocol: int


_IMPORT = ("fast-import", "--quiet", "--force", "--date-format=now")
_AUTHOR = ("-c", "user.name=spool", "-c", "user.email=spool@localhost")


def state_commit(mark: SnapshotMark, pieces: Sequence[Piece], *, parent: str, number: int = 1) -> bytes:
    """Return what makes `git fast-import` write a state commit and print its name; `parent` may be a mark (`:2`)."""
    blobs = [b"blob\n%b\n" % _data(piece.data) for piece in pieces if piece.data is not None]
    files = [b"M 100644 %b %b\n" % (piece.oid.encode(), piece.name.encode()) for piece in pieces]
    head = commit_head(f"{MADE}{mark.change}", msgspec.json.encode(mark), parent=parent, number=number)
    return b"".join((*blobs, head, b"deleteall\n", *files, b"\nget-mark :%d\n" % number))


def commit_head(ref: str, message: bytes, *, parent: str, number: int) -> bytes:
    """Return the beginning of a commit for `git fast-import`, with the files of its parent."""
    words = (ref.encode(), number, _data(message), parent.encode())
    return b"commit %b\nmark :%d\ncommitter spool <spool@localhost> now\n%b\nfrom %b\n" % words


def _data(content: bytes) -> bytes:
    return b"data %d\n%b" % (len(content), content)


def _environment(git_dir: Path | None = None) -> dict[str, str]:
    """Return the environment of a git that reaches remotes as the person does: with their credentials."""
    bound = {"GIT_DIR": str(git_dir)} if git_dir else {}
    return online_environment() | bound


async def make_bare(path: Path, object_format: str) -> None:
    """Make a bare repository for snapshots, without hooks; one that is there stays."""
    make_folder(path)
    if (path / "HEAD").exists():
        return
    words = ("init", "--quiet", "--bare", "--template=", f"--object-format={object_format}", "--", str(path))
    await checked(["git", *QUIET, *words], directory=path, timeout_s=_LOCAL_S, env=_environment())
