"""`wt-loop start` and `wt-loop resume`: run a task in a loop in a worktree, in a new terminal."""

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from spool.app.changes.resolver import worktree_change, worktree_loop
from spool.cli.options import loop_options as shared
from spool.cli.options.flags import Flags, given_settings, option_of, takes
from spool.cli.options.groups import GroupedCommand
from spool.cli.options.target import complete_change, complete_loop, on_terminal
from spool.domain.loop.criteria import Criterion, default_criterion
from spool.domain.loop.settings import Layer
from spool.errors import UsageError
from spool.sources.project import bare_project
from spool.views.say import say

if TYPE_CHECKING:
    from spool.domain.loop.settings import Resolved
    from spool.domain.loop.spec import LoopSpec

_where = option_of("Worktree")
_limits = option_of("Completion and limits")
_window = option_of("Terminal")
_BOUNDS = ("max_iterations", "stall_iterations")
_EXAMPLES = (
    'wt-loop start add-auth "Implement the login form" --max 10 --done tasks',
    'wt-loop start 2-1 "Make the tests pass" --done-command "make test"',
    "wt-loop start add-auth --create --terminal tmux --allow-all",
)


class WindowFlags(Flags, frozen=True, kw_only=True):
    """The terminal that a loop opens."""

    terminal: str | None = _window(
        "--terminal", metavar="NAME", help="Terminal program, tmux, or none for the background."
    )
    fullscreen: bool | None = _window("--fullscreen/--no-fullscreen", help="Open the window full screen.")
    keep_open: bool | None = _window("--keep-open/--close", help="Keep the window open after the loop ends.")


class WorktreeLimitFlags(Flags, frozen=True, kw_only=True):
    """When a worktree loop gives up."""

    max_iterations: int | None = _limits(
        "--max",
        type=click.IntRange(min=1),
        metavar="N",
        help="Stop after N iterations.  [default: 10; with --done manual, no limit unless given]",
    )
    stall_iterations: int | None = _limits(
        "--stall",
        type=click.IntRange(min=0),
        metavar="N",
        help="Stop after N iterations without progress; 0 disables.  [default: 3; with --done manual, 0]",
    )
    budget: shared.BudgetFlags
    agent: shared.AgentLimitFlags


class WorktreeStartFlags(Flags, frozen=True, kw_only=True):
    """The options of `wt-loop start`."""

    path: str | None = shared.WORKTREE_PATH
    create: bool = _where("--create", help="Create the worktree if this repository has none for the change.")
    everywhere: bool = _where("--all-projects", help="Find the worktree in other projects too.")
    agent: shared.WorktreeAgentFlags
    done: str | None = _limits(
        "--done",
        type=click.Choice([one.value for one in Criterion]),
        help="When the work is done.  [default: tasks; manual without tasks]",
    )
    done_command: str | None = _limits(
        "--done-command", metavar="COMMAND", help="The work is done when this command succeeds."
    )
    limits: WorktreeLimitFlags
    gates: shared.GateFlags
    auto_commit: bool | None = shared.AUTO_COMMIT
    include_dirty: bool | None = shared.INCLUDE_DIRTY
    window: WindowFlags

    def settings(self) -> list[Layer]:
        """Return the settings given as flags; the criterion decides about the bounds."""
        found = shared.loop_settings(self, self.gates)
        return [layer for layer in found if layer.values.keys().isdisjoint(_BOUNDS)]


class ResumeFlags(Flags, frozen=True, kw_only=True):
    """The options of `wt-loop resume`."""

    include_dirty: bool | None = shared.INCLUDE_DIRTY
    where: shared.LocateFlags
    agent: shared.WorktreeAgentFlags
    limits: WorktreeLimitFlags
    window: WindowFlags


@click.command("start", cls=GroupedCommand, examples=_EXAMPLES)
@click.argument("change_id", metavar="CHANGE", shell_complete=complete_change)
@click.argument("task", nargs=-1)
@takes(WorktreeStartFlags)
def start(change_id: str, task: tuple[str, ...], options: WorktreeStartFlags) -> None:
    """Start a loop in the worktree of a change, in a new terminal window.

    The default agent is Claude Code. Without a desktop, the loop runs in tmux or in the background.
    """
    if options.path is not None and options.create:
        raise UsageError("--path and --create cannot be used together")
    _refuse_contradictions(options)
    from spool.app.starting.worktree_start import task_spec, worktree_settings

    found = worktree_change(change_id, Path(options.path or ".").resolve())
    root = _worktree(found, options, tasked=bool(" ".join(task).strip()))
    change = bare_project(root).read(found)
    spec = task_spec(
        root,
        found,
        _task(task, written=bool(change.proposal or change.tasks)),
        worktree_settings(_settings(root, options)),
        criterion=_criterion(options, change.tasks),
        done_command=options.done_command or "",
        max_iterations=options.limits.max_iterations,
        stall=options.limits.stall_iterations,
        no_gates=options.gates.no_gates,
    )
    _begin(spec)


def _worktree(change: str, options: WorktreeStartFlags, *, tasked: bool) -> Path:
    """Return the worktree to work in, and say what was created."""
    from spool.app.starting.effective_settings import root_here
    from spool.app.starting.worktree_start import checkout_of, worktree_settings

    checkout, notes = checkout_of(
        change,
        lambda: worktree_settings(_settings(root_here() or Path.cwd(), options)),
        path=options.path,
        create=options.create,
        everywhere=options.everywhere,
        unwritten=tasked and bool(options.done or options.done_command),
    )
    for note in notes:
        say(note)
    return Path(checkout.path)


@click.command("resume", cls=GroupedCommand)
@click.argument("change_id", metavar="[CHANGE]", required=False, shell_complete=complete_loop)
@takes(ResumeFlags)
def resume(change_id: str | None, options: ResumeFlags) -> None:
    """Continue a loop that has ended, with its original settings unless overridden.

    Limits on iterations, errors and time start over; what was spent stays counted.
    """
    from spool.app.starting.worktree_start import resumed_spec

    loop = worktree_loop(change_id, options.where.path, everywhere=options.where.everywhere)
    _begin(resumed_spec(loop, given_settings(options)))


def _begin(spec: "LoopSpec") -> None:
    """Open a terminal for the loop, wait until it runs, and print how to watch and stop it."""
    from spool.app.starting.launch import in_terminal
    from spool.app.starting.worktree_start import refuse_early
    from spool.views.words import unchecked

    refuse_early(spec)
    again = f"wt-loop resume {spec.change}"
    loop = in_terminal(msgspec.structs.replace(spec, again=again), _complain)
    kind, _, session = loop.terminal.partition(":")
    where = {"none": "in the background", "tmux": f"in the tmux session {session}"}.get(kind, f"in a new {kind} window")
    if said := unchecked(loop.checks):
        _complain(said)
    say(f"Started {loop.change} {where} (pid {loop.terminal_pid}), in {loop.worktree}")
    if kind == "tmux":
        say(f"  tmux attach -t {session}")
    say(
        f"  wt-loop attach {loop.change}    watch it here",
        f"  wt-loop status {loop.change}    show its status",
        f"  wt-loop stop {loop.change}      stop it",
    )


def _settings(root: Path, options: WorktreeStartFlags) -> "Resolved":
    from spool.cli.commands.setup.trust import settings_to_start

    return settings_to_start(root, options.settings(), ask=on_terminal())


def _complain(message: str) -> None:
    say(f"wt-loop: {message}", err=True)


def _refuse_contradictions(options: WorktreeStartFlags) -> None:
    done, command = options.done, options.done_command
    if command is not None and (done not in (None, Criterion.COMMAND) or not command.strip()):
        raise UsageError("--done-command needs a command and allows only --done command")
    if done == Criterion.COMMAND and command is None:
        raise UsageError("--done command needs --done-command", hint='--done-command "make test"')


def _criterion(options: WorktreeStartFlags, tasks: str | None) -> Criterion:
    if options.done_command is not None:
        return Criterion.COMMAND
    if options.done == Criterion.TASKS and tasks is None:
        _complain("no tasks.md yet; the work is not done until one exists with all boxes ticked")
    return Criterion(options.done) if options.done else default_criterion(tasks)


def _task(words: tuple[str, ...], *, written: bool) -> str:
    text = " ".join(words).strip()
    if text:
        return text
    if not written:
        raise UsageError("a task is required", hint='for example: wt-loop start add-auth "Implement the login form"')
    return "Implement the change."
