"""`wt-loop start` and `wt-loop resume`: find the worktree, settle what is asked for, open a terminal."""

from pathlib import Path
from typing import Any

import click
import msgspec

from spool.cli.loop_options import AGENT_OPTIONS, together
from spool.cli.options import Duration, GroupedCommand, option
from spool.domain.change import check_id
from spool.domain.checkout import Checkout
from spool.domain.criteria import Criterion, bounds_for, default_criterion
from spool.domain.settings import NAMES
from spool.errors import UsageError
from spool.sources.project import bare_project

_where = option("Which worktree")
_agent = option("Which agent")
_limits = option("When to stop")
_window = option("Which terminal")
_EXAMPLES = (
    'wt-loop start add-auth "Implement the login form" --max 10 --done tasks',
    'wt-loop start add-auth "Make the tests pass" --done-command "make test" --create',
    "wt-loop start add-auth --terminal tmux --allow-all",
)
_WINDOW_OPTIONS = (
    _window("--terminal", metavar="NAME", help="A terminal's name, tmux, or none for the background."),
    _window("--fullscreen/--no-fullscreen", default=None, help="Fill the screen."),
    _window("--keep-open/--close", "keep_open", default=None, help="Leave the window when the loop has ended."),
)
_LIMIT_OPTIONS = (
    _limits("--max", "max_iterations", type=click.IntRange(min=1), metavar="N", help="At most so many.  [default: 10]"),
    _limits("--stall", type=click.IntRange(min=0), metavar="N", help="Stuck without progress in so many; 0: never."),
    _limits("--max-tokens", type=int, metavar="N", help="Stuck when so many tokens are used."),
    _limits("--max-cost", "max_cost_usd", type=float, metavar="USD", help="Stuck when so much money is used."),
    _limits("--iteration-timeout", type=Duration(), help="End an agent that runs longer; 0: never.  [default: 2h]"),
    _limits("--idle-timeout", type=Duration(), help="End an agent that is silent so long; 0: never.  [default: 30m]"),
)


@click.command("start", cls=GroupedCommand, examples=_EXAMPLES)
@click.argument("change_id", metavar="CHANGE")
@click.argument("task", nargs=-1)
@_where("--path", metavar="DIR", help="The worktree, where the change's id does not give it.")
@_where("--create", is_flag=True, help="Make the worktree if there is none.")
@together(AGENT_OPTIONS)
@_agent("--auto-commit", is_flag=True, default=None, help="Commit the work of each iteration.")
@_limits(
    "--done",
    type=click.Choice([one.value for one in Criterion]),
    help="What makes it done.  [default: tasks, without one manual]",
)
@_limits("--done-command", metavar="COMMAND", help="Done when this command succeeds.")
@together(_LIMIT_OPTIONS, _WINDOW_OPTIONS)
@click.help_option("-h", "--help")
def start(change_id: str, task: tuple[str, ...], **given: Any) -> None:
    """Start a loop in the worktree of a change, in a new terminal window, and return.

    Claude Code is the agent unless another is chosen. Without a desktop the loop runs in tmux, else in the background.
    """
    check_id(change_id)
    from spool.cli.wt.job import settings_for
    from spool.cli.wt.launching import begin, tell_started
    from spool.cli.wt.request import Request

    checkout = _checkout(change_id, given)
    root = Path(checkout.path)
    tasks = bare_project(root).read(change_id)
    criterion = _criterion(given, tasks.tasks)
    flags = _flags(given)
    resolved = settings_for(root, flags)
    chosen = resolved.origins["max_iterations"] != "default"
    limit, stall = bounds_for(
        criterion,
        max_iterations=given["max_iterations"],
        configured=resolved.settings.max_iterations if chosen else None,
        stall=given["stall"],
        stall_default=resolved.settings.stall_iterations,
    )
    request = Request(
        change_id=change_id,
        worktree=str(root),
        task=_task(task, written=bool(tasks.proposal or tasks.tasks)),
        criterion=criterion,
        done_command=given["done_command"] or "",
        max_iterations=limit,
        stall=stall,
        flags=flags,
    )
    tell_started(begin(request, fresh=True))


@click.command("resume", cls=GroupedCommand)
@click.argument("change_id", metavar="[CHANGE]", required=False)
@_where("--path", metavar="DIR", help="The worktree, where the change's id does not give it.")
@together(AGENT_OPTIONS, _LIMIT_OPTIONS, _WINDOW_OPTIONS)
@click.help_option("-h", "--help")
def resume(change_id: str | None, **given: Any) -> None:
    """Go on with a loop that has ended, as it was started but for what is given here. Limits count anew."""
    from spool.cli.wt.launching import begin, tell_started
    from spool.cli.wt.located import locate
    from spool.cli.wt.request import kept_request
    from spool.host.git.checkouts import common_dir

    found = locate(change_id, given["path"])
    request = kept_request(common_dir(found.root), found.root, found.change_id)
    changed: dict[str, Any] = {"worktree": str(found.root), "flags": {**request.flags, **_flags(given)}}
    if given["max_iterations"] is not None:
        changed["max_iterations"] = given["max_iterations"]
    if given["stall"] is not None:
        changed["stall"] = given["stall"]
    tell_started(begin(msgspec.structs.replace(request, **changed), fresh=False))


def _checkout(change_id: str, given: dict[str, Any]) -> Checkout:
    from spool.cli.target import load_settings
    from spool.host.git.checkouts import checkout_at, find_checkout, make_checkout
    from spool.host.state.registry import this_machine

    if given["path"] is not None:
        if given["create"]:
            raise UsageError("--path names a worktree, --create makes one: give one of them")
        return checkout_at(Path(given["path"]))
    here = Path.cwd()
    known = [Path(entry.project) for entry in this_machine().entries()]
    try:
        return find_checkout(change_id, here=here, projects=known)
    except UsageError as error:
        if not given["create"] or "more than one" in str(error):
            raise
    settings = load_settings(here, {})
    made = make_checkout(change_id, here=here, copy=settings.worktree_copy, setup=settings.worktree_setup)
    click.echo(f"Made the worktree {made.path} on branch {made.branch}.")
    return made


def _criterion(given: dict[str, Any], tasks: str | None) -> Criterion:
    done, command = given["done"], given["done_command"]
    if command is not None:
        if done not in (None, Criterion.COMMAND) or not command.strip():
            raise UsageError("--done-command needs a command, and no other --done beside it")
        return Criterion.COMMAND
    if done == Criterion.COMMAND:
        raise UsageError("--done command needs --done-command", hint='--done-command "make test"')
    if done == Criterion.TASKS and tasks is None:
        click.echo("wt-loop: there is no tasks.md yet; until there is one with boxes, nothing is done", err=True)
    return Criterion(done) if done else default_criterion(tasks)


def _task(words: tuple[str, ...], *, written: bool) -> str:
    text = " ".join(words).strip()
    if text:
        return text
    if not written:
        raise UsageError("say what is to be done", hint='wt-loop start add-auth "Implement the login form"')
    return "Implement the change."


def _flags(given: dict[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in NAMES if given.get(name) is not None and name != "max_iterations"}
