"""A git directory of Spool's own beside the user's, in which the working tree is recorded without touching theirs."""

import asyncio
import os
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from spool import shortcuts
from spool.domain.text.plain_text import one_line
from spool.errors import CommandFailed, CommandTimeout
from spool.host.external_command import Completed
from spool.host.git.bounded_work import in_pieces
from spool.host.git.checkpoints.pace import tell
from spool.host.git.checkpoints.record.ignore_rules import IgnoreRules, IgnoreRulesReader
from spool.host.git.checkpoints.record.mounts import mounts_below, remove_folder
from spool.host.git.checkpoints.record.pins import Pins
from spool.host.git.checkpoints.record.stamps import clock_ns
from spool.host.git.object_names import is_object_name
from spool.host.git.repository import Repository, ask_git, bound_environment, run_git
from spool.host.state.files import opened, replace_file, write_all
from spool.nofollow import make_folder, read_linked, refuse_links

_SETTINGS = """\
[core]
\trepositoryformatversion = {version}
\tbare = false
\tautocrlf = false
\tcompression = 0
\tbigFileThreshold = 1m
\tlogAllRefUpdates = false
\tsymlinks = true
\tignoreCase = {folds}
\tfileMode = true
\ttrustctime = true
\tcheckStat = default
\tsplitIndex = false
\tuntrackedCache = false
\tsparseCheckout = false
\tsharedRepository = 0600
\tprotectNTFS = false
\tprotectHFS = false
\tfsync = all
\tfsyncMethod = batch
[gc]
\tauto = 0
[pack]
\tcompression = 0
\twriteBitmaps = false
[submodule]
\trecurse = false
{extensions}"""
_ATTRIBUTES = b"* -text -ident -filter !eol !working-tree-encoding !diff\n"
_EXCLUDED = b"**/.spool/.state/\n"
_LINKLESS = ("", "info", "objects", "objects/info", "objects/pack", "refs")
"""Folders in which git would write through a link."""
_LOCK_PATIENCE_S = 1.0
_PROVED = "proved"
_NAME_LENGTHS = (40, 64)
_GLOB = re.compile(rb"[*?\[\]\\!# ]")
_FILE_BYTES = 8 << 10
"""The cost of adding one more file, in bytes of content."""
_STAGED = 0.85
"""The share of a first checkpoint that is done once the files are taken in."""
MOST_PACKS = 20
"""A checkpoint of a changed tree adds a pack; more than these are put together."""
MOST_EMPTY_BYTES = 1 << 20
"""The most that a shadow without trees may keep: a new one costs seconds in a large repository."""
TREES = "refs/spool/tree/"
"""The shadow's ref prefix."""
GATES = "gates-"
"""The owner prefix of trees that gates compare with; checkpoints have another."""


class Shadow:
    """The git directory, and the commands run in it."""

    def __init__(self, repository: Repository, *, git_dir: Path, timeout_s: float, lender: Path | None) -> None:
        """`lender` is where objects are that need not be copied."""
        self.repository = repository
        self.top = os.fsencode(repository.top)
        self.timeout_s = timeout_s
        self._lender = lender
        self.git_dir = git_dir
        self._env = bound_environment(
            self.git_dir,
            repository.top,
            GIT_CONFIG_GLOBAL=os.devnull,
            GIT_CONFIG_NOSYSTEM="1",
            GIT_LITERAL_PATHSPECS="1",
        )
        self.mounts: list[bytes] = []
        self.now_ns = 0
        """Its last preparation, by the clock that stamps its files."""
        self.rules = IgnoreRules()
        self.trees = Pins(self.git, self.git, TREES, unpacked=git_dir)
        self._reader = IgnoreRulesReader(repository, timeout_s=timeout_s)

    @property
    def index(self) -> Path:
        """The shadow's own index."""
        return self.git_dir / "index"

    async def read_rules(self) -> IgnoreRules:
        """Return the ignore rules that the user's git has now."""
        return await self._reader.read()

    async def prepare(self, rules: IgnoreRules | None = None) -> None:
        """Make the shadow if there is none, with these ignore rules or else those that the user's git has now."""
        self.rules = rules or await self.read_rules()
        await asyncio.to_thread(self._make)
        await self.unlock()

    @property
    def excluded_mounts(self) -> list[bytes]:
        """Options that keep `git ls-files` out of what is mounted in the working tree."""
        return [b"--exclude=/" + _GLOB.sub(rb"\\\g<0>", name) for name in self.mounts]

    @property
    def _config(self) -> tuple[str, ...]:
        more = f"core.excludesFile={self.git_dir / 'info' / 'more'}"
        return ("-c", more, "-c", f"core.precomposeUnicode={self.rules.precompose}")

    async def git(self, *words: str | bytes, stdin: bytes = b"") -> bytes:
        """Run git on the shadow and the user's working tree; return what it printed."""
        return (await self._run(*words, stdin=stdin)).output

    async def _run(self, *words: str | bytes, stdin: bytes = b"") -> Completed:
        return await ask_git(
            self.repository,
            *self._config,
            *(os.fsdecode(word) for word in words),
            directory=self._directory,
            timeout_s=self.timeout_s,
            env=self._env,
            stdin=stdin,
        )

    async def names(self, *words: str | bytes, stdin: bytes = b"") -> list[bytes]:
        """Run a git that prints names with `-z`."""
        return [name for name in (await self.git(*words, stdin=stdin)).split(b"\0") if name]

    async def ignored(self, names: list[bytes]) -> set[bytes]:
        """Return which of the names the user's rules ignore, tracked or not.

        This git command refuses literal pathspecs and takes `:(x)` for magic: hence the `./` before each name. With a
        slash at the end it lets rules inside a folder decide on the folder: hence none.
        """
        if not names:
            return set()
        as_user = f"core.ignoreCase={self.rules.ignore_case}"
        words = (*self._config, "-c", as_user, "check-ignore", "-z", "--stdin", "--no-index")
        done = await run_git(
            self.repository,
            *words,
            directory=self._directory,
            timeout_s=self.timeout_s,
            env={name: value for name, value in self._env.items() if name != "GIT_LITERAL_PATHSPECS"},
            stdin=b"".join(b"./" + name.rstrip(b"/") + b"\0" for name in names),
        )
        if done.exit_code > 1:
            raise CommandFailed(f"'git check-ignore' failed: {one_line(done.errors.decode('utf-8', 'replace'), 300)}")
        answer = {name[2:] for name in done.output.split(b"\0") if name}
        return {name for name in names if name.rstrip(b"/") in answer}

    async def stage(self, sizes: dict[bytes, int]) -> list[bytes]:
        """Add files to the shadow's index with their content; return the names that git refused.

        Of `.GIT/x` or a linked `.gitmodules` git only says "Ignoring path", and exits with 0.
        """
        silent, done, whole = True, 0, _weight(sizes.values())

        async def stage(names: list[bytes]) -> None:
            nonlocal silent, done
            tell("checkpoint", _STAGED * done / whole, files=len(sizes), size=whole)
            words = ("update-index", "--add", "--replace", "-z", "--stdin")
            silent &= not (await self._run(*words, stdin=b"\0".join(names) + b"\0")).errors
            done += _weight(sizes[name] for name in names)

        await in_pieces(sizes, stage, timed_out=self.unlock)
        tell("checkpoint", _STAGED, files=len(sizes), size=whole)
        if silent:
            return []
        held = {*await self.names("ls-files", "-z")} - {*await self.names("diff-files", "-z", "--name-only")}
        return [name for name in sizes if name not in held]

    async def unstage(self, names: Iterable[bytes]) -> None:
        """Drop names from the shadow's index; the files stay where they are."""
        nothing = b"0 " + b"0" * (64 if self.repository.object_format == "sha256" else 40) + b"\t"

        async def unstage(names: list[bytes]) -> None:
            lines = b"".join(nothing + name + b"\0" for name in names)
            await self.git("update-index", "-z", "--index-info", stdin=lines)

        await in_pieces(dict.fromkeys(names, 0), unstage, timed_out=self.unlock)

    async def write_tree(self) -> str:
        """Return the name of the tree that the index holds."""
        return (await self.git("write-tree")).decode().strip()

    async def prove(self, tree: str) -> None:
        """Fail unless everything that a tree names is there; what the last proved tree had is not looked at again.

        With `fsyncMethod=batch`, a git that meets a full disk may exit with 0 and leave objects out.
        """
        since = self.proved
        await self.git("rev-list", "--objects", "--quiet", tree, *([f"^{since}"] if since else []))
        self.note_proved(tree)

    @property
    def proved(self) -> str:
        """The last tree that was seen to be complete; empty if that is not known."""
        if not shortcuts.PROOFS:
            return ""
        with suppress(OSError, ValueError):
            name = read_linked(self.git_dir / _PROVED).decode("ascii")
            return name if is_object_name(name) and len(name) in _NAME_LENGTHS else ""
        return ""

    def note_proved(self, tree: str) -> None:
        """Remember that a tree is complete. Not durable: what is lost is proved anew."""
        with opened(self.git_dir / _PROVED, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as descriptor:
            write_all(descriptor, tree.encode())

    def forget_proof(self) -> None:
        """Have the next tree checked whole."""
        (self.git_dir / _PROVED).unlink(missing_ok=True)

    @property
    def packs_prove(self) -> bool:
        """Whether `secure` reads all that a tree has beyond HEAD. A partial clone may lack what HEAD names."""
        return shortcuts.PROOFS and self._lender is not None and not any((self._lender / "pack").glob("*.promisor"))

    async def secure(self, tree: str, *, head: str | None, safe: Iterable[str]) -> None:
        """Copy what a tree borrows from the user's repository: their `git gc` may come. Fail if any of it is missing.

        What the pinned HEAD has, or a tree that is already safe, is not copied. HEAD is named by its tree: a commit
        would leave nothing out here, and 100,000 files would be copied each time.
        """
        if self._lender is None:
            return
        wanted = [tree, *([f"^{head}^{{tree}}"] if head else []), *(f"^{one}" for one in safe)]
        try:
            await self._pack("--revs", stdin="\n".join([*wanted, ""]).encode())
        except CommandTimeout:
            rows = (await self.git("rev-list", "--objects", *wanted)).splitlines()
            names = dict.fromkeys((row.partition(b" ")[0] for row in rows), 0)
            await in_pieces(names, self._pack_piece, timed_out=self.unlock)

    async def _pack_piece(self, names: list[bytes]) -> None:
        await self._pack(stdin=b"\n".join(names) + b"\n")

    async def _pack(self, *words: str, stdin: bytes) -> None:
        for torn in (self.git_dir / "objects" / "pack").glob("tmp_pack_*"):  # of a git that was killed
            torn.unlink(missing_ok=True)
        await self.git(
            "pack-objects", *words, "--quiet", "--non-empty", "--window=0", "--threads=1",
            os.fsencode(self.git_dir / "objects" / "pack" / "pack"),
            stdin=stdin,
        )  # fmt: skip

    @property
    def holds_trees(self) -> bool:
        """Whether any checkpoint or attempt has a tree here."""
        return any((self.git_dir / TREES).glob("*/*"))

    async def tidy(self) -> None:
        """Put small packs together, and remove what no checkpoint holds any more.

        By way of a multi-pack index, which looks at this object directory only: before git 2.41, `repack --geometric`
        took in packs of the repository that objects are borrowed from.
        """
        packs = len(list((self.git_dir / "objects" / "pack").glob("*.pack")))
        if not self.holds_trees and await asyncio.to_thread(self._size) > MOST_EMPTY_BYTES:
            await asyncio.to_thread(self._begin_anew)
        elif packs > MOST_PACKS:
            for words in (("write",), ("repack", "--batch-size=0"), ("expire",)):
                await self.git("multi-pack-index", *words)
            await self.git("prune-packed", "-q")

    def _size(self) -> int:
        return sum(path.stat().st_size for path in (self.git_dir / "objects").rglob("*") if path.is_file())

    def _begin_anew(self) -> None:
        self.forget()
        remove_folder(self.git_dir / "objects")
        self._make()

    def forget(self) -> None:
        """Drop the index, so that every file is read anew; what was saved stays."""
        self.forget_proof()
        for name in ("index", "index.lock"):
            (self.git_dir / name).unlink(missing_ok=True)

    @property
    def _directory(self) -> Path:
        # A nested repository that the agent removed has no folder to stand in any more.
        return self.repository.top if self.repository.top.is_dir() else self.git_dir

    def _make(self) -> None:
        """Make it by hand: `git init` would copy the user's templates, hooks and all."""
        for folder in ("objects/info", "objects/pack", "refs/heads", "info"):
            make_folder(self.git_dir / folder)
        refuse_links(*(self.git_dir / folder for folder in _LINKLESS))
        sha256 = self.repository.object_format == "sha256"
        extensions = "[extensions]\n\tobjectFormat = sha256\n" if sha256 else ""
        folds = (self.git_dir / "INFO").exists()  # what the file system does, whatever the user's setting says
        settings = _SETTINGS.format(version=int(sha256), folds=str(folds).lower(), extensions=extensions)
        lent = os.fsencode(self._lender) + b"\n" if self._lender else b""
        for name, content in {
            "config": settings.encode(),
            "info/attributes": _ATTRIBUTES,
            "info/exclude": self.rules.exclude + b"\n" + _EXCLUDED,
            "info/more": self.rules.more,
            "objects/info/alternates": lent,
            "HEAD": b"ref: refs/heads/spool\n",
        }.items():
            path = self.git_dir / name
            if not path.is_file() or read_linked(path) != content:
                replace_file(path, content)
        self.mounts = mounts_below(self.top)
        self.now_ns = clock_ns(self.git_dir)

    async def unlock(self) -> None:
        """Remove a lock of the shadow's own, left by a git that was killed; one still at work gets a moment."""
        locks = [self.git_dir / "index.lock", self.git_dir / "packed-refs.lock"]
        locks += (self.git_dir / TREES).glob("*/*.lock")
        await remove_locks(locks)


async def remove_locks(locks: list[Path]) -> None:
    """Remove locks that are known to be Spool's own; a git that is still at work gets a moment to finish."""
    patience = time.monotonic() + _LOCK_PATIENCE_S
    while locks := [lock for lock in locks if lock.exists()]:
        if time.monotonic() > patience:
            for lock in locks:
                lock.unlink(missing_ok=True)
        await asyncio.sleep(0.02)


def _weight(sizes: Iterable[int]) -> int:
    return sum(size + _FILE_BYTES for size in sizes) or 1
