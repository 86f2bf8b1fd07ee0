"""Runs the gates on a rebased change, in its throwaway clone, and compares them with the target."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from spool.app.observing.observers import Watcher
from spool.app.starting.construction import new_spec, open_project, open_worktree
from spool.app.starting.loop_workspace import NOBODY, sandbox_of
from spool.app.verifying.gate_construction import make_keeper, own_folders, texts_before
from spool.app.verifying.supervised import supervised
from spool.domain.account.landing_order import Candidate
from spool.domain.judging.gates.gate import ABOUT_CHANGE, GateSpec
from spool.domain.loop.settings import Settings
from spool.domain.loop.spec import LoopSpec, missing_gates, with_gates
from spool.domain.loop.summary import LoopKind
from spool.engine.gates.gatekeeper import CompletionClaim, Gatekeeper, Verified
from spool.engine.gates.task_book import TaskBook
from spool.errors import SpoolError
from spool.host.agents.agent_host import AgentHost
from spool.host.agents.supervisor import fork_supervisor
from spool.host.gates.gate_memory import GateMemory
from spool.host.gates.recorded_trees import share_files
from spool.host.git.landing.rehearsal import Rehearsal
from spool.host.git.repository import Repository
from spool.host.git.workspaces.opening import git_sandbox
from spool.host.state.files import replace_file
from spool.host.state.specs import kept_spec
from spool.nofollow import make_folder


def spec_for(candidate: Candidate, root: Path, settings: Settings) -> LoopSpec:
    """Return the gates of a landing: those in force, and those under which the change's loop was verified.

    A change whose agents were sandboxed is checked behind the same sandbox.
    """
    loop = candidate.loop
    door, top = (loop.door, loop.root) if loop else (LoopKind.RALPH, root)
    spec = new_spec(door, top, candidate.change, msgspec.structs.replace(settings, allow_empty=True))
    earlier = kept_spec(loop.folder) if loop else None
    if earlier is not None:
        spec = with_gates(spec, missing_gates(spec, earlier))
        both = (*settings.allow_change, *earlier.settings.allow_change)
        known = (*settings.known_failures, *earlier.settings.known_failures)
        spec = _with(spec, allow_change=tuple(dict.fromkeys(both)), known_failures=tuple(dict.fromkeys(known)))
    if loop and loop.workspace and loop.workspace.sandboxed and not settings.sandbox:
        own = earlier.settings if earlier else settings
        spec = _with(
            spec,
            sandbox=True,
            sandbox_net=own.sandbox_net,
            allow_hosts=own.allow_hosts,
            sandbox_read=own.sandbox_read,
            sandbox_env=own.sandbox_env,
        )
    return spec


def check_result(
    spec: LoopSpec,
    rehearsal: Rehearsal,
    repository: Repository,
    *,
    base: str,
    inside: str,
    logs: Path,
    watcher: Watcher,
) -> Verified | None:
    """Run the gates on what the clone has checked out, compared with the target; None if a person stopped them."""
    workspace = rehearsal.workspace(base, inside, sandboxed=spec.sandbox_rules is not None)
    setup = spec.settings.worktree_setup
    spec = _with(
        msgspec.structs.replace(spec, workspace=workspace), gates=tuple(_fresh(gate, setup) for gate in spec.gates)
    )
    sandbox = sandbox_of(spec, NOBODY)
    clone = rehearsal.repository
    if spec.sandbox_rules is not None:
        clone = msgspec.structs.replace(clone, sandbox=git_sandbox(workspace))
    else:
        _lend(repository.top, rehearsal.top, spec.gates)
    make_folder(logs)

    async def check(host: AgentHost) -> Verified:
        keeper = make_keeper(
            spec,
            host,
            logs,
            project=open_project(spec),
            repository=clone,
            worktree=open_worktree(clone, spec.settings),
            book=TaskBook(GateMemory(spec.folder).ledger, lambda _: None),  # only a loop writes the boxes down
            emit=watcher.see,
            memory=landing_memory(repository),
        )
        return await _checked(spec, rehearsal, clone, keeper, base) if keeper else Verified()

    supervision = fork_supervisor()  # before asyncio and before any thread
    with supervision.line:
        work = supervised(supervision, watcher, check, directory=Path(spec.directory), sandbox=sandbox)
        return asyncio.run(work)


def landing_memory(repository: Repository) -> GateMemory:
    """Return where the runs of gates on a repository's targets are kept."""
    return GateMemory(str(repository.common_dir / "landing"))


def place_of(candidate: Candidate, root: Path, repository: Repository) -> str:
    """Return the directory that holds the change, below the top of a working tree; empty at the top."""
    loop = candidate.loop
    if loop is not None and loop.workspace is not None:
        return loop.workspace.inside
    inside = os.path.relpath(loop.root, loop.worktree) if loop is not None else os.path.relpath(root, repository.top)
    return "" if inside == "." or inside.startswith("..") else inside


def without_change(spec: LoopSpec) -> LoopSpec:
    """Return the gates for a result in which the change is archived."""
    return _with(spec, gates=tuple(gate for gate in spec.settings.gates if gate.run or gate.name not in ABOUT_CHANGE))


def _with(spec: LoopSpec, **settings: Any) -> LoopSpec:
    return msgspec.structs.replace(spec, settings=msgspec.structs.replace(spec.settings, **settings))


def _fresh(gate: GateSpec, setup: str) -> GateSpec:
    """Return a gate that runs in a fresh checkout, as its baseline does, so that both find the same files there."""
    if gate.setup or not setup:
        return msgspec.structs.replace(gate, clean=True)
    return msgspec.structs.replace(gate, clean=True, setup=setup, share=())


def _lend(top: Path, clone: Path, gates: tuple[GateSpec, ...]) -> None:
    """Link the person's ignored files (`.venv`) into the clone, and hide them from its git."""
    names = share_files(top, clone, list(dict.fromkeys(name for gate in gates for name in gate.share)))
    make_folder(clone / ".git" / "info")
    replace_file(clone / ".git" / "info" / "exclude", "".join(f"/{name}\n" for name in names).encode())


async def _checked(spec: LoopSpec, rehearsal: Rehearsal, clone: Repository, keeper: Gatekeeper, base: str) -> Verified:
    """Run the gates and compare; whether tests prove the change was asked when its loop ended."""
    tree = await rehearsal.tree_of(base)
    await keeper.tree()  # before anything is looked up: it makes the shadow repository
    claim = CompletionClaim(
        base=tree if await keeper.holds(tree) else "",
        own=own_folders(spec.directory, clone, ""),
        named=_texts(spec),
        proving=False,
    )
    return await keeper.check(claim, lambda _: None)


def _texts(spec: LoopSpec) -> str:
    """Return the change's texts before the first agent; as they are if no loop has run."""
    with suppress(SpoolError):
        return texts_before(GateMemory(spec.folder).ledger(), open_project(spec), spec.change)
    return ""
