"""Submits changes: makes their first snapshots, and puts them into the queue."""

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from spool.domain.change.workspaces import branch_of_change, workspace_in_fleet
from spool.domain.loop.spec import LoopSpec
from spool.errors import CommandFailed, Hint, UsageError
from spool.fleet.queue.embedded_server import local_server, snapshots_here
from spool.fleet.queue.payloads import QueuedChange
from spool.fleet.queue.queue import open_queue
from spool.fleet.snapshots.first_snapshots import First, digest_of, write_first
from spool.fleet.snapshots.snapshot_reading import Found, read_marks, with_state
from spool.fleet.snapshots.snapshot_store import SnapshotStore, make_bare
from spool.fleet.values import (
    HEARTBEAT_S,
    REFS,
    ChangeStage,
    SnapshotMark,
    fleet_id,
    has_ref,
    holds_secret,
    ref_of,
    repository_id,
)
from spool.host.git.repository import NoRepository, Repository, find_repository, head_of, run_git
from spool.host.git.workspaces.clones import author_of
from spool.sources.project import Project

_DEFAULT_BASE = "main"
_UNFINISHED = "it has a snapshot from which it can continue"
_UNNAMED = "git takes no ref of this name; give the change another one"
_UNEDITED = "it is done, and you have not edited it since"


class SubmitOptions(msgspec.Struct, frozen=True, kw_only=True):
    """A person's options."""

    remote: str = ""
    """The repository for the results; `origin` if it is empty."""
    snapshots: str = ""
    base: str = ""
    account: str = ""
    heartbeat_s: float = HEARTBEAT_S
    carry_logs: bool = False


class Submitted(msgspec.Struct, frozen=True, kw_only=True):
    """A change's submission."""

    id: str
    change: str
    refused: str = ""
    """Why it is not in the queue because of this; empty if it is."""
    hint: str = ""
    """The remedy, a value of `errors.Hint`."""
    unreadable: bool = False
    """Whether it was refused because its snapshot cannot be read."""


def submit(
    order: SubmitOptions, project: Project, specs: Sequence[LoopSpec], left_out: Mapping[str, str]
) -> list[Submitted]:
    """Submit changes of one project, and return what became of each, and of those left out for the reasons given."""
    making = _Submission(order, Path(specs[0].root), specs[0].settings.command_timeout)
    return asyncio.run(making.make(project, specs, left_out))


def resubmit(order: SubmitOptions, root: Path, *, timeout_s: float) -> list[Submitted]:
    """Put all changes into the queue whose snapshots say that they have not ended: the queue was lost."""
    return asyncio.run(_Submission(order, root, timeout_s).rebuild())


class _Submission:
    def __init__(self, order: SubmitOptions, root: Path, timeout_s: float) -> None:
        self._order = order
        self._root = root
        self._timeout_s = timeout_s

    async def make(self, project: Project, specs: Sequence[LoopSpec], left_out: Mapping[str, str]) -> list[Submitted]:
        repository = await self._repository()
        remote = await self._remote(repository)
        url = await self._snapshots(remote, repository)
        queue = await open_queue()
        ids = {fleet_id(remote, spec.change): spec for spec in specs}
        refused = await queue.taken(list(ids))
        refused |= {key: _UNNAMED for key, spec in ids.items() if not has_ref(spec.change)}
        with tempfile.TemporaryDirectory(prefix="spool-submit-") as folder:
            store = SnapshotStore(Path(folder) / "store.git", url)
            await store.prepare(repository.object_format)
            await store.borrow(repository.common_dir / "objects")
            there = await store.tips(f"{REFS}*")
            wanted = {key: spec for key, spec in ids.items() if key not in refused}
            found = await self._known(store, there, wanted)
            known = {fleet_id(remote, mark.change): mark for mark in found.marks.values()}
            unread = _unreadable(remote, found)
            contents = {key: digest_of(project, spec.change) for key, spec in wanted.items()}
            refused |= await queue.opened([key for key, mark in known.items() if mark.stage is ChangeStage.SUBMITTED])
            unfinished = {key: f"{_UNFINISHED} ({mark.stage})" for key, mark in known.items() if _is_begun(mark)}
            unedited = {key: _UNEDITED for key, mark in known.items() if _is_done(mark, contents[key])}
            refused |= unfinished | unedited | {row.id: row.refused for row in unread}
            wanted = {key: spec for key, spec in wanted.items() if key not in refused}
            firsts = await self._firsts(repository, remote, store, list(wanted.values()), contents)
            made = await write_first(store, repository, project, firsts)
            lost = await store.push_all({ref: (commit, there.get(ref, "")) for ref, commit in made.items()})
        refused |= {fleet_id(remote, ref.removeprefix(REFS)): f"not pushed: {why}" for ref, why in lost.items()}
        task = self._task(remote, url)
        started = {key: spec.change for key, spec in wanted.items() if key not in refused}
        refused |= await queue.start(task, started)
        hints = dict.fromkeys(unfinished, Hint.FLEET_RETRY) | dict.fromkeys(unedited, Hint.FLEET_DONE)
        return (
            [
                Submitted(id=key, change=spec.change, refused=refused.get(key, ""), hint=hints.get(key, ""))
                for key, spec in ids.items()
                if key not in {row.id for row in unread}
            ]
            + unread
            + [
                Submitted(id=fleet_id(remote, change), change=change, refused=why, hint=Hint.FLEET_DEPENDS)
                for change, why in left_out.items()
            ]
        )

    async def rebuild(self) -> list[Submitted]:
        repository = await self._repository()
        remote = await self._remote(repository)
        url = await self._snapshots(remote, repository)
        queue = await open_queue()
        with tempfile.TemporaryDirectory(prefix="spool-submit-") as folder:
            store = SnapshotStore(Path(folder) / "store.git", url)
            await store.prepare(repository.object_format)
            await store.borrow(repository.common_dir / "objects")
            refs = sorted(await store.tips(f"{REFS}*"))
            read = await read_marks(store, refs)
            open_marks = {ref: mark for ref, mark in read.marks.items() if _is_open(mark)}
            found = await with_state(store, Found(marks=open_marks, unreadable=read.unreadable))
        submitted = _unreadable(remote, found)
        for account in {mark.account for mark in found.marks.values()}:
            marks = [mark for mark in found.marks.values() if mark.account == account]
            ids = {fleet_id(mark.remote, mark.change): mark for mark in marks}
            refused = await queue.taken(list(ids))
            for code in {mark.remote for mark in marks}:
                task = msgspec.structs.replace(self._order, account=account)
                changes = {key: mark.change for key, mark in ids.items() if mark.remote == code and key not in refused}
                refused |= await queue.start(_Submission(task, self._root, self._timeout_s)._task(code, url), changes)
            submitted += [
                Submitted(id=key, change=mark.change, refused=refused.get(key, "")) for key, mark in ids.items()
            ]
        return submitted

    def _task(self, remote: str, snapshots: str) -> QueuedChange:
        order = self._order
        return QueuedChange(
            remote=remote,
            snapshots=snapshots,
            change="",
            account=order.account,
            heartbeat_s=order.heartbeat_s,
            carry_logs=order.carry_logs,
        )

    async def _repository(self) -> Repository:
        found = await find_repository(self._root, timeout_s=self._timeout_s)
        if isinstance(found, NoRepository):
            raise UsageError(f"a git repository is required: {found.why}", hint="install git, or run: git init")
        return found

    async def _remote(self, repository: Repository) -> str:
        return _existing(await remote_of(repository, self._order.remote, timeout_s=self._timeout_s))

    async def _snapshots(self, remote: str, repository: Repository) -> str:
        """Return where snapshots go; the repository for them is made only beside the server of this machine."""
        if self._order.snapshots:
            return _existing(without_secret(absolute(self._order.snapshots, Path.cwd())))
        if local_server() is None:
            why = "there is no place for snapshots: no server was started on this machine"
            raise UsageError(why, hint=Hint.FLEET_SNAPSHOTS)
        path = snapshots_here(repository_id(remote))
        await make_bare(path, repository.object_format)
        return str(path)

    async def _known(self, store: SnapshotStore, there: Mapping[str, str], wanted: Mapping[str, LoopSpec]) -> Found:
        """Return the last snapshots of changes; a fresh start asks for none."""
        refs = [ref_of(spec.change) for spec in wanted.values() if not spec.fresh]
        return await read_marks(store, [ref for ref in refs if ref in there])

    async def _firsts(
        self,
        repository: Repository,
        remote: str,
        store: SnapshotStore,
        specs: Sequence[LoopSpec],
        contents: Mapping[str, str],
    ) -> list[First]:
        base = await self._base(repository)
        names = await author_of(repository)
        author = (names.get("user.name", ""), names.get("user.email", ""))
        left = await store.tips(f"refs/heads/{branch_of_change('*')}", remote)
        branches = {f"refs/heads/{branch_of_change(spec.change)}": spec for spec in specs}
        await store.fetch_all(remote, [ref for ref in branches if ref in left])
        inside = self._root.resolve().relative_to(repository.top.resolve())
        return [
            First(
                spec=spec,
                mark=SnapshotMark(
                    change=spec.change,
                    remote=remote,
                    account=self._order.account,
                    base=left.get(ref, base),
                    left=left.get(ref, ""),
                    author=author,
                    workspace=workspace_in_fleet(fleet_id(remote, spec.change), spec.run_id),
                    inside="" if str(inside) == "." else str(inside),
                    content=contents[fleet_id(remote, spec.change)],
                ),
            )
            for ref, spec in branches.items()
        ]

    async def _base(self, repository: Repository) -> str:
        """Return the commit to start from: of the branch that is named, or of main, or else the one checked out."""
        wanted = self._order.base or _DEFAULT_BASE
        for name in (f"refs/heads/{wanted}", f"refs/remotes/origin/{wanted}", *([wanted] if self._order.base else [])):
            words = ("rev-parse", "--quiet", "--verify", f"{name}^{{commit}}")
            found = await run_git(repository, *words, timeout_s=self._timeout_s)
            if not found.exit_code:
                return found.text
        if self._order.base:
            raise UsageError(f"there is no branch or commit {wanted} to start from")
        head = await head_of(repository, timeout_s=self._timeout_s)
        if not head:
            raise UsageError("a fleet needs a commit to start from", hint="commit something first: git commit")
        return head


def _unreadable(remote: str, found: Found) -> list[Submitted]:
    return [
        Submitted(
            id=fleet_id(remote, ref.removeprefix(REFS)),
            change=ref.removeprefix(REFS),
            refused=f"its snapshot cannot be read: {why}",
            hint=Hint.FLEET_UNREADABLE,
            unreadable=True,
        )
        for ref, why in found.unreadable.items()
    ]


def _is_open(mark: SnapshotMark) -> bool:
    """Whether a change has not ended, or its result is not on its branch."""
    return not mark.ended or (mark.stage is ChangeStage.DONE and not mark.delivered)


def _is_begun(mark: SnapshotMark) -> bool:
    """Whether there is work to continue; one that no host has taken is submitted anew, as it is now."""
    return mark.stage not in (ChangeStage.DONE, ChangeStage.SUBMITTED)


def _is_done(mark: SnapshotMark, content: str) -> bool:
    """Whether all of a change is done as it is now; one that a person has edited since has more to do."""
    return mark.stage is ChangeStage.DONE and mark.content == content


async def remote_of(repository: Repository, given: str, *, timeout_s: float) -> str:
    """Return the URL of the repository for results: the one that is given, or that of `origin`."""
    if given:
        return without_secret(absolute(given, Path.cwd()))
    asked = await run_git(repository, "remote", "get-url", "origin", timeout_s=timeout_s)
    if asked.exit_code:
        raise UsageError("where do the results go? there is no remote 'origin'", hint=Hint.FLEET_REMOTE)
    return without_secret(absolute(asked.text, repository.top))


def without_secret(url: str) -> str:
    """Return a URL; refuse one with a password or a token, which everybody would see in the queue."""
    if holds_secret(url):
        raise UsageError("the URL holds a password or a token", hint="workers use their own credentials: leave it out")
    return url


def absolute(url: str, base: Path) -> str:
    """Return a URL; a path on this machine as an absolute one, whether or not it is there now."""
    local = base / Path(url).expanduser()
    if "://" in url or (":" in url and not local.exists()):
        return url
    return str(local.resolve())


def _existing(url: str) -> str:
    if url.startswith("/") and not Path(url).exists():
        raise CommandFailed(f"there is no repository at {url}")
    return url
