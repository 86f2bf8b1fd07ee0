"""Lists what Spool keeps about a repository, with sizes, and removes it."""

import asyncio
from contextlib import AbstractContextManager, suppress
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from spool.app.changes.resolver import project_root
from spool.app.landing.checks import landing_memory
from spool.app.loops.loop_list import loop_at, running
from spool.app.loops.state_mirror import mirror_of
from spool.app.verifying.gate_construction import noted_tasks
from spool.domain.loop.summary import STATE, LoopKind, LoopSummary
from spool.domain.loop.verdict import Status
from spool.errors import Hint, SpoolError, UsageError
from spool.host.clock import SystemClock
from spool.host.disk_usage import bytes_of, remove, remove_if_empty
from spool.host.gates.gate_memory import GateMemory
from spool.host.gates.hook_memory import HookMemory
from spool.host.git.checkouts import checkouts
from spool.host.git.checkpoints.checkpoints import Checkpoints
from spool.host.git.repository import Repository, ask_git, find_repository
from spool.host.git.workspaces.clones import clones_of
from spool.host.state.landings import Landings
from spool.host.state.lock import TreeWork, held_for
from spool.host.state.loop_files import own_excludes, remove_own_files, show_own_files
from spool.host.state.loop_store import StateFolder
from spool.host.state.run_registry import this_machine
from spool.host.state.specs import spec_path
from spool.host.state.trust_record import grant_path
from spool.nofollow import Linked, folder_names

_TIMEOUT_S = 120.0


class KeptLoop(msgspec.Struct, frozen=True, kw_only=True):
    """The state of one loop."""

    door: str
    change: str
    status: Status | None
    """None if its state is missing or unreadable."""
    active_at: datetime | None
    root: Path
    paths: tuple[Path, ...]
    bytes: int


class KeptThing(msgspec.Struct, frozen=True, kw_only=True):
    """Something that all loops of a repository share."""

    what: str
    where: str
    bytes: int = 0
    count: int = 0


class Footprint(msgspec.Struct, frozen=True, kw_only=True):
    """All that Spool keeps about a repository."""

    root: Path
    loops: tuple[KeptLoop, ...]
    things: tuple[KeptThing, ...]

    @property
    def bytes(self) -> int:
        """The space that all of it takes."""
        return sum(loop.bytes for loop in self.loops) + sum(thing.bytes for thing in self.things)


class Traces:
    """The files and refs of Spool that belong to the repository around a directory."""

    def __init__(self, here: Path) -> None:
        self.root = project_root(here)
        found = asyncio.run(find_repository(self.root, timeout_s=_TIMEOUT_S))
        self.repository = found if isinstance(found, Repository) else None
        project = str(self.repository.main if self.repository else self.root)
        self._runs = [loop for loop in this_machine().runs() if loop.project == project]
        trees = [Path(one.path) for one in checkouts(self.root)] if self.repository else []
        self.roots = sorted({self.root, *trees, *(Path(loop.root) for loop in self._runs if loop.root)})

    def footprint(self) -> Footprint:
        """Return what there is, with sizes."""
        return Footprint(root=self.root, loops=tuple(self._loops()), things=tuple(self._things()))

    def _loops(self) -> list[KeptLoop]:
        folders = [path for root in self.roots for path in _loop_folders(root)]
        here = [path for path in folders if path.is_relative_to(self.root) or (path / "state.json").exists()]
        return [self._loop(path) for path in here]

    def _loop(self, folder: Path) -> KeptLoop:
        root, door, change = folder.parents[3], folder.parent.name, folder.name
        summary: LoopSummary | None = None
        with suppress(SpoolError, OSError):
            summary = loop_at(root, LoopKind(door), change)
        runs = [this_machine().beside(loop.run_id, "*").name for loop in self._runs if loop.folder == str(folder)]
        files = [path for name in runs for path in this_machine().folder.glob(name)]
        own = [GateMemory(str(folder)).folder, noted_tasks(str(root), change).folder, spec_path(str(folder)), *files]
        mirror = [mirror_of(folder, self.repository)] if self.repository and root == self.root else []
        paths = tuple(path for path in (folder, *mirror, *own) if path.exists())
        return KeptLoop(
            door=door,
            change=change,
            status=summary.status if summary else None,
            active_at=StateFolder(folder).active_at(),
            root=root,
            paths=paths,
            bytes=bytes_of(paths),
        )

    def _things(self) -> list[KeptThing]:
        found: list[KeptThing] = []
        if self.repository is not None:
            common, spool = self.repository.common_dir, self.repository.spool_dir
            folders = {
                "checkpoints and discarded attempts": spool / "shadow",
                "locks": spool / "locks",
                "clones that loops work in": clones_of(self.repository),
                "what became of landings": Landings(common).folder,
            }
            found += [KeptThing(what=what, where=str(at), bytes=bytes_of([at])) for what, at in folders.items()]
            excludes = len(own_excludes(common))
            found += [
                KeptThing(what="refs that keep recorded trees", where="refs/spool", count=len(self._refs())),
                KeptThing(what="lines that hide loop files", where=str(common / "info/exclude"), count=excludes),
            ]
        own = [*(grant_path(root) for root in self.roots), *self._verify()]
        found.append(
            KeptThing(what="your trust, and checks by hand", where="your state directory", bytes=bytes_of(own))
        )
        return [one for one in found if one.bytes or one.count]

    def _verify(self) -> list[Path]:
        top = self.repository.top if self.repository else self.root
        return [HookMemory(top).folder]

    def _refs(self) -> list[str]:
        assert self.repository is not None  # noqa: S101 - only asked of a repository
        words = ("for-each-ref", "--format=%(refname)", "refs/spool/")
        return asyncio.run(ask_git(self.repository, *words, timeout_s=_TIMEOUT_S)).text.split()

    def remove_loops(self, loops: list[KeptLoop]) -> None:
        """Remove the state of loops, with the checkpoint of an unfinished story; the working tree stays as it is."""
        with self._held():
            for loop in loops:
                if loop.door == LoopKind.RUN and self.repository is not None and loop.root == self.root:
                    asyncio.run(self._drop_checkpoint(loop.change))
                for path in loop.paths:
                    remove(path)
                remove_if_empty(loop.paths[0].parent)

    async def _drop_checkpoint(self, change: str) -> None:
        assert self.repository is not None  # noqa: S101 - only asked of a repository
        await Checkpoints(self.repository, change, now=SystemClock().now, timeout_s=_TIMEOUT_S).drop()

    def remove_everything(self) -> None:
        """Remove every trace of Spool but what a person wrote: changes, modules and settings."""
        for loop in self._loops():
            for path in loop.paths:
                remove(path)
        for root in self.roots:
            remove(root / STATE)
            remove(grant_path(root))
            remove_if_empty(root / ".spool")
        for path in self._verify():
            remove(path)
        for run in self._runs:
            for path in this_machine().folder.glob(f"{run.run_id}.*"):
                remove(path)
        if self.repository is not None:
            for ref in self._refs():
                asyncio.run(ask_git(self.repository, "update-ref", "-d", ref, timeout_s=_TIMEOUT_S))
            if own_excludes(self.repository.common_dir):  # worktree loops were here
                for root in self.roots:
                    remove_own_files(root)
            show_own_files(self.repository.common_dir)
            remove(self.repository.spool_dir)
            remove(Landings(self.repository.common_dir).folder)
            remove(landing_memory(self.repository).folder)
            remove_if_empty(clones_of(self.repository))
            for mark in self.repository.common_dir.glob("worktrees/*/spool"):
                remove(mark)

    def refuse_in_use(self) -> None:
        """Raise if a loop of this repository is running, or has a clone, which may hold work that is nowhere else."""
        known = {loop.run_id for loop in self._runs}
        if alive := [loop.id for loop in running() if loop.run_id in known]:
            raise SpoolError(
                f"a loop is running here: {', '.join(alive)}", hint=f"stop it first: spool stop {alive[0]}"
            )

        clones = clones_of(self.repository) if self.repository else None
        if clones is not None and clones.is_dir() and any(clones.iterdir()):
            raise UsageError("there are clones that loops work in, perhaps with work on no branch", hint=Hint.CLONES)

    def _held(self) -> AbstractContextManager[None]:
        locks = self.repository.spool_dir / "locks" if self.repository else self.root / STATE / "locks"
        top = self.repository.top if self.repository else self.root
        return held_for(TreeWork.CLEAN, locks, top)


def _loop_folders(root: Path) -> list[Path]:
    """Return the folders of loops; none that is a link, or behind one."""
    found: list[Path] = []
    for door in sorted(LoopKind):
        with suppress(Linked):
            found += [root / STATE / door / name for name in folder_names(root / STATE / door)]
    return [path for path in found if path.is_dir() and not path.is_symlink()]


def chosen(loops: tuple[KeptLoop, ...], *, ended: bool, older_than_s: float | None, now: datetime) -> list[KeptLoop]:
    """Return the loops to remove: those that are done, or not active for a time, or both; never a running one."""
    found = [loop for loop in loops if loop.status is not Status.RUNNING]
    if ended:
        found = [loop for loop in found if loop.status is Status.DONE]
    if older_than_s is not None:
        before = now - timedelta(seconds=older_than_s)
        found = [loop for loop in found if loop.active_at is not None and loop.active_at < before]
    return found
