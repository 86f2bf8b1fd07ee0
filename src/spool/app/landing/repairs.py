"""Runs a change's agent to repair it for landing: one more story, in a workspace, on top of the target."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from spool.app.landing.checks import spec_for
from spool.app.loops.workspace_list import list_workspaces, remove_workspace
from spool.app.starting.construction import new_run_id
from spool.app.starting.runner import Observe, run
from spool.app.starting.workspace_start import place
from spool.domain.account.landing_order import Candidate, Landing, errand_for
from spool.domain.change.story import RepairStory
from spool.domain.change.workspaces import Kind
from spool.domain.loop.settings import Settings
from spool.domain.loop.spec import LoopSpec, Show
from spool.domain.loop.summary import LoopKind
from spool.domain.loop.verdict import ExitCode, Status
from spool.domain.text.plain_text import with_reason
from spool.errors import SpoolError
from spool.host.git.landing.target_branch import Target
from spool.host.state.specs import kept_spec


class RepairStopped(Exception):
    """A person stopped the agent."""


@dataclass(frozen=True, kw_only=True)
class Repairs:
    """Runs loops whose only open story is to make a change land."""

    root: Path
    settings: Settings
    target: Target
    observe: Observe
    show: Show
    note: Callable[[str, str], None]
    """Shows a step of a change."""

    def mend(self, candidate: Candidate, landing: Landing) -> str:
        """Run the agent with the reason; return why the change is not repaired, or nothing."""
        loop = candidate.loop
        earlier = kept_spec(loop.folder) if loop else None
        if loop is None or earlier is None:
            return "no loop of this machine has worked on it, so its agent is not known"
        if loop.door is not LoopKind.RUN:
            return f"it is a loop of {loop.door}, which has no stories"
        try:
            errand = asyncio.run(self._errand(landing))
            spec = self._placed(candidate, earlier, errand)
            finish = run(spec, self.observe)
        except (SpoolError, OSError) as error:
            return str(error)
        if finish.exit_code is ExitCode.INTERRUPTED:
            raise RepairStopped
        return "" if finish.status is Status.DONE else f"its loop is {with_reason(finish.status, finish.reason)}"

    async def _errand(self, landing: Landing) -> RepairStory:
        commit = await self.target.commit()
        return errand_for(landing, commit=commit, tree=await self.target.tree_of(commit))

    def _placed(self, candidate: Candidate, earlier: LoopSpec, errand: RepairStory) -> LoopSpec:
        """Return the spec of the run: the agent and the limits of the last one, with the checks of the landing."""
        checks = spec_for(candidate, self.root, self.settings).settings
        settings = msgspec.structs.replace(earlier.settings, gates=checks.gates, allow_change=checks.allow_change)
        kind = earlier.workspace.kind if earlier.workspace else Kind.WORKTREE
        if earlier.errand is None or earlier.errand.onto != errand.onto:
            _remove_clone(candidate.change)
        spec = msgspec.structs.replace(
            earlier,
            run_id=new_run_id(),
            settings=settings,
            errand=errand,
            workspace=None,
            fresh=False,
            no_gates=False,
            show=self.show,
            terminal="",
            log="",
            on_resume="",
            peers=(),
            peers_since=None,
            again=f"spool land {candidate.change} --repair",
        )
        return place(spec, kind, note=lambda line: self.note(candidate.change, line))


def is_repair(candidate: Candidate) -> bool:
    """Whether the last run on a change was to mend it."""
    earlier = kept_spec(candidate.loop.folder) if candidate.loop else None
    return earlier is not None and earlier.errand is not None


def _remove_clone(change: str) -> None:
    """Remove the clone of an earlier run if its work is on a branch: nothing is fetched into what agents wrote."""
    for row in list_workspaces(everywhere=False):
        if row.change == change and row.kind is Kind.CLONE and not remove_workspace(row, lambda _: False):
            hint = f"look at it, then: spool workspace remove {change}"
            raise SpoolError(f"its clone has work that is on no branch, {row.path}; {hint}")
