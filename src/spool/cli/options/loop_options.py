"""The options that `ralph`, `run` and `wt-loop` share, and how to read them."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from spool.cli.options.groups import Duration, Size, option
from spool.cli.options.target import complete_change, complete_harness
from spool.domain.change.plan_file.ids import is_plan_name
from spool.domain.judging.gates.gate import BUILT_IN
from spool.errors import UsageError

if TYPE_CHECKING:  # `--status` starts no loop, so it must not import one
    from spool.domain.loop.settings import Settings
    from spool.domain.loop.spec import LoopSpec
    from spool.domain.loop.summary import LoopKind
    from spool.sources.project import Project

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Decorator = Callable[[_Function], _Function]
_target = option("Input")
_where = option("Worktree")
_place = option("Workspace")
_agent = option("Agent")
_checks = option("Checks")
_limits = option("Completion and limits")
_run = option("Run")
_look = option("Status and context (start no loop)")
_output = option("Output")

TARGET_OPTIONS = (
    _target(
        "--change", "-c", metavar="ID", shell_complete=complete_change, help="Change id, 2-1, unique prefix or slug."
    ),
    _target("--module", metavar="ID", help="Choose among the changes of this module."),
    _run("--no-interactive", is_flag=True, help="Never ask; fail if a value is missing."),
)
LOCATE_OPTIONS = (
    _where("--path", metavar="DIR", help="Use this worktree instead of finding it by change."),
    _where("--all-projects", "everywhere", is_flag=True, help="Find the change in other projects too."),
)
IN_OPTION = _place(
    "--in",
    "place",
    type=click.Choice(["here", "worktree", "clone"]),
    help="Work in this tree, in a git worktree, or in a clone; from the last two the work ends on branch change/ID.  "
    "[default: here]",
)
SANDBOX_OPTIONS = (
    _place(
        "--sandbox/--no-sandbox",
        default=None,
        help="Sandbox the agent, its children and the checks; they work in a clone.  [default: off]",
    ),
    _place("--net", "sandbox_net", type=click.Choice(["on", "off"]), help="In a sandbox: network.  [default: on]"),
    _place(
        "--allow-host",
        "allow_hosts",
        multiple=True,
        metavar="NAME",
        help="In a sandbox: the only hosts to reach, through srt. Repeatable.",
    ),
    _place(
        "--sandbox-read",
        multiple=True,
        metavar="PATH",
        help="In a sandbox: let it read this path too. Repeatable.",
    ),
)
REACH_OPTIONS = (
    _target("--path", metavar="DIR", help="Use the repository around this directory."),
    _target("--all-projects", "everywhere", is_flag=True, help="Include the loops of other projects."),
)


def harness_option(default: str) -> _Decorator[Any]:
    """Return `--harness` and its alias `--agent`, with the default that the command has."""
    text = f"Agent to run; see `spool harness list`.  [default: {default}, unless configured]"
    return _agent("--harness", "--agent", metavar="NAME", shell_complete=complete_harness, help=text)


AGENT_OPTIONS = (
    harness_option("opencode"),
    _agent("--model", metavar="NAME", help="Model for the agent."),
    _agent(
        "--allow-all",
        "--yolo",
        "--dangerously-allow-all",
        "allow_all",
        is_flag=True,
        default=None,
        help="Let the agent use its tools without asking.",
    ),
    _agent("--resume-agent", is_flag=True, default=None, help="Continue one agent conversation across iterations."),
)


def _verify(what: str) -> _Decorator[Any]:
    return _checks("--verify", "verify", multiple=True, metavar="CMD", help=f"{what} Repeatable.")


_VERIFY = _verify("Run CMD when the agent claims completion, and refuse the claim unless it succeeds.")
_BUILT_IN = _checks(
    "--gate",
    "built_in",
    multiple=True,
    type=click.Choice(BUILT_IN),
    help="Add a built-in check: all boxes ticked, the format's own validation, everything committed.",
)
_POLICY = (
    _checks(
        "--baseline",
        type=click.Choice(["tolerant", "strict", "off"]),
        help="Compare with the checks before the first agent, require all green, or neither.  [default: tolerant]",
    ),
    _checks("--require", type=click.Choice(["proof"]), help="Refuse work that no test shows."),
    _checks(
        "--allow-change",
        multiple=True,
        metavar="PATH",
        help="Let the agent change this test, or file that decides about tests. Repeatable.",
    ),
)
GATE_OPTIONS = (
    _VERIFY,
    _BUILT_IN,
    _checks("--no-gates", is_flag=True, help="Turn the configured checks off for this run."),
    *_POLICY,
    _checks("--allow-empty", is_flag=True, default=None, help="Accept a claim that changes no file."),
)
VERIFY_OPTIONS = (_verify("Also run CMD as a check."), _BUILT_IN, *_POLICY)
TICK_OPTION = _target("--tick", is_flag=True, help="Add boxes to the plain list items of a plan file.")
AGENT_LIMIT_OPTIONS = (
    _limits(
        "--iteration-timeout", type=Duration(), help="Stop an agent that runs this long; 0 disables.  [default: 2h]"
    ),
    _limits(
        "--idle-timeout",
        type=Duration(),
        help="Stop an agent that is silent this long; 0 disables.  [default: 30m]",
    ),
    _limits(
        "--agent-memory",
        type=Size(),
        help="Stop an agent that uses more memory than this, like 4G; 0 disables.  [default: 0]",
    ),
)
START_OPTIONS = (
    _run("--command-timeout", type=Duration(), help="Time limit for git and the format's own command.  [default: 30s]"),
    _run("--fresh", is_flag=True, help="Set earlier history aside and start at iteration 1."),
    _run("--detach", "-d", is_flag=True, help="Run in the background."),
)
INCLUDE_DIRTY = _run(
    "--include-dirty", is_flag=True, default=None, help="Start on uncommitted changes, and commit them as well."
)
LOOK_OPTIONS = (
    _look("--status", is_flag=True, help="Show the loop's status and recent iterations."),
    _look("--add-context", metavar="TEXT", help="Add a note to all later prompts, until it is cleared."),
    _look("--clear-context", is_flag=True, help="Remove all notes."),
)
OUTPUT_OPTIONS = (
    _output("--no-stream", is_flag=True, help="Print only the result of each iteration."),
    _output("--json", "as_json", is_flag=True, help="Print events or the status as JSON lines."),
    _output("--verbose", "-v", is_flag=True, help="Also print tool results and refused promises."),
)


def together(*groups: tuple[_Decorator[Any], ...]) -> _Decorator[Any]:
    """Return a decorator that adds all options of the groups, in order."""

    def decorate(function: _Function) -> _Function:
        for add in reversed([add for group in groups for add in group]):
            function = add(function)
        return function

    return decorate


def starts_no_loop(given: Mapping[str, Any]) -> bool:
    """Whether the options ask for status or context only, not for a loop."""
    return bool(given["status"] or given["add_context"] is not None or given["clear_context"])


def refuse_contradictions(given: Mapping[str, Any]) -> None:
    """Raise a UsageError for options that exclude each other."""
    if given["detach"] and starts_no_loop(given):
        raise UsageError("--detach cannot be used with --status or the context options")
    looks = [name for name in ("status", "add_context", "clear_context") if given[name] not in (None, False)]
    if len(looks) > 1:
        raise UsageError(f"--{looks[0]} and --{looks[1]} cannot be used together".replace("_", "-"))


def may_prompt(given: Mapping[str, Any]) -> bool:
    """Whether prompting is allowed and both ends are terminals."""
    return not given["no_interactive"] and not given["as_json"] and sys.stdin.isatty() and sys.stderr.isatty()


def flag_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings given as flags."""
    found = gate_settings(given)
    return {**found, "stream": False} if given["no_stream"] else found


def gate_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings given as flags, with the gates among them."""
    from spool.domain.loop.settings import NAMES

    found = {name: given[name] for name in NAMES if given.get(name) not in (None, ())}
    return found | given_gates(given)


def given_gates(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the gates given as flags, which are added to the configured ones."""
    if given.get("no_gates") and (given["verify"] or given["built_in"]):
        raise UsageError("--no-gates cannot be used with --verify or --gate")
    if not all(command.strip() for command in given["verify"]):
        raise UsageError('--verify needs a command: --verify "make test"')
    gates = [{"name": name} for name in given["built_in"]] + [{"run": command} for command in given["verify"]]
    return {"gates": gates} if gates else {}


def prepare(project: "Project", change: str, given: Mapping[str, Any]) -> None:
    """Get a plan file ready, and say where its ticks are kept if it has no boxes."""
    if not is_plan_name(change) and not given["tick"]:
        return
    from spool.app.changes.plan_files import prepare_plan
    from spool.views.say import say

    if prepare_plan(project, change, tick=given["tick"]) and not given["as_json"]:
        say("Items without a box: Spool keeps what is done in its state. --tick adds boxes to the file.", err=True)


def spec_of(door: "LoopKind", root: Path, change: str, settings: "Settings", given: Mapping[str, Any]) -> "LoopSpec":
    """Return the spec of the loop to start."""
    from spool.app.starting.construction import new_spec
    from spool.domain.loop.spec import Show

    return new_spec(
        door,
        root,
        change,
        settings,
        fresh=given["fresh"],
        show=Show.JSON if given["as_json"] else Show.STREAM if settings.stream else Show.RESULTS,
        verbose=given["verbose"],
        no_gates=given["no_gates"],
        gates_given=(*given["built_in"], *given["verify"]),
        baseline_given=given["baseline"] is not None,
    )
