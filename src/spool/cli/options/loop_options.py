"""The options that `ralph`, `run`, `wt-loop` and others share, and how to read them."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from spool.cli.options.flags import Flags, given_settings, option_of
from spool.cli.options.groups import Duration
from spool.cli.options.target import complete_change, complete_harness, on_terminal
from spool.domain.change.plan_file.ids import is_plan_name
from spool.domain.judging.gates.gate import BUILT_IN
from spool.errors import UsageError

if TYPE_CHECKING:  # `--status` starts no loop, so it must not import one
    from spool.domain.loop.settings import Layer, Settings
    from spool.domain.loop.spec import LoopSpec
    from spool.domain.loop.summary import LoopKind
    from spool.sources.project import Project

_target = option_of("Input")
_where = option_of("Worktree")
_place = option_of("Workspace")
_agent = option_of("Agent")
_checks = option_of("Checks")
_limits = option_of("Completion and limits")
_run = option_of("Run")
_look = option_of("Status and context (start no loop)")
_output = option_of("Output")
_HARNESS = "Agent to run; see `spool harness list`.  [default: {}, unless configured]"

JSON = _output("--json", help="Print JSON.")
MODULE = _target("--module", metavar="ID", help="Choose among the changes of this module.")
NO_INTERACTIVE = _run("--no-interactive", help="Never ask; fail if a value is missing.")
TICK = _target("--tick", help="Add boxes to the plain list items of a plan file.")
EVERYWHERE = _where("--all-projects", help="Find the change in other projects too.")
WORKTREE_PATH = _where("--path", metavar="DIR", help="Use this worktree instead of finding it by change.")
MAX_RETRIES = _limits("--max-retries", metavar="N", help="Retry a story up to N times.  [default: 3]")
STALL = _limits(
    "--stall",
    type=click.IntRange(min=0),
    metavar="N",
    help="Stop after N iterations without progress; 0 disables.  [default: 5; with --max-iterations: 0]",
)
COMMAND_TIMEOUT = _run(
    "--command-timeout", type=Duration(), help="Time limit for git and the format's own command.  [default: 30s]"
)
FRESH = _run("--fresh", help="Set earlier history aside and start at iteration 1.")
ON_RESUME = _run(
    "--on-resume",
    help="Resume a story from its checkpoint (revert) or from the tree as it is (keep).  "
    "[default: revert; if the tree was edited since, ask, else keep]",
)
COMMIT_STORIES = _run("--commit-stories", help="Commit the work of each finished story.")
AUTO_COMMIT = _run("--auto-commit", help="Commit the work of each iteration.")
INCLUDE_DIRTY = _run("--include-dirty", help="Start on uncommitted changes, and commit them as well.")
GATES = _checks(
    "--gate",
    type=click.Choice([one.value for one in BUILT_IN]),
    help="Add a built-in check: all boxes ticked, the format's own validation, everything committed.",
)
ALLOW_EMPTY = _checks("--allow-empty", help="Accept a claim that changes no file.")
PLACE = _place(
    "--in",
    help="Work in this tree, in a git worktree, or in a clone; from the last two the work ends on branch "
    "change/ID.  [default: here]",
)


class TargetFlags(Flags, frozen=True, kw_only=True):
    """The change that is meant, and whether a person may be asked."""

    change: str | None = _target(
        "--change", "-c", metavar="ID", shell_complete=complete_change, help="Change id, 2-1, unique prefix or slug."
    )
    module: str | None = MODULE
    no_interactive: bool = NO_INTERACTIVE


class LocateFlags(Flags, frozen=True, kw_only=True):
    """Where a worktree loop is looked for."""

    path: str | None = WORKTREE_PATH
    everywhere: bool = EVERYWHERE


class ReachFlags(Flags, frozen=True, kw_only=True):
    """The projects whose loops are meant."""

    path: str | None = _target("--path", metavar="DIR", help="Use the repository around this directory.")
    everywhere: bool = _target("--all-projects", help="Include the loops of other projects.")


class SandboxFlags(Flags, frozen=True, kw_only=True):
    """The sandbox around agents and checks."""

    sandbox: bool | None = _place(
        "--sandbox/--no-sandbox",
        help="Sandbox the agent, its children and the checks; they work in a clone.  [default: off]",
    )
    sandbox_net: Literal["on", "off"] | None = _place("--net", help="In a sandbox: network.  [default: on]")
    allow_hosts: tuple[str, ...] = _place(
        "--allow-host", metavar="NAME", help="In a sandbox: the only hosts to reach, through srt. Repeatable."
    )
    sandbox_read: tuple[str, ...] = _place(
        "--sandbox-read", metavar="PATH", help="In a sandbox: let it read this path too. Repeatable."
    )


class AgentFlags(Flags, frozen=True, kw_only=True):
    """The agent and its permissions."""

    harness: str | None = _agent(
        "--harness", "--agent", metavar="NAME", shell_complete=complete_harness, help=_HARNESS.format("opencode")
    )
    model: str | None = _agent("--model", metavar="NAME", help="Model for the agent.")
    allow_all: bool | None = _agent(
        "--allow-all", "--yolo", "--dangerously-allow-all", help="Let the agent use its tools without asking."
    )


class WorktreeAgentFlags(AgentFlags, frozen=True, kw_only=True):
    """The same for `wt-loop`, whose default agent is another."""

    harness: str | None = _agent(
        "--harness", "--agent", metavar="NAME", shell_complete=complete_harness, help=_HARNESS.format("claude")
    )


class BudgetFlags(Flags, frozen=True, kw_only=True):
    """What a loop may spend."""

    max_cost_usd: float | None = _limits("--max-cost", metavar="USD", help="Stop when the loop has cost this much.")
    max_tokens: int | None = _limits("--max-tokens", metavar="N", help="Stop when the loop has used this many tokens.")
    max_duration: float | None = _limits(
        "--max-duration", type=Duration(), help="Stop this run after this time, waits included."
    )


class AgentLimitFlags(Flags, frozen=True, kw_only=True):
    """What one agent may take."""

    iteration_timeout: float | None = _limits(
        "--iteration-timeout", type=Duration(), help="Stop an agent that runs this long; 0 disables.  [default: 2h]"
    )
    idle_timeout: float | None = _limits(
        "--idle-timeout", type=Duration(), help="Stop an agent that is silent this long; 0 disables.  [default: 30m]"
    )


class PolicyFlags(Flags, frozen=True, kw_only=True):
    """How strictly checks are judged."""

    baseline: Literal["tolerant", "strict", "off"] | None = _checks(
        "--baseline",
        help="Compare with the checks before the first agent, require all green, or neither.  [default: tolerant]",
    )
    require: Literal["proof"] | None = _checks("--require", help="Refuse work that no test shows.")
    allow_change: tuple[str, ...] = _checks(
        "--allow-change",
        metavar="PATH",
        help="Let the agent change this test, or file that decides about tests. Repeatable.",
    )
    known_failures: tuple[str, ...] = _checks(
        "--known-failures",
        metavar="TEST",
        help="Let this test stay red if it was: an id, a file or a pattern. Repeatable.",
    )


class CheckFlags(Flags, frozen=True, kw_only=True):
    """The checks to run by hand."""

    verify: tuple[str, ...] = _checks("--verify", metavar="CMD", help="Also run CMD as a check. Repeatable.")
    built_in: tuple[str, ...] = GATES
    policy: PolicyFlags


class GateFlags(Flags, frozen=True, kw_only=True):
    """The checks of a loop."""

    verify: tuple[str, ...] = _checks(
        "--verify",
        metavar="CMD",
        help="Run CMD when the agent claims completion, and refuse the claim unless it succeeds. Repeatable.",
    )
    built_in: tuple[str, ...] = GATES
    no_gates: bool = _checks("--no-gates", help="Turn the configured checks off for this run.")
    policy: PolicyFlags
    allow_empty: bool | None = ALLOW_EMPTY

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the checks that were given."""
        return (*self.built_in, *self.verify)


class StartFlags(Flags, frozen=True, kw_only=True):
    """How a loop starts."""

    command_timeout: float | None = COMMAND_TIMEOUT
    fresh: bool = FRESH
    detach: bool = _run("--detach", "-d", help="Run in the background.")


class OutputFlags(Flags, frozen=True, kw_only=True):
    """What a loop prints."""

    no_stream: bool = _output("--no-stream", help="Print only the result of each iteration.")
    as_json: bool = _output("--json", help="Print events or the status as JSON lines.")
    verbose: bool = _output("--verbose", "-v", help="Also print tool results and refused promises.")


class LookFlags(Flags, frozen=True, kw_only=True):
    """What to show or note instead of starting a loop."""

    status: bool = _look("--status", help="Show the loop's status and recent iterations.")
    add_context: str | None = _look(
        "--add-context", metavar="TEXT", help="Add a note to all later prompts, until it is cleared."
    )
    clear_context: bool = _look("--clear-context", help="Remove all notes.")

    @property
    def given(self) -> list[str]:
        """The flags that were given; with any of them no loop starts."""
        asked = {
            "--status": self.status,
            "--add-context": self.add_context is not None,
            "--clear-context": self.clear_context,
        }
        return [flag for flag, wanted in asked.items() if wanted]

    def answer(self, door: "LoopKind", root: Path, change: str, *, as_json: bool) -> int:
        """Do what was asked for, and return the exit code. It starts no loop, so it imports little."""
        from spool.domain.loop.summary import state_path
        from spool.views.say import say

        if self.status:
            from spool.app.loops.loop_list import report
            from spool.views.loop_status import show_report

            show_report(report(root, door, change), as_json=as_json)
            return 0
        from spool.app.loops.notes import add_note, clear_notes

        state = Path(state_path(str(root), door, change))
        if self.add_context is None:
            clear_notes(state)
            say(f"Cleared the context of {change}.")
        else:
            add_note(state, self.add_context)
            clear = f"spool {door} --clear-context --change {change}"
            say(f"Added to the context of {change}; every later prompt includes it. To remove it: {clear}")
        return 0


class LoopFlags(Flags, frozen=True, kw_only=True):
    """The options that `ralph` and `run` share."""

    target: TargetFlags
    place: Literal["here", "worktree", "clone"] | None = PLACE
    sandbox: SandboxFlags
    agent: AgentFlags
    gates: GateFlags
    start: StartFlags
    output: OutputFlags
    look: LookFlags

    @property
    def may_prompt(self) -> bool:
        """Whether prompting is allowed and both ends are terminals."""
        return not self.target.no_interactive and not self.output.as_json and on_terminal()

    def refuse_contradictions(self) -> None:
        """Raise a UsageError for options that exclude each other."""
        looks = self.look.given
        if self.start.detach and looks:
            raise UsageError("--detach cannot be used with --status or the context options")
        if len(looks) > 1:
            raise UsageError(f"{looks[0]} and {looks[1]} cannot be used together")

    def settings(self) -> "list[Layer]":
        """Return the settings given as flags."""
        from spool.domain.loop.settings import Layer

        found = loop_settings(self, self.gates)
        return [*found, Layer("--no-stream", {"stream": False})] if self.output.no_stream else found

    def spec(
        self,
        door: "LoopKind",
        root: Path,
        change: str,
        settings: "Settings",
        *,
        again: str,
        task: str = "",
        on_resume: str = "",
    ) -> "LoopSpec":
        """Return the spec of the loop to start."""
        from spool.app.starting.construction import new_spec
        from spool.domain.loop.spec import Show

        return new_spec(
            door,
            root,
            change,
            settings,
            again=again,
            task=task,
            on_resume=on_resume,
            fresh=self.start.fresh,
            show=Show.JSON if self.output.as_json else Show.STREAM if settings.stream else Show.RESULTS,
            verbose=self.output.verbose,
            no_gates=self.gates.no_gates,
            gates_given=self.gates.names,
            baseline_given=self.gates.policy.baseline is not None,
        )

    def prepare(self, project: "Project", change: str, *, tick: bool) -> None:
        """Get a plan file ready, and say where its ticks are kept if it has no boxes."""
        if not is_plan_name(change) and not tick:
            return
        from spool.app.changes.plan_files import prepare_plan
        from spool.views.say import say

        if prepare_plan(project, change, tick=tick) and not self.output.as_json:
            say("Items without a box: Spool keeps what is done in its state. --tick adds boxes to the file.", err=True)


def loop_settings(options: Flags, gates: GateFlags) -> "list[Layer]":
    """Return the settings among the options of a command that starts loops."""
    if gates.no_gates and gates.names:
        raise UsageError("--no-gates cannot be used with --verify or --gate")
    return [*given_settings(options), *_given_gates(gates)]


def check_settings(checks: CheckFlags) -> "list[Layer]":
    """Return the settings among the options of a command that runs checks."""
    return [*given_settings(checks), *_given_gates(checks)]


def _given_gates(gates: CheckFlags | GateFlags) -> "list[Layer]":
    """Return the gates given as flags, which are added to the configured ones."""
    from spool.domain.loop.settings import Layer

    if not all(command.strip() for command in gates.verify):
        raise UsageError('--verify needs a command: --verify "make test"')
    found = [{"name": name} for name in gates.built_in] + [{"run": command} for command in gates.verify]
    return [Layer("--gates", {"gates": found})] if found else []
