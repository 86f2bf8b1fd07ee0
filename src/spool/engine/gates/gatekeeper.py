"""Runs the configured gates when the agent claims completion, and says what they allow.

Four questions, each asked only if the one before was answered well: does anything outside the change differ; is every
gate green, or no worse than the baseline; do the old tests still pass where the agent edited tests; does any test fail
without the change and pass with it. The last two are answered by `proving`, in fresh checkouts.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from spool.domain.judging.gates.command_words import absent_target, named_files
from spool.domain.judging.gates.comparison import Measure, differing, ids, named, weigh
from spool.domain.judging.gates.deciding_files import is_cache, test_is_in
from spool.domain.judging.gates.findings import brief, for_agent
from spool.domain.judging.gates.gate import (
    DONE_COMMAND,
    MOST_TESTS,
    Baseline,
    GatePolicy,
    GatePurpose,
    GateResult,
    GateRun,
    GateSpec,
    Proof,
    proof_of,
    refusal,
)
from spool.domain.judging.gates.old_failures import OldFailures
from spool.domain.loop.events import GateEnded, GateStarted, Warned
from spool.engine.gates.deciding_changes import ADDED, DELETED
from spool.engine.gates.own_gates import Gate
from spool.engine.gates.proof import Checked, PatchedTree, Prover, WorkSpan
from spool.engine.ports import Clock, Emit
from spool.errors import Hint, UsageError

Starting = Callable[[str], None]
"""Called with a gate's name when it starts."""


class Checks(Protocol):
    """Runs gates on the machine, and records the trees they run on."""

    @property
    def home(self) -> str:
        """The folder that gates run in, from the top of the repository, with a slash at its end; empty at the top."""

    async def tree(self) -> str:
        """Record the working tree and return its name; empty without git."""

    async def keep(self, tree: str) -> bool:
        """Protect a recorded tree until the loop is done; return whether it exists."""

    async def changes(self, before: str, after: str) -> dict[str, str]:
        """Return the paths that differ between two trees, each with git's letter for how."""

    async def mentions(self, tree: str, words: Sequence[str]) -> dict[str, frozenset[str]]:
        """Return, for each of some words, the files of a tree in which it stands by itself."""

    async def overlaid(self, tree: PatchedTree) -> str:
        """Record a tree with some of its paths as they are in another one, and return its name."""

    async def run(self, gate: GateSpec, purpose: GatePurpose, tree: PatchedTree | None) -> GateRun:
        """Run a gate in the working tree, or in a fresh checkout of a recorded one."""

    async def note_ignored(self, tree: str) -> None:
        """Remember which ignored files there are beside a tree."""

    async def uncommitted(self, tree: str) -> tuple[str, ...]:
        """Return the files that differ between HEAD and a recorded tree."""

    async def newly_ignored(self, tree: str) -> tuple[str, ...]:
        """Return the ignored files that are new, or differ, since they were noted for a tree."""

    def recall(self, gate: GateSpec, tree: str) -> GateRun | None:
        """Return the run of a gate on a tree, if it is remembered."""

    def remember(self, gate: GateSpec, tree: str, run: GateRun) -> None:
        """Remember the run of a gate on a tree, for later runs of the loop too."""

    def expected_s(self, gate: GateSpec) -> float:
        """Return how long a gate took the last time; 0 if that is unknown."""
        ...


class CompletionClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim of completion, and what it is measured by."""

    base: str
    """The tree in which the loop, or the story, began; empty without git."""
    own: tuple[str, ...]
    """The folders of the change itself and of Spool."""
    named: str = ""
    """The change's texts before the first agent; a path that they name may change."""
    asked: str | None = None
    """The story's own text: until the whole change is claimed, only tests that it names may not stay red."""
    final: bool = True
    """Whether the whole change is claimed."""
    proving: bool = True
    """Whether to ask what edited tests hide and what new ones show, or only whether the result is green."""
    commands_first: bool = False
    """Whether the commands run whatever the built-in gates say."""


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """The gates' verdict on a claim."""

    gates: tuple[GateResult, ...] = ()
    tree: str = ""
    """The tree that was checked."""
    left: tuple[str, ...] = ()
    """Files that the gates left in the working tree."""
    seconds: float = 0.0
    claimed: bool = True

    @property
    def proof(self) -> Proof | None:
        """The claim's proof; None if there was none."""
        return (proof_of(self.gates) or Proof.WORD) if self.claimed else None


class Gatekeeper:
    """The configured gates of a loop."""

    def __init__(
        self,
        gates: Sequence[GateSpec],
        built_in: Sequence[Gate],
        policy: GatePolicy,
        checks: Checks,
        emit: Emit,
        clock: Clock,
    ) -> None:
        self._gates = gates
        self._built_in = built_in
        self._policy = policy
        self._checks = checks
        self._emit = emit
        self._clock = clock
        self._starting: Starting = lambda _: None
        self._ran: dict[str, GateRun] = {}
        """Gates that ran as a criterion, right before the claim."""
        self._baselines: dict[tuple[str, str], GateRun] = {}
        self.left: tuple[str, ...] = ()
        """Files that the gates left in the working tree before the first agent."""

    async def open(self, base: str, left: str, starting: Starting) -> str:
        """Run the gates before the first agent; return the tree in which the loop began.

        What changed since `left`, the tree at the end of the last run, is a person's work: the base has it too.
        """
        self._starting = starting
        here = await self._checks.tree()
        known = base
        if not base or not await self._checks.keep(base):
            base = here
        elif left and (edited := await self._checks.changes(left, here)):
            base = await self._checks.overlaid(PatchedTree(base, here, tuple(edited)))
        await self._checks.keep(base)
        if self._policy.baseline is not Baseline.OFF:
            for gate in self._gates:
                self._require_sense(gate, await self._baseline(gate, base, in_place=base == here))
        self.left = await self._left_since(here)
        if base != known:  # with what the gates themselves leave there
            await self._checks.note_ignored(base)
        return base

    async def _left_since(self, tree: str) -> tuple[str, ...]:
        """Return the files that gates have added to a tree."""
        touched = await self._checks.changes(tree, await self._checks.tree()) if tree else {}
        return tuple(path for path, how in touched.items() if how == ADDED)

    async def holds(self, tree: str) -> bool:
        """Protect a recorded tree to compare with; return whether it exists."""
        return bool(tree) and await self._checks.keep(tree)

    async def tree(self) -> str:
        """Record the working tree and return its name; empty without git."""
        return await self._checks.tree()

    async def changes(self, before: str, after: str) -> dict[str, str]:
        """Return the paths that differ between two recorded trees, each with git's letter for how."""
        return await self._checks.changes(before, after)

    def _red_before(self, base: str) -> tuple[str, ...]:
        """Return the tests that fail at the baseline, and the gates that are red without naming any."""
        runs = [(gate, self._baselines.get((gate.name, base))) for gate in self._gates]
        found = [name for _, run in runs if run and run.results for name in sorted(ids(run.results.failing))]
        return (*found, *(f"`{gate.run}`" for gate, run in runs if run and not run.green and not run.results))

    def red_at(self, base: str) -> str:
        """Return the commands that are not green at the baseline; empty if all are, or none was run."""
        runs = [(gate, self._baselines.get((gate.name, base))) for gate in self._gates]
        return ", ".join(f"`{gate.run}`" for gate, run in runs if run is not None and not run.green)

    def is_green_at(self, base: str) -> bool:
        """Whether all commands were run at the baseline, and were green."""
        runs = [self._baselines.get((gate.name, base)) for gate in self._gates]
        return all(run is not None and run.green for run in runs)

    def brief(self, base: str) -> str:
        """Return what the prompt says about the checks; empty if there are none."""
        return brief([gate.run for gate in self._gates], self._red_before(base)) if self._gates else ""

    async def check(self, claim: CompletionClaim, starting: Starting) -> Verified:
        """Run the gates on a claim, in order, up to the first that refuses."""
        self._starting = starting
        started = self._clock.monotonic()
        tree = await self._checks.tree()
        changes = await self._checks.changes(claim.base, tree) if claim.base and tree else None
        hidden = tuple(path for path in await self._checks.newly_ignored(claim.base) if not is_cache(path))
        asked = claim.named if claim.final or claim.asked is None else claim.asked
        attempt = WorkSpan(claim.base, tree, changes, claim.named, hidden, self._checks.home, asked, final=claim.final)
        commands = tuple(gate.run for gate in self._gates)
        prover = Prover(self._run, self._policy, commands, attempt, self._checks.mentions)
        results = await self._judged(claim, prover)
        left = await self._left_since(tree)
        if refusal(results) is None:
            await self._checks.keep(tree)
            await self._checks.note_ignored(tree)
        return Verified(gates=results, tree=tree, left=left, seconds=self._clock.monotonic() - started)

    async def run_criterion(self) -> int | None:
        """Run the command of a worktree loop and return its exit code; None if it timed out or cannot start."""
        gate = next(gate for gate in self._gates if gate.name == DONE_COMMAND)
        run = self._ran[gate.name] = await self._run(gate, GatePurpose.CLAIM, None)
        return run.exit_code

    async def close(self) -> str:
        """Return the tree at the end of a run, kept for the next one; empty without git."""
        tree = await self._checks.tree()
        return tree if await self._checks.keep(tree) else ""

    async def _judged(self, claim: CompletionClaim, prover: Prover) -> tuple[GateResult, ...]:
        if refused := self._empty(claim, prover.attempt):
            return (refused,)
        gates = [gate for gate in self._by_cost(claim.base) if claim.final or gate.when == "claim"]
        built_in = [await gate.check() for gate in self._built_in]
        results = [] if claim.commands_first else built_in
        checked: list[Checked] = []
        for gate in gates:
            if refusal(results):
                results.append(GateResult(name=gate.name, passed=False, why="not run"))
                continue
            one = await self._checked(gate, prover)
            checked.append(one)
            results.append(one.result)
        results += built_in if claim.commands_first else []
        if refusal(results) is None and claim.proving:
            proved = {one.gate.name: await prover.judge(one, claim.own) for one in checked}
            results = [proved.get(result.name, result) for result in results]
        return self._required(results)

    def _empty(self, claim: CompletionClaim, attempt: WorkSpan) -> GateResult | None:
        """Refuse a claim if nothing differs but the change's own files; without git, nothing is known."""
        configured = any(gate.name != DONE_COMMAND for gate in self._gates)
        if attempt.changes is None or self._policy.allow_empty or not configured:
            return None
        if any(not path.startswith(claim.own) for path in attempt.changes):
            return None
        why = "no files changed except the plan"
        tell = f"You said that the work is done, but {why}."
        return GateResult(name="changes", passed=False, why=why, tell_agent=tell, hint=Hint.ALLOW_EMPTY)

    def _by_cost(self, base: str) -> list[GateSpec]:
        """Return the gates, cheap ones first."""
        before = {gate.name: self._baselines.get((gate.name, base)) for gate in self._gates}
        return sorted(self._gates, key=lambda gate: run.duration_s if (run := before[gate.name]) else 0.0)

    async def _baseline(self, gate: GateSpec, base: str, *, in_place: bool) -> GateRun:
        """Return a gate's run on the tree in which the work began. A red one runs twice, to find flaky tests."""
        key = (gate.name, base)
        known = self._baselines.get(key) or self._checks.recall(gate, base)
        if known is None:
            tree = None if in_place and not gate.clean else PatchedTree(base)
            known = await self._run(gate, GatePurpose.BASELINE, tree)
            known = msgspec.structs.replace(known, uncommitted=await self._checks.uncommitted(base))
            if known.exit_code is not None and not known.green:
                again = await self._run(gate, GatePurpose.BASELINE_AGAIN, tree)
                flaky = tuple(sorted(differing(known, again)))
                known = msgspec.structs.replace(again if again.green else known, flaky=flaky)
            self._checks.remember(gate, base, known)
        self._baselines[key] = known
        return known

    def _require_sense(self, gate: GateSpec, run: GateRun) -> None:
        """Raise if a gate cannot judge anything; warn if it can judge little."""
        if gate.name == DONE_COMMAND:  # the agent may be there to write it
            return
        if why := run.trouble or ("" if run.green else absent_target(gate.run, run.tail)):
            raise UsageError(f"the check '{gate.run}' cannot run: {why}", hint=Hint.GATES)
        if run.changed:
            raise UsageError(f"the check '{gate.run}' changes tracked files: {named(run.changed)}", hint=Hint.GATES)
        if run.green:
            return
        if run.results is None or not run.results.failing:
            hint, what = (
                "",
                "; a new failure cannot be distinguished from this one, so a claim is accepted only once it is green",
            )
        else:
            hint, failing = Hint.OLD_FAILURES, named(sorted(ids(run.results.failing)))
            what = f" in {failing}; only new failures refuse a claim"
        if self._policy.baseline is Baseline.TOLERANT:
            self._emit(Warned(message=f"the check '{gate.run}' fails before the change{what}", hint=hint))

    async def _checked(self, gate: GateSpec, prover: Prover) -> Checked:
        """Run a gate on a claim, and weigh it against the baseline."""
        attempt, allowed = prover.attempt, prover.allowed
        before = self._baselines.get((gate.name, attempt.base))
        # Without git, a baseline cannot be made up for: the tree as it is now is the agent's.
        if before is None and attempt.base and self._policy.baseline is not Baseline.OFF:
            before = await self._baseline(gate, attempt.base, in_place=False)
        flaky = frozenset(before.flaky if before else ())
        strict = self._policy.baseline is not Baseline.TOLERANT
        measure = Measure(
            before=before,
            strict=strict,
            flaky=flaky,
            old=OldFailures(
                asked=attempt.asked,
                final=attempt.final,
                changed=frozenset(attempt.changes or ()),
                uncommitted=frozenset(before.uncommitted if before else ()),
                known=self._policy.known_failures,
            ),
            may_vanish=lambda test: any(test_is_in(test, path) for path in allowed),
            replays=attempt.changes is not None,
        )
        run, wavering = await self._tried(gate, attempt, measure)
        finding = weigh(run, measure)
        result = GateResult(
            name=gate.name,
            passed=finding.green,
            why=finding.why,
            tell_agent="" if finding.green else for_agent(gate, run, finding),
            proof=Proof.UNBROKEN if finding.green else None if run.started else Proof.UNVERIFIABLE,
            tests=run.results.total if run.results else None,
            failing=finding.failing[:MOST_TESTS],
            vanished=finding.vanished[:MOST_TESTS],
            skipped=finding.skipped[:MOST_TESTS],
            fixed=finding.fixed[:MOST_TESTS],
            still_failing=finding.still_failing[:MOST_TESTS],
            red_before=len(finding.still_failing),
            flaky=tuple(sorted(wavering)),
            duration_s=round(run.duration_s, 3),
            log=run.log,
        )
        uncommitted = await self._checks.uncommitted(attempt.tree)
        kept = msgspec.structs.replace(run, flaky=tuple(sorted(flaky | wavering)), uncommitted=uncommitted)
        self._checks.remember(gate, attempt.tree, kept)  # the baseline of the next story
        return Checked(gate=gate, run=run, finding=finding, before=before, result=result, flaky=flaky | wavering)

    async def _tried(self, gate: GateSpec, attempt: WorkSpan, measure: Measure) -> tuple[GateRun, frozenset[str]]:
        """Return a gate's run on a claim, and what wavers: a red one runs again once, and green then counts."""
        tree = PatchedTree(attempt.tree) if gate.clean else None
        run = self._ran.pop(gate.name, None) or await self._run(gate, GatePurpose.CLAIM, tree)
        wavering: frozenset[str] = frozenset()
        if not weigh(run, measure).green and run.exit_code is not None and not run.changed:
            again = await self._run(gate, GatePurpose.CLAIM_AGAIN, tree)
            if not weigh(again, measure).green:
                run = again
            elif not measure.strict:
                run, wavering = again, differing(run, again) or frozenset({gate.name})
        return self._startable(gate, run, attempt.changes or {}), wavering

    def _startable(self, gate: GateSpec, run: GateRun, changes: Mapping[str, str]) -> GateRun:
        """Return the run as not started if it is red and a file that its command names is gone."""
        gone = [name for name in named_files(gate.run) if changes.get(f"{self._checks.home}{name}") == DELETED]
        if run.green or not gone:
            return run
        return msgspec.structs.replace(run, trouble=f"{named(gone)} is gone")

    def _required(self, results: list[GateResult]) -> tuple[GateResult, ...]:
        """Refuse what is not proved, if proof is required."""
        found = tuple(results)
        if not self._policy.require_proof or proof_of(found) not in (Proof.UNBROKEN, Proof.WORD):
            return found
        why = "no test fails without this change and passes with it"
        tell = f"The checks pass, but {why}. Add a test that shows what you changed."
        return (*found, GateResult(name="proof", passed=False, why=why, tell_agent=tell))

    async def _run(self, gate: GateSpec, purpose: GatePurpose, tree: PatchedTree | None) -> GateRun:
        self._starting(gate.name)
        self._emit(GateStarted(gate=gate.name, purpose=purpose, expected_s=self._checks.expected_s(gate)))
        run = await self._checks.run(gate, purpose, tree)
        self._emit(
            GateEnded(
                gate=gate.name, purpose=purpose, green=run.green, duration_s=round(run.duration_s, 3), log=run.log
            )
        )
        return run
