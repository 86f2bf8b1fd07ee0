"""The options that `ralph` and `run` share, and what follows from them."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from spool.cli.options import Duration, option
from spool.cli.target import complete_change
from spool.errors import UsageError

if TYPE_CHECKING:  # `--status` starts no loop, and loads nothing for one
    from spool.domain.loop import Door
    from spool.domain.settings import Settings
    from spool.domain.spec import LoopSpec

EXIT_CODES = "Exit codes: 0 complete, 1 failed, 2 usage, 3 iterations used up, 4 stuck, 130 interrupted."
_Function = TypeVar("_Function", bound=Callable[..., Any])
_Decorator = Callable[[_Function], _Function]
_target = option("Which change")
_agent = option("Which agent")
_limits = option("When to stop")
_look = option("Look and steer (these start no loop)")
_output = option("Output")

TARGET_OPTIONS = (
    _target(
        "--change", "-c", metavar="ID", shell_complete=complete_change, help="Full id, 2-1, a unique prefix or a slug."
    ),
    _target("--module", metavar="ID", help="Offer the changes of this module."),
    _target("--no-interactive", is_flag=True, help="Never ask; fail if something is missing."),
)
AGENT_OPTIONS = (
    _agent("--harness", metavar="NAME", help="The agent to run; `spool config` shows the default."),
    _agent("--model", metavar="NAME", help="The model for the agent to use."),
    _agent(
        "--allow-all",
        "--yolo",
        "--dangerously-allow-all",
        "allow_all",
        is_flag=True,
        default=None,
        help="Let the agent use its tools without asking.",
    ),
    _agent(
        "--resume-agent", is_flag=True, default=None, help="Continue the agent's own conversation between iterations."
    ),
)
TIME_OPTIONS = (
    _limits(
        "--iteration-timeout", type=Duration(), help="End an agent that runs longer than this; 0: never.  [default: 2h]"
    ),
    _limits(
        "--idle-timeout",
        type=Duration(),
        help="End an agent that prints nothing for this long; 0: never.  [default: 30m]",
    ),
)
START_OPTIONS = (
    _limits("--command-timeout", type=Duration(), help="Time limit for git and openspec commands.  [default: 30s]"),
    _limits("--fresh", is_flag=True, help="Set earlier history aside and begin at iteration 1."),
    _output("--detach", "-d", is_flag=True, help="Run in the background."),
)
LOOK_OPTIONS = (
    _look("--status", is_flag=True, help="Show the loop's status and recent iterations."),
    _look("--add-context", metavar="TEXT", help="Add a note to every later prompt."),
    _look("--clear-context", is_flag=True, help="Remove all notes."),
)
OUTPUT_OPTIONS = (
    _output("--no-stream", is_flag=True, help="Print only the result of each iteration."),
    _output("--json", "as_json", is_flag=True, help="Print events, or the status, as JSON lines."),
    _output("--verbose", "-v", is_flag=True, help="Print tool results and refused promises too."),
)


def together(*groups: tuple[_Decorator[Any], ...]) -> _Decorator[Any]:
    """Return one decorator that adds all options of the groups, in their order."""

    def decorate(function: _Function) -> _Function:
        for add in reversed([add for group in groups for add in group]):
            function = add(function)
        return function

    return decorate


def only_looks(given: Mapping[str, Any]) -> bool:
    """Whether no loop is to be started."""
    return bool(given["status"] or given["add_context"] is not None or given["clear_context"])


def refuse_contradictions(given: Mapping[str, Any]) -> None:
    """Refuse two questions at once."""
    if given["detach"] and only_looks(given):
        raise UsageError("--detach starts a loop; --status and the context commands do not")
    looks = [name for name in ("status", "add_context", "clear_context") if given[name] not in (None, False)]
    if len(looks) > 1:
        raise UsageError(f"--{looks[0]} and --{looks[1]} do not go together".replace("_", "-"))


def may_ask(given: Mapping[str, Any]) -> bool:
    """Whether a person is there to answer, and may be asked."""
    return not given["no_interactive"] and not given["as_json"] and sys.stdin.isatty() and sys.stderr.isatty()


def flag_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that were given as flags."""
    from spool.domain.settings import NAMES

    found = {name: given[name] for name in NAMES if given.get(name) is not None}
    return {**found, "stream": False} if given["no_stream"] else found


def spec_of(door: "Door", root: Path, change: str, settings: "Settings", given: Mapping[str, Any]) -> "LoopSpec":
    """Return what starts the loop that was asked for."""
    from spool.app.runner import new_run_id
    from spool.domain.spec import LoopSpec, Show

    return LoopSpec(
        run_id=new_run_id(),
        door=door,
        change=change,
        root=str(root),
        settings=settings,
        fresh=given["fresh"],
        show=Show.JSON if given["as_json"] else Show.STREAM if settings.stream else Show.RESULTS,
        verbose=given["verbose"],
    )
