"""Builds the gates of a loop."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from spool.app.changes.format_tool import require_tool, tool_runner
from spool.domain.judging.gates.boxes import BoxLedger
from spool.domain.judging.gates.findings import plain
from spool.domain.judging.gates.gate import BuiltInGate, GateResult, Proof
from spool.domain.loop.events import Warned
from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.summary import STATE, LoopKind
from spool.domain.text.plain_text import one_line
from spool.engine.gates.own_gates import BoxesGate, Gate
from spool.engine.gates.task_book import TaskBook
from spool.engine.ports import Emit
from spool.errors import Hint, SpoolError, UsageError
from spool.harness import registry
from spool.host.clock import SystemClock
from spool.host.gates.gate_memory import GateMemory
from spool.host.git.repository import NoRepository, Repository, run_git
from spool.host.git.working_tree import GitWorktree, PlainFolder
from spool.sources.project import Project
from spool.sources.registry import TOOLS

if TYPE_CHECKING:
    from spool.engine.gates.gatekeeper import Gatekeeper
    from spool.host.agents.agent_host import AgentHost


def task_book(spec: LoopSpec, emit: Emit) -> TaskBook:
    """Return the record of which boxes a person ticked; a home that cannot be written costs only a warning."""
    memory, noted = GateMemory(spec.folder), noted_tasks(spec.root, spec.change)

    def load() -> BoxLedger:
        return msgspec.structs.replace(memory.ledger(), accepted=noted.ledger().accepted)

    def save(ledger: BoxLedger) -> None:
        try:
            memory.keep_ledger(ledger)
            if ledger.accepted:
                noted.keep_ledger(BoxLedger(accepted=ledger.accepted))
        except (OSError, SpoolError) as error:
            emit(Warned(message=f"a later run will not know which boxes are yours: {error}"))

    return TaskBook(load, save)


def noted_tasks(root: str, change: str) -> GateMemory:
    """Return where the done tasks without a box are noted, for every command that runs the change."""
    return GateMemory(f"{root}/{STATE}/{change}")


def forget_boxes(spec: LoopSpec) -> None:
    """Forget which boxes were a person's, and what was noted as done: a fresh start."""
    GateMemory(spec.folder).start_fresh()
    noted_tasks(spec.root, spec.change).start_fresh()


def texts_before(ledger: BoxLedger, project: Project, change: str) -> str:
    """Return a change's texts before the first agent; as they are now if no loop has run."""
    if ledger.texts or not change:
        return ledger.texts
    found = project.read(change)
    return f"{found.proposal}\n{found.tasks or ''}"


def own_folders(root: str, repository: Repository | NoRepository, own: str) -> tuple[str, ...]:
    """Return where the files of the change and of Spool are, as git names them; what differs there is not the work."""
    top = repository.top if isinstance(repository, Repository) else Path(root)
    inside = os.path.relpath(root, top)
    prefix = "" if inside == "." else f"{inside}/"
    folders = (f"{prefix}.spool/", f"{prefix}.claude/loop-state.json")
    return (f"{prefix}{own}", *folders) if own else folders


def make_keeper(
    spec: LoopSpec,
    agents: "AgentHost",
    logs: Path,
    *,
    project: Project,
    repository: Repository | NoRepository,
    worktree: GitWorktree | PlainFolder,
    book: TaskBook,
    emit: Emit,
    owner: str = "",
    memory: GateMemory | None = None,
) -> "Gatekeeper | None":
    """Return the configured gates, or None.

    `owner` holds the recorded trees, and `memory` the runs; by default, those of the loop.
    """
    gates = spec.gates
    if not gates:
        return None
    from spool.engine.gates.gatekeeper import Gatekeeper
    from spool.host.gates.gate_host import GateHost
    from spool.host.gates.recorded_trees import RecordedTrees

    trees = None
    if isinstance(repository, Repository) and isinstance(worktree, GitWorktree):
        timeout_s = spec.settings.command_timeout
        trees = RecordedTrees(
            repository,
            worktree.recorder,
            owner=owner or spec.change,
            timeout_s=timeout_s,
            agent_folders=registry.folders(),
        )
    checks = GateHost(
        agents,
        trees,
        memory or GateMemory(spec.folder),
        directory=Path(spec.directory),
        logs=logs,
        output_limit_mb=spec.settings.output_limit_mb,
    )
    built_in = [_built_in(gate.name, spec, project, repository, book) for gate in gates if not gate.run]
    commands = [gate for gate in gates if gate.run]
    return Gatekeeper(commands, built_in, spec.policy, checks, emit, SystemClock())


class _BuiltIn:
    """A gate without a command."""

    def __init__(
        self, name: str, check: Callable[[], Awaitable[str]], *, passed: str, proof: Proof = Proof.UNBROKEN
    ) -> None:
        self._name = name
        self._objection = check
        self._passed = passed
        """The evidence when the check passes."""
        self._proof = proof

    async def check(self) -> GateResult:
        """Run the check; an objection refuses the claim."""
        if objection := await self._objection():
            tell = f"You said that the work is done, but the check `{self._name}` does not agree:\n\n{plain(objection)}"
            return GateResult(name=self._name, passed=False, why=one_line(objection), tell_agent=tell)
        return GateResult(name=self._name, passed=True, why=self._passed, proof=self._proof)


def _built_in(
    name: str, spec: LoopSpec, project: Project, repository: Repository | NoRepository, book: TaskBook
) -> Gate:
    match BuiltInGate(name):
        case BuiltInGate.TASKS:
            return _tasks(spec, project, book)
        case BuiltInGate.GIT_CLEAN:
            if isinstance(repository, NoRepository):
                raise UsageError(f"the check '{name}' cannot run: {repository.why}", hint=Hint.GATES)
            return _BuiltIn(name, partial(_uncommitted, spec, repository), passed="everything is committed")
        case BuiltInGate.FORMAT:
            tool = TOOLS[name]
            require_tool(tool, f"the check '{name}' cannot run", Hint.GATES)
            run = tool_runner(tool, Path(spec.directory), timeout_s=spec.settings.command_timeout)
            return _BuiltIn(name, partial(tool.objections, spec.change, run), passed=f"{name} finds the change valid")


def _tasks(spec: LoopSpec, project: Project, book: TaskBook) -> Gate:
    async def read() -> str | None:
        return (await asyncio.to_thread(project.read, spec.change)).tasks

    if spec.door is LoopKind.RUN:  # the plan checks the boxes of each story
        return _BuiltIn("tasks", _nothing, passed="no box of the story is open", proof=Proof.WORD)
    return BoxesGate(read, book)


async def _nothing() -> str:
    return ""


async def _uncommitted(spec: LoopSpec, repository: Repository) -> str:
    """Return what is not committed, Spool's own files aside."""
    words = ("status", "--porcelain", "--", ".", ":(exclude,top).spool/.state")
    done = await run_git(repository, *words, timeout_s=spec.settings.command_timeout)
    names = [line[3:] for line in done.text.splitlines()]
    return f"not committed: {', '.join(names[:5])}" if names else ""
