"""Runs the gates without a loop, and compares their results with the tree in which the work began."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import msgspec

from spool.app.changes.resolver import require_change
from spool.app.loops.discarded_attempts import finish_due
from spool.app.loops.loop_list import loop_at
from spool.app.machine.project_setup import take_inventory
from spool.app.observing.observers import Watcher
from spool.app.starting.construction import new_spec, open_worktree
from spool.app.verifying.gate_construction import make_keeper, own_folders, texts_before
from spool.app.verifying.supervised import supervised
from spool.domain.judging.gates.gate import ABOUT_CHANGE, GateSpec, Proof
from spool.domain.judging.gates.hook import Session, Verification
from spool.domain.loop.settings import Settings
from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.summary import STATE, LoopKind, LoopSummary, pick_latest
from spool.domain.text.plain_text import one_line
from spool.engine.gates.deciding_changes import ADDED
from spool.engine.gates.gatekeeper import CompletionClaim, Gatekeeper
from spool.engine.gates.task_book import TaskBook
from spool.engine.ports import Emit
from spool.errors import Hint, SpoolError, UsageError
from spool.host.agents.agent_host import AgentHost
from spool.host.agents.supervisor import Supervision, fork_supervisor
from spool.host.gates.gate_memory import GateMemory
from spool.host.gates.hook_memory import HookMemory
from spool.host.git.pointers import top_of
from spool.host.git.repository import NoRepository, Repository, ask_git, find_repository, head_of, run_git
from spool.host.state.lock import TreeWork, held_for
from spool.sources.project import Project, find_project, project_at

_Result = TypeVar("_Result")


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """A tree or change."""

    root: Path
    change: str = ""
    """Empty for the whole working tree."""


def find_subject(directory: Path, query: str | None) -> Subject:
    """Return the project around a directory and its change: the one asked for, or the only one."""
    if query is not None:
        meant = require_change(query, directory)
        return Subject(root=meant.project.root, change=meant.id)
    try:
        project = find_project(directory)
    except UsageError:
        return Subject(root=top_of(directory) or directory)
    active = project.changes()
    return Subject(root=project.root, change=active[0].id if len(active) == 1 else "")


def verify(
    subject: Subject, settings: Settings, watcher: Watcher, *, session: Session | None = None, since: str = ""
) -> Verification | None:
    """Run the gates on the working tree; return None if a person stopped them.

    It is compared with the commit at which it left `since`, else the tree in which the session or the change's loop
    began, else HEAD's. Nothing runs on the tree in which a session began or last passed.
    """
    return _on_ground(subject, settings, watcher, lambda ground: ground.verify(session, since))


def found_check(subject: Subject, settings: Settings) -> Settings:
    """Return settings with a check: the configured ones, or else the tests that `spool init` would find."""
    if settings.gates or not (command := take_inventory(subject.root).toolchain.test):
        return settings
    return msgspec.structs.replace(settings, gates=(GateSpec(name=command, run=command),))


def record_tree(subject: Subject, settings: Settings, watcher: Watcher) -> str | None:
    """Record the working tree and return its name; empty without git, None if a person stopped it."""
    return _on_ground(subject, settings, watcher, lambda ground: ground.record())


def _on_ground(
    subject: Subject,
    settings: Settings,
    watcher: Watcher,
    work: Callable[["_LockedTree"], Coroutine[None, None, _Result]],
) -> _Result | None:
    if not settings.gates:
        raise UsageError("no check is configured", hint=Hint.ADD_GATE)
    settings = msgspec.structs.replace(settings, allow_empty=True)
    spec = new_spec(LoopKind.RALPH, subject.root, subject.change, settings)
    supervision = fork_supervisor()  # before asyncio and before any thread
    with supervision.line:
        return asyncio.run(_opened(spec, supervision, watcher, work))


async def _opened(
    spec: LoopSpec,
    supervision: Supervision,
    watcher: Watcher,
    work: Callable[["_LockedTree"], Coroutine[None, None, _Result]],
) -> _Result | None:
    """Hold the tree's lock, and do the work until it is done or a person stops it."""
    root = Path(spec.root)
    repository = await find_repository(root, timeout_s=spec.settings.command_timeout)
    top = repository.top if isinstance(repository, Repository) else root
    memory = HookMemory(top)
    if isinstance(repository, Repository):
        locks = repository.spool_dir / "locks"
    else:  # where a loop has its locks, if there can be one
        locks = (root / STATE if (root / STATE).parent.is_dir() else memory.folder) / "locks"
    with held_for(TreeWork.VERIFY, locks, top, change=spec.change, run_id=spec.run_id):
        if isinstance(repository, Repository):
            await finish_due(repository, timeout_s=spec.settings.command_timeout)
        return await supervised(
            supervision,
            watcher,
            lambda host: work(
                _LockedTree(spec=spec, repository=repository, host=host, emit=watcher.see, memory=memory)
            ),
            directory=root,
        )


@dataclass(frozen=True, kw_only=True)
class _LockedTree:
    """A working tree whose lock is held."""

    spec: LoopSpec
    repository: Repository | NoRepository
    host: AgentHost
    emit: Emit
    memory: HookMemory

    @property
    def project(self) -> Project:
        """The directory with the changes."""
        return project_at(Path(self.spec.root))

    async def record(self) -> str:
        """Record the working tree, and protect it from `git gc`."""
        keeper = self._keeper()
        tree = await keeper.tree()
        await keeper.holds(tree)
        return tree

    async def verify(self, session: Session | None, since: str) -> Verification:
        """Run the gates and compare; boxes count for a session only in the change that it works on."""
        keeper = self._keeper()
        tree = await keeper.tree()  # before anything is looked up: it makes the shadow repository
        if since:
            return await self._judged(*await self._forked_from(keeper, since), commands_first=False)
        base, since = await self._base(keeper, session.base if session else "")
        if session is None:
            return await self._judged(base, since, commands_first=False)
        if tree and tree in (session.passed, base):
            return Verification(root=self.spec.root, since=since, tree=tree, proof=Proof.UNBROKEN, gates=())
        change = self._worked_on(await keeper.changes(base, tree) if base and tree else {})
        bound = replace(self, spec=msgspec.structs.replace(self.spec, change=change))
        return await bound._judged(base, since, commands_first=True)

    def _worked_on(self, changes: Mapping[str, str]) -> str:
        """Return the only change whose task list was edited; empty if there is none, or if there are several."""
        edited = [Path(path) for path, how in changes.items() if how != ADDED]
        named = {path.parent.name for path in edited if path.match("changes/*/tasks.md")}
        found = [info.id for info in self.project.changes() if info.id in named] if named else []
        return found[0] if len(found) == 1 else ""

    async def _judged(self, base: str, since: str, *, commands_first: bool) -> Verification:
        released = self.memory.released()
        gates = tuple(gate for gate in self.spec.gates if self.spec.change or gate.run or gate.name not in ABOUT_CHANGE)
        if not gates:
            unbound = ", ".join(gate.name for gate in self.spec.gates)
            raise UsageError(f"these checks need a change: {unbound}", hint=Hint.NAME_CHANGE)
        own = own_folders(self.spec.root, self.repository, self._own())
        claim = CompletionClaim(base=base, own=own, named=self._texts(), commands_first=commands_first)
        found = await self._keeper(gates).check(claim, lambda _: None)
        if found.proof not in (Proof.REFUSED, Proof.UNVERIFIABLE):
            self.memory.settle()
        return Verification(
            root=self.spec.root,
            change=self.spec.change,
            since=since,
            baseline=base,
            tree=found.tree,
            proof=found.proof or Proof.WORD,
            gates=found.gates,
            left=found.left,
            seconds=round(found.seconds, 3),
            released=released,
        )

    def _keeper(self, gates: tuple[GateSpec, ...] = ()) -> Gatekeeper:
        """Return the keeper of some gates, by default of all."""
        settings = msgspec.structs.replace(self.spec.settings, gates=gates or self.spec.settings.gates)
        spec = msgspec.structs.replace(self.spec, settings=settings)
        logs = self.memory.fresh_logs()
        keeper = make_keeper(
            spec,
            self.host,
            logs,
            project=self.project,
            repository=self.repository,
            worktree=open_worktree(self.repository, self.spec.settings),
            book=TaskBook(self._remembered.ledger, lambda _: None),  # only a loop writes the boxes down
            emit=self.emit,
            owner=TreeWork.VERIFY,
            memory=self._remembered,
        )
        assert keeper is not None  # noqa: S101 - there are gates
        return keeper

    @property
    def _loop(self) -> LoopSummary | None:
        """The change's latest loop."""
        found = []
        for door in LoopKind if self.spec.change else ():
            with suppress(SpoolError, OSError):  # a damaged state costs the comparison with it
                found.append(loop_at(Path(self.spec.root), door, self.spec.change))
        return pick_latest([loop for loop in found if loop is not None])

    @property
    def _remembered(self) -> GateMemory:
        """Return the gate memory of the change's latest loop."""
        return GateMemory(loop.folder if (loop := self._loop) else self.spec.folder)

    async def _forked_from(self, keeper: Gatekeeper, rev: str) -> tuple[str, str]:
        """Return the tree of the commit at which HEAD left a branch, and what it is."""
        if isinstance(self.repository, NoRepository):
            raise UsageError(f"there is no commit to compare with: {self.repository.why}")
        timeout_s = self.spec.settings.command_timeout
        words = ("rev-parse", "--quiet", "--verify", "--end-of-options", f"{rev}^{{commit}}")
        named = await run_git(self.repository, *words, timeout_s=timeout_s)
        if named.exit_code:
            raise UsageError(f"'{one_line(rev, 80)}' is not a commit")
        forked = await run_git(self.repository, "merge-base", named.text, "HEAD", timeout_s=timeout_s)
        commit = named.text if forked.exit_code else forked.text
        tree = (await ask_git(self.repository, "rev-parse", f"{commit}^{{tree}}", timeout_s=timeout_s)).text
        if not await keeper.holds(tree):
            raise UsageError(f"the tree of '{one_line(rev, 80)}' is not here", hint="fetch it first")
        return tree, f"{rev}, at {commit[:10]}"

    async def _base(self, keeper: Gatekeeper, wanted: str) -> tuple[str, str]:
        """Return the tree to compare with, and what it is."""
        if await keeper.holds(wanted):
            return wanted, "the start of the session"
        if (loop := self._loop) and await keeper.holds(loop.memory.base):
            return loop.memory.base, "the start of the loop"
        if isinstance(self.repository, Repository):
            timeout_s = self.spec.settings.command_timeout
            head = await head_of(self.repository, timeout_s=timeout_s, kind="tree")
            if await keeper.holds(head):
                return head, "HEAD"
        return "", ""

    def _own(self) -> str:
        return self.project.read(self.spec.change).own if self.spec.change else ""

    def _texts(self) -> str:
        return texts_before(self._remembered.ledger(), self.project, self.spec.change)
