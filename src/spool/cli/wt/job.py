"""Makes the job of `wt-loop`."""

import asyncio
import os
from pathlib import Path

from spool.cli.runner import Job, Parts
from spool.cli.target import resolve_settings
from spool.cli.wt.request import Request, Ticket, keep_request
from spool.domain.change import Change
from spool.domain.criteria import Bounds, Criterion
from spool.domain.loop_file import LoopFile
from spool.domain.settings import Resolved, Settings
from spool.domain.verdict import Limits, Status
from spool.engine.plan import Plan
from spool.engine.ports import Store
from spool.engine.worktree import Aim, WorktreePlan, World
from spool.errors import CommandTimeout, SpoolError
from spool.host.command import run_command
from spool.host.git.heads import GitHeads
from spool.host.git.repository import Repository
from spool.host.runner.identity import this_runner
from spool.host.state import loop_book
from spool.host.state.loop_book import LoopBook
from spool.host.state.store import StateFolder
from spool.host.terminals import NONE, TMUX
from spool.sources.project import bare_project

DOOR = "wt-loop"


def settings_for(root: Path, flags: dict[str, object]) -> Resolved:
    """Return the settings of a worktree; where nobody chose an agent, it is Claude Code."""
    resolved = resolve_settings(root, flags)
    if resolved.origins["harness"] == "default":
        return resolve_settings(root, {**flags, "harness": "claude"})
    return resolved


def worktree_job(ticket: Ticket) -> Job:
    """Return the job of looping over a task in a worktree."""
    request, root = ticket.request, Path(ticket.request.worktree)
    settings = settings_for(root, request.flags).settings
    making = _Making(ticket, settings)
    return Job(
        door=DOOR,
        project=bare_project(root),
        change_id=request.change_id,
        settings=settings,
        make_plan=making.plan,
        make_store=making.store,
        fresh=ticket.fresh,
        needs_git=True,
        run_id=ticket.run_id,
        terminal=ticket.terminal,
        log=root / loop_book.LOG,
        keeps_log=True,
        title=request.change_id,
        resume=f"wt-loop resume {request.change_id}",
    )


def bounds(request: Request, settings: Settings) -> Bounds:
    """Return when the loop gives up. A manual one never does by itself, though its pauses after errors grow."""
    manual = request.criterion is Criterion.MANUAL
    return Bounds(
        limits=Limits(
            max_iterations=request.max_iterations,
            error_threshold=0 if manual else settings.error_threshold,
            error_pause_s=settings.error_pause,
            rate_limit_pause_s=settings.rate_limit_pause,
            fail_fast=settings.fail_fast,
        ),
        stall=request.stall,
        tokens=settings.max_tokens,
        cost_usd=settings.max_cost_usd,
    )


class _Making:
    """Makes the plan and the loop's file; both are about the same run."""

    def __init__(self, ticket: Ticket, settings: Settings) -> None:
        self._ticket = ticket
        self._request = ticket.request
        self._settings = settings
        self._bounds = bounds(ticket.request, settings)
        self._book: LoopBook | None = None

    async def plan(self, parts: Parts) -> Plan:
        """Return the plan, once the locks are taken."""
        if not isinstance(parts.repository, Repository):
            raise SpoolError("wt-loop needs git")
        project, request, settings = parts.project, self._request, self._settings
        root = project.root
        keep_request(parts.repository.common_dir, request)
        self._book = LoopBook(root, parts.folder, self._file(parts))

        async def read_change() -> Change:
            return await asyncio.to_thread(project.read, request.change_id)

        async def check(command: str) -> int | None:
            try:
                # The user's own command line, word for word; nothing of ours is put into it.
                done = await run_command(
                    ["/bin/sh", "-c", command], directory=root, timeout_s=settings.done_command_timeout
                )
            except CommandTimeout:
                return None
            return done.exit_code

        aim = Aim(
            task=request.task,
            criterion=request.criterion,
            bounds=self._bounds,
            promise=settings.completion_promise,
            command=request.done_command,
            own_files=loop_book.OWN_FILES,
        )
        world = World(
            heads=GitHeads(parts.repository, timeout_s=settings.command_timeout),
            book=self._book,
            read_change=read_change,
            read_context=parts.folder.context,
            run_command=check,
            emit=parts.emit,
            clock=parts.clock,
            question_tool=parts.harness.traits.question_tool,
        )
        return WorktreePlan(aim, world)

    def store(self, folder: StateFolder) -> Store:
        """Return the loop's file, through which its state passes."""
        return self._book or folder

    def _file(self, parts: Parts) -> LoopFile:
        request, now = self._request, parts.clock.now()
        limits = self._bounds.limits
        return LoopFile(
            change_id=request.change_id,
            task=request.task,
            done_criteria=request.criterion,
            done_command=request.done_command or None,
            max_iterations=limits.max_iterations,
            stall_iterations=self._bounds.stall,
            token_budget=self._bounds.tokens,
            cost_budget=self._bounds.cost_usd,
            status=Status.RUNNING,
            terminal=self._ticket.terminal,
            terminal_pid=_terminal_pid(self._ticket.terminal),
            runner=this_runner(),
            run_id=self._ticket.run_id,
            harness=parts.harness.name,
            model=self._settings.model,
            worktree=str(parts.project.root),
            state=str(parts.folder.path),
            started_at=now,
            updated_at=now,
        )


def _terminal_pid(terminal: str) -> int:
    """Return the pid of the window that this process runs in: its parent, as no shell stands between them.

    Under tmux it is the pane's and in the background the runner's, which is this process in both cases.
    """
    return os.getpid() if terminal.partition(":")[0] in (TMUX, NONE) else os.getppid()
