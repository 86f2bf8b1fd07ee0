"""Accepts, for a person, work that only a person can judge: bound to the tree that was checked."""

import asyncio
import getpass
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from spool.app.changes.resolver import require_loop
from spool.app.loops.control import locked
from spool.app.loops.loop_list import latest_of_each
from spool.app.loops.reach import reach_of
from spool.app.machine.trusted_settings import require_person
from spool.app.starting.construction import open_worktree
from spool.app.starting.effective_settings import resolve_settings
from spool.domain.judging.gates.gate import GateResult, Proof, proof_together, refusal
from spool.domain.loop.plan_memory import Due, StoryMemory
from spool.domain.loop.state import LoopState
from spool.domain.loop.summary import LoopKind, LoopSummary, summarized
from spool.domain.loop.verdict import Status
from spool.errors import Hint, SpoolError, UsageError
from spool.host.git.repository import Repository
from spool.host.git.working_tree import GitWorktree
from spool.host.git.workspaces.opening import open_workspace
from spool.host.state.loop_files import rewrite_loop_file
from spool.host.state.loop_store import StateFolder
from spool.host.state.run_registry import this_machine


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What a person is asked to accept."""

    loop: LoopSummary
    refused: GateResult
    difference: str = ""
    """The edited tests, as they were and as they are, in the format of `git diff`."""


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """What a person accepted."""

    loop: LoopSummary
    by: str
    continues: bool
    """Whether the change has more stories."""


def accept(name: str | None, agrees: Callable[[Question], bool]) -> Accepted | None:
    """Accept the work of a loop that needs a person, if `agrees` to it; return None if not."""
    require_person("accept work")
    loop = _meant(name)
    asked = _refused(loop)
    if asked is None:
        raise UsageError(f"the loop on '{loop.change}' does not need you", hint=Hint.LIST_LOOPS)
    with locked(loop):
        folder = StateFolder(Path(loop.folder))
        state = folder.load()
        if state is None:
            raise SpoolError(f"the state of '{loop.change}' is gone")
        tree, difference = asyncio.run(_looked(loop, state, asked))
        if tree != state.memory.left:
            raise UsageError("the tree has changed since it was checked", hint="run the loop again, or: spool verify")
        if not agrees(Question(loop=loop, refused=asked, difference=difference)):
            return None
        after = _accepted(state, asked, by=getpass.getuser(), tree=tree)
        folder.save(after)
        found = summarized(after)
        if found.door is LoopKind.WORKTREE:
            rewrite_loop_file(found)
    this_machine().enter(found)
    return Accepted(loop=found, by=getpass.getuser(), continues=after.status is not Status.DONE)


def _meant(name: str | None) -> LoopSummary:
    reach = reach_of()
    if name is not None:
        return require_loop(name, reach)
    asking = [loop for loop in latest_of_each() if reach.holds(loop) and _refused(loop)]
    if len(asking) != 1:
        many = "several loops need" if asking else "no loop needs"
        raise UsageError(f"{many} you here", hint=Hint.NAME_CHANGE if asking else Hint.LIST_LOOPS)
    return asking[0]


def _refused(loop: LoopSummary) -> GateResult | None:
    """Return the refusal of a loop's last claim, if the loop ended because only a person can decide about it."""
    records = StateFolder(Path(loop.folder)).history(1) if loop.status is Status.STUCK else []
    refused = refusal(records[-1].gates) if records else None
    return refused if refused and refused.needs else None


async def _looked(loop: LoopSummary, state: LoopState, asked: GateResult) -> tuple[str, str]:
    """Return the name of the working tree as it is, and what differs in the tests that a person is asked about."""
    settings = resolve_settings(None, {}).settings
    repository = await open_workspace(Path(loop.root), loop.workspace, timeout_s=settings.command_timeout)
    worktree = open_worktree(repository, settings)
    if not isinstance(repository, Repository) or not isinstance(worktree, GitWorktree):
        raise SpoolError("without git there is no tree to accept")
    tree = (await worktree.recorder.record()).tree
    if not asked.rewritten:
        return tree, ""
    words = ("diff", "--no-color", "--no-ext-diff", state.memory.base, tree, "--", *asked.rewritten)
    return tree, (await worktree.recorder.shadow.git(*words)).decode("utf-8", "replace")


def _accepted(state: LoopState, asked: GateResult, *, by: str, tree: str) -> LoopState:
    """Return the state with the work accepted: a story is due to be accepted, a prompt is done."""
    now = datetime.now(UTC)
    what = ", ".join(asked.rewritten or asked.still_failing) or asked.name
    memory = state.memory
    told = msgspec.structs.replace(
        memory,
        asking=0,
        refusal="",
        base=tree,
        proof=proof_together(memory.proof, Proof.UNBROKEN),
        evidence=f"{asked.needs} accepted by {by} at {now:%Y-%m-%d %H:%M} UTC: {what}",
    )
    status = Status.DONE
    if isinstance(told, StoryMemory):  # a run that was stopped continues with what is due
        told, status = msgspec.structs.replace(told, due=Due.ACCEPT, accepted=Proof.UNBROKEN, retries=0), Status.STOPPED
    return msgspec.structs.replace(
        state, memory=told, status=status, reason=f"accepted by {by}", updated_at=now, ended_at=state.ended_at or now
    )
