"""`wt-loop start` and `wt-loop resume`: run a task in a loop in a worktree, in a new terminal."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from spool.cli.options.budget_options import BUDGET_OPTIONS
from spool.cli.options.groups import GroupedCommand, option
from spool.cli.options.loop_options import (
    AGENT_LIMIT_OPTIONS,
    AGENT_OPTIONS,
    GATE_OPTIONS,
    INCLUDE_DIRTY,
    LOCATE_OPTIONS,
    given_gates,
    harness_option,
    together,
)
from spool.cli.options.target import complete_change, complete_loop, flag_named
from spool.domain.loop.criteria import Criterion, default_criterion
from spool.domain.loop.settings import NAMES
from spool.errors import UsageError
from spool.sources.project import bare_project
from spool.views.say import say

if TYPE_CHECKING:
    from spool.domain.loop.settings import Resolved
    from spool.domain.loop.spec import LoopSpec

_where = option("Worktree")
_limits = option("Completion and limits")
_run = option("Run")
_window = option("Terminal")
_EXAMPLES = (
    'wt-loop start add-auth "Implement the login form" --max 10 --done tasks',
    'wt-loop start 2-1 "Make the tests pass" --done-command "make test"',
    "wt-loop start add-auth --create --terminal tmux --allow-all",
)
_AGENT_OPTIONS = (harness_option("claude"), *AGENT_OPTIONS[1:])
_WINDOW_OPTIONS = (
    _window("--terminal", metavar="NAME", help="Terminal program, tmux, or none for the background."),
    _window("--fullscreen/--no-fullscreen", default=None, help="Open the window full screen."),
    _window("--keep-open/--close", "keep_open", default=None, help="Keep the window open after the loop ends."),
)
_LIMIT_OPTIONS = (
    _limits(
        "--max",
        "max_iterations",
        type=click.IntRange(min=1),
        metavar="N",
        help="Stop after N iterations.  [default: 10; with --done manual, no limit unless given]",
    ),
    _limits(
        "--stall",
        type=click.IntRange(min=0),
        metavar="N",
        help="Stop after N iterations without progress; 0 disables.  [default: 3; with --done manual, 0]",
    ),
    *BUDGET_OPTIONS,
    *AGENT_LIMIT_OPTIONS,
)


@click.command("start", cls=GroupedCommand, examples=_EXAMPLES)
@click.argument("change_id", metavar="CHANGE", shell_complete=complete_change)
@click.argument("task", nargs=-1)
@_where("--path", metavar="DIR", help="Use this worktree instead of finding it by change.")
@_where("--create", is_flag=True, help="Create the worktree if this repository has none for the change.")
@_where("--all-projects", "everywhere", is_flag=True, help="Find the worktree in other projects too.")
@together(_AGENT_OPTIONS)
@_limits(
    "--done",
    type=click.Choice([one.value for one in Criterion]),
    help="When the work is done.  [default: tasks; manual without tasks]",
)
@_limits("--done-command", metavar="COMMAND", help="The work is done when this command succeeds.")
@together(_LIMIT_OPTIONS, GATE_OPTIONS)
@_run("--auto-commit", is_flag=True, default=None, help="Commit the work of each iteration.")
@INCLUDE_DIRTY
@together(_WINDOW_OPTIONS)
def start(change_id: str, task: tuple[str, ...], **given: Any) -> None:
    """Start a loop in the worktree of a change, in a new terminal window.

    The default agent is Claude Code. Without a desktop, the loop runs in tmux or in the background.
    """
    if given["path"] is not None and given["create"]:
        raise UsageError("--path and --create cannot be used together")
    _refuse_contradictions(given)
    from spool.app.starting.worktree_start import resolved_change, task_spec, worktree_settings

    found = resolved_change(change_id, given["path"])
    root = _worktree(found, given, tasked=bool(" ".join(task).strip()))
    change = bare_project(root).read(found)
    spec = task_spec(
        root,
        found,
        _task(task, written=bool(change.proposal or change.tasks)),
        worktree_settings(_settings(root, {**_flags(given), **given_gates(given)})),
        criterion=_criterion(given, change.tasks),
        done_command=given["done_command"] or "",
        max_iterations=given["max_iterations"],
        stall=given["stall"],
    )
    _begin(msgspec.structs.replace(spec, no_gates=given["no_gates"]))


def _worktree(change: str, given: dict[str, Any], *, tasked: bool) -> Path:
    """Return the worktree to work in, and say what was created."""
    from spool.app.starting.effective_settings import root_here
    from spool.app.starting.worktree_start import Wanted, checkout_of, worktree_settings

    wanted = Wanted(
        change=change,
        path=given["path"],
        create=given["create"],
        everywhere=given["everywhere"],
        unwritten=tasked and bool(given["done"] or given["done_command"]),
    )
    checkout, copied = checkout_of(
        wanted, lambda: worktree_settings(_settings(root_here() or Path.cwd(), _flags(given))).settings
    )
    if copied is not None:
        say(f"Created worktree {checkout.path} on branch {checkout.branch}.")
    for folder in copied or ():
        say(f"Copied {folder}, which is not committed.")
    return Path(checkout.path)


@click.command("resume", cls=GroupedCommand)
@click.argument("change_id", metavar="[CHANGE]", required=False, shell_complete=complete_loop)
@INCLUDE_DIRTY
@together(LOCATE_OPTIONS, _AGENT_OPTIONS, _LIMIT_OPTIONS, _WINDOW_OPTIONS)
def resume(change_id: str | None, **given: Any) -> None:
    """Continue a loop that has ended, with its original settings unless overridden.

    Limits on iterations, errors and time start over; what was spent stays counted.
    """
    from spool.app.loops.worktree_loops import locate
    from spool.app.starting.worktree_start import resumed_spec

    changed = _flags(given)
    if given["max_iterations"] is not None:
        changed["max_iterations"] = given["max_iterations"]
    if given["stall"] is not None:
        changed["stall_iterations"] = given["stall"]
    _begin(resumed_spec(locate(change_id, given["path"], everywhere=given["everywhere"]), changed, flag=flag_named))


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


def _settings(root: Path, flags: dict[str, Any]) -> "Resolved":
    from spool.cli.commands.setup.trust import settings_to_start

    return settings_to_start(root, flags, ask=sys.stdin.isatty() and sys.stderr.isatty())


def _complain(message: str) -> None:
    say(f"wt-loop: {message}", err=True)


def _refuse_contradictions(given: dict[str, Any]) -> None:
    done, command = given["done"], given["done_command"]
    if command is not None and (done not in (None, Criterion.COMMAND) or not command.strip()):
        raise UsageError("--done-command needs a command and allows only --done command")
    if done == Criterion.COMMAND and command is None:
        raise UsageError("--done command needs --done-command", hint='--done-command "make test"')


def _criterion(given: dict[str, Any], tasks: str | None) -> Criterion:
    if given["done_command"] is not None:
        return Criterion.COMMAND
    if given["done"] == Criterion.TASKS and tasks is None:
        _complain("no tasks.md yet; the work is not done until one exists with all boxes ticked")
    return Criterion(given["done"]) if given["done"] else default_criterion(tasks)


def _task(words: tuple[str, ...], *, written: bool) -> str:
    text = " ".join(words).strip()
    if text:
        return text
    if not written:
        raise UsageError("a task is required", hint='for example: wt-loop start add-auth "Implement the login form"')
    return "Implement the change."


def _flags(given: dict[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in NAMES if given.get(name) not in (None, ()) and name != "max_iterations"}
