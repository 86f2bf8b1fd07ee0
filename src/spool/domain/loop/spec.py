"""The specification of a loop to start, as a value."""

from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from spool.domain.agent.sandbox_rules import SandboxRules, sandbox_words
from spool.domain.change.story import RepairStory
from spool.domain.change.workspaces import Workspace
from spool.domain.judging.gates.gate import DONE_COMMAND, Baseline, GatePolicy, GateSpec
from spool.domain.loop.criteria import DEFAULT_STALL, RALPH_STALL, Criterion
from spool.domain.loop.plan_memory import PromptMemory, StoryMemory
from spool.domain.loop.settings import RALPH_MAX, Settings
from spool.domain.loop.summary import SCHEMA, LoopKind, LoopSummary, Runner, state_path
from spool.domain.loop.verdict import Limits


class Show(StrEnum):
    """The output of a running loop."""

    STREAM = "stream"
    RESULTS = "results"
    JSON = "json"
    NOTHING = "nothing"


class LoopSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A requested loop, with all settings resolved."""

    schema: int = SCHEMA
    run_id: str
    door: LoopKind
    change: str
    root: str
    """The directory that holds the change."""
    settings: Settings
    task: str = ""
    """The user's prompt, or the task of a worktree loop."""
    criterion: Criterion = Criterion.PROMISE
    done_command: str = ""
    fresh: bool = False
    """Whether to set earlier history aside and start at iteration 1."""
    show: Show = Show.STREAM
    verbose: bool = False
    listed: bool = True
    """Whether the registry lists the run."""
    terminal: str = ""
    """The terminal of the run, if not the one that started it."""
    log: str = ""
    """The file for the output."""
    on_resume: str = ""
    """A person's decision on the tree that an earlier run left, `revert` or `keep`; empty if nobody was asked."""
    again: str = ""
    """The command line that continues the loop."""
    no_gates: bool = False
    """Whether configured gates are off for this run."""
    gates_given: tuple[str, ...] = ()
    """The names of the gates that the person gave with this command, or with one that it continues."""
    baseline_given: bool = False
    """Whether the person gave the baseline with this command, and so may relax that of an earlier run."""
    peers: tuple[str, ...] = ()
    """The state folders of the loops that share this one's budgets."""
    peers_since: datetime | None = None
    """When these start over as well: what they have spent in runs before it does not count."""
    workspace: Workspace | None = None
    """The loop's workspace, if not `root`, which then has only its state."""
    errand: RepairStory | None = None
    """A repair that Spool asks for besides the stories."""

    @property
    def directory(self) -> str:
        """The directory in which the agent works, with the change that it works on."""
        return self.workspace.root if self.workspace else self.root

    @property
    def folder(self) -> str:
        """The loop's state folder."""
        return state_path(self.root, self.door, self.change)

    @property
    def sandbox_rules(self) -> SandboxRules | None:
        """The sandbox around agents and gates."""
        settings = self.settings
        if not settings.sandbox:
            return None
        return SandboxRules(
            net=settings.sandbox_net,
            hosts=settings.allow_hosts,
            read=settings.sandbox_read,
            env=settings.sandbox_env,
        )

    @property
    def gates(self) -> tuple[GateSpec, ...]:
        """The gates in force, with the command of a worktree loop among them."""
        configured = () if self.no_gates else self.settings.gates
        if self.criterion is not Criterion.COMMAND:
            return configured
        timeout = self.settings.done_command_timeout
        return (GateSpec(name=DONE_COMMAND, run=self.done_command, timeout=timeout), *configured)

    @property
    def policy(self) -> GatePolicy:
        """The gates' policy."""
        settings = self.settings
        return GatePolicy(
            baseline=Baseline(settings.baseline),
            require_proof=settings.require == "proof",
            allow_change=settings.allow_change,
            allow_empty=settings.allow_empty,
            known_failures=settings.known_failures,
        )

    @property
    def limits(self) -> Limits:
        """The limits at which the loop ends with its work unfinished."""
        settings = self.settings
        match self.door:
            case LoopKind.RUN:
                return Limits(
                    max_iterations=None,
                    error_threshold=0,
                    ends_hopeless=bool(settings.error_threshold),
                    rate_limit_pause_s=settings.rate_limit_pause,
                    **_budgets(settings),
                )
            case LoopKind.RALPH:
                return _limits(settings)
            case LoopKind.WORKTREE:
                # A manual loop never gives up, but its pauses after errors grow.
                manual = self.criterion is Criterion.MANUAL
                return msgspec.structs.replace(
                    _limits(settings),
                    min_iterations=1,
                    error_threshold=0 if manual else settings.error_threshold,
                    stall=DEFAULT_STALL if settings.stall_iterations is None else settings.stall_iterations,
                )


def missing_gates(spec: LoopSpec, earlier: LoopSpec) -> tuple[GateSpec, ...]:
    """Return the gates of an earlier run that a spec does not have, by their names."""
    names = {gate.name for gate in spec.settings.gates}
    return tuple(gate for gate in earlier.settings.gates if gate.name not in names)


def with_gates(spec: LoopSpec, gates: tuple[GateSpec, ...]) -> LoopSpec:
    """Return a spec with more gates."""
    settings = msgspec.structs.replace(spec.settings, gates=(*gates, *spec.settings.gates))
    return msgspec.structs.replace(spec, settings=settings)


def judging_as_before(spec: LoopSpec, earlier: LoopSpec) -> tuple[LoopSpec, tuple[str, ...]]:
    """Return a spec that judges at least as an earlier run did, and what to say of it.

    What is missing may have been removed from the settings by an agent. Gates that the person gives with a command
    take the place of those given with an earlier one.
    """
    said = []
    replaced = earlier.gates_given if spec.gates_given else ()
    if missing := tuple(gate for gate in missing_gates(spec, earlier) if gate.name not in replaced):
        still_given = tuple(gate.name for gate in missing if gate.name in earlier.gates_given)
        spec = msgspec.structs.replace(with_gates(spec, missing), gates_given=(*spec.gates_given, *still_given))
        said.append(f"continuing with the checks of the earlier run: {', '.join(gate.name for gate in missing)}")
    now, before = spec.settings, earlier.settings
    stricter: dict[str, str] = {"require": before.require} if before.require and not now.require else {}
    if before.baseline == "strict" and now.baseline == "tolerant" and not spec.baseline_given:
        stricter["baseline"] = before.baseline
    if stricter:
        spec = msgspec.structs.replace(spec, settings=msgspec.structs.replace(now, **stricter))
        words = ", ".join(f"{name} = {value}" for name, value in stricter.items())
        said.append(f"continuing with the settings of the earlier run: {words}")
    return spec, tuple(said)


def _limits(settings: Settings) -> Limits:
    stall = settings.stall_iterations
    if stall is None:  # a person who limits the iterations gets all of them
        stall = 0 if settings.max_iterations else RALPH_STALL
    return Limits(
        min_iterations=settings.min_iterations,
        max_iterations=RALPH_MAX if settings.max_iterations is None else settings.max_iterations or None,
        error_threshold=settings.error_threshold,
        ends_hopeless=bool(settings.error_threshold),
        error_pause_s=settings.error_pause,
        rate_limit_pause_s=settings.rate_limit_pause,
        fail_fast=settings.fail_fast,
        stall=stall,
        **_budgets(settings),
    )


def _budgets(settings: Settings) -> dict[str, Any]:
    return {
        "max_tokens": settings.max_tokens,
        "max_cost_usd": settings.max_cost_usd,
        "max_duration_s": settings.max_duration,
        "max_tokens_per_day": settings.max_tokens_per_day,
        "max_cost_per_day": settings.max_cost_per_day,
    }


def expected(spec: LoopSpec, runner: Runner, now: datetime) -> LoopSummary:
    """Return the summary of a run that has only just started."""
    return LoopSummary(
        run_id=spec.run_id,
        door=spec.door,
        change=spec.change,
        project=spec.root,
        worktree=spec.workspace.path if spec.workspace else spec.root,
        root=spec.root,
        folder=spec.folder,
        workspace=spec.workspace,
        memory=StoryMemory() if spec.door is LoopKind.RUN else PromptMemory(),
        sandbox=sandbox_words(spec.sandbox_rules),
        checks=tuple(gate.name for gate in spec.gates),
        harness=spec.settings.harness,
        model=spec.settings.model,
        terminal=spec.terminal,
        log=spec.log or None,
        runner=runner,
        started_at=now,
        updated_at=now,
    )
