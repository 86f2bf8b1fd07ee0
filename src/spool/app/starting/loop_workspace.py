"""Handles a loop's own workspace: sandbox, delivery, learnings."""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from spool.domain.agent.invocation import Traits
from spool.domain.change.workspaces import Kind, Workspace
from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.state import LoopState
from spool.domain.loop.summary import STATE, state_path
from spool.domain.loop.verdict import Status
from spool.engine.ports import Deliver, delivered_already
from spool.errors import Hint, UsageError, WorksElsewhere
from spool.host.git.workspaces.delivery import Branches
from spool.host.git.workspaces.opening import main_of, serving
from spool.host.state.loop_store import hide_from_git
from spool.nofollow import Linked, make_folder

if TYPE_CHECKING:
    from spool.host.sandbox.sandbox import Sandbox

NOBODY = Traits(program="git", install="git")
"""Traits for work that needs no agent and no credentials."""


def deliverer(spec: LoopSpec) -> Deliver:
    """Return what brings a loop's commits to the person's repository: a fetch from a clone, else nothing."""
    workspace = spec.workspace
    if workspace is None or workspace.kind is not Kind.CLONE:
        return delivered_already
    branches = Branches(Path(workspace.repository), timeout_s=spec.settings.command_timeout)
    served_by = serving(workspace)

    async def deliver() -> None:
        await branches.deliver(spec.change, workspace, served_by=served_by)

    return deliver


def no_clone() -> UsageError:
    """Return the error for a sandbox anywhere else."""
    why = "an agent can get out of a tree that shares its git directory with another"
    return UsageError(f"a sandbox needs a clone: {why}", hint=Hint.SANDBOX)


def sandbox_of(spec: LoopSpec, traits: Traits) -> "Sandbox | None":
    """Return the sandbox around a loop's agents and gates; raise a UsageError if it cannot be made."""
    workspace = spec.workspace
    if spec.sandbox_rules is None:
        return None
    if workspace is None or not workspace.sandboxed:
        raise no_clone()
    from spool.host.sandbox.sandbox import Sandbox, SandboxedPlace

    top = Path(workspace.path)
    ground = SandboxedPlace(workspace=top, private=top.parent / "private", hidden=(main_of(workspace),))
    commands = [text for gate in spec.gates for text in (gate.run, gate.setup) if text]
    return Sandbox(spec.sandbox_rules, ground, traits, commands)


def prepare_learnings(spec: LoopSpec) -> None:
    """Make the folder for learnings in a workspace, hidden from git; the rest of the state is not there."""
    if spec.workspace is None:
        return
    try:
        make_folder(Path(state_path(spec.directory, spec.door, spec.change)))
        hide_from_git(Path(spec.directory) / STATE)
    except Linked as error:
        raise UsageError(str(error.strerror)) from None


def refuse_elsewhere(spec: LoopSpec, earlier: LoopState | None) -> None:
    """Raise if a loop that is not done works elsewhere: its attempt and its checkpoint are there."""
    if earlier is None or spec.fresh or earlier.status is Status.DONE or not earlier.iteration:
        return
    if _moved(spec, earlier) and Path(earlier.directory).is_dir() and earlier.directory != spec.directory:
        kind = earlier.workspace.kind if earlier.workspace else Kind.HERE
        raise WorksElsewhere(f"the loop on '{spec.change}' works in {earlier.directory}", kind=kind)


def remembered(spec: LoopSpec, earlier: LoopState | None) -> LoopState | None:
    """Return the state to continue from; what a plan remembers of a tree does not hold in another one."""
    if earlier is None or not _moved(spec, earlier):
        return earlier
    return msgspec.structs.replace(earlier, memory=type(earlier.memory)())


def _moved(spec: LoopSpec, earlier: LoopState) -> bool:
    return _id(earlier.workspace) != _id(spec.workspace)


def _id(workspace: Workspace | None) -> str:
    return workspace.id if workspace else ""
