"""Finds out in fresh checkouts what edited tests hide, and what new tests show."""

from collections.abc import Awaitable, Callable, Mapping
from fnmatch import fnmatchcase

import msgspec

from spool.domain.judging.gates.comparison import Comparison, ids, named
from spool.domain.judging.gates.deciding_files import is_named
from spool.domain.judging.gates.gate import MOST_TESTS, GatePolicy, GatePurpose, GateResult, GateRun, GateSpec, Proof
from spool.engine.gates.deciding_changes import Deciders, Mentions

_NOTHING: frozenset[str] = frozenset()


class PatchedTree(msgspec.Struct, frozen=True):
    """A recorded tree to check out, with some of its paths as they are in another one."""

    name: str
    other: str = ""
    paths: tuple[str, ...] = ()


class WorkSpan(msgspec.Struct, frozen=True):
    """The work that is claimed: from one tree to another."""

    base: str
    tree: str
    changes: Mapping[str, str] | None
    """The paths that differ; None without git."""
    named: str = ""
    hidden: tuple[str, ...] = ()
    """New files that git ignores, caches aside."""
    home: str = ""
    """The project's folder in the repository, with a slash at its end; empty if it is the top."""
    asked: str = ""
    """The text whose tests may not stay red."""


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """A gate after a claim."""

    gate: GateSpec
    run: GateRun
    finding: Comparison
    before: GateRun | None
    result: GateResult
    flaky: frozenset[str] = _NOTHING


Run = Callable[[GateSpec, GatePurpose, PatchedTree | None], Awaitable[GateRun]]


class Prover:
    """Repeats gates in checkouts of one attempt: old tests with the new source, new tests with the old source."""

    def __init__(
        self, run: Run, policy: GatePolicy, commands: tuple[str, ...], attempt: WorkSpan, mentions: Mentions
    ) -> None:
        self._run = run
        self._policy = policy
        self.attempt = attempt
        self._deciders = Deciders(
            attempt.base, attempt.tree, attempt.changes or {}, home=attempt.home, commands=commands, mentions=mentions
        )
        self._controls: dict[tuple[str, str], GateRun] = {}
        """Runs in fresh checkouts as they are, by gate and tree: two questions need the same one."""

    @property
    def allowed(self) -> list[str]:
        """The changed paths that a person allowed to change, also as the project's folder spells them."""
        found = [path for path in self.attempt.changes or () if self._may_change(path)]
        return [*found, *(path.removeprefix(self.attempt.home) for path in found if self.attempt.home)]

    async def prove(self, checked: Checked) -> GateResult:
        """Return a green gate's result: refused, unbroken or proved."""
        attempt = self.attempt
        if attempt.changes is None:
            shown = checked.finding.turned_green or bool(checked.finding.fixed)
            return _proved(checked, checked.finding.fixed) if shown else checked.result
        if attempt.hidden and (refused := await self._propped(checked)):
            return refused
        deciding = await self._deciders.found(checked.before, checked.run)
        edited = tuple(path for path in deciding if not self._may_change(path))
        old = None
        if edited:
            old = await self._replayed(checked, edited)
            if refused := await self._refused(checked, old, edited):
                return refused
        fixed = [name for name in checked.finding.fixed if old is None or name in passed(old)]
        if fixed or (checked.finding.turned_green and (old is None or old.exit_code == 0)):
            return _proved(checked, tuple(fixed))
        if checked.result.flaky or not deciding:
            return checked.result
        return await self._shown(checked, deciding)

    async def _replayed(self, checked: Checked, edited: tuple[str, ...]) -> GateRun:
        """Run the old tests on the new source; like a claim, twice if they refuse it."""
        tree = PatchedTree(self.attempt.tree, self.attempt.base, edited)
        old = await self._run(checked.gate, GatePurpose.REPLAY, tree)
        if self._hidden(checked, old):
            again = await self._run(checked.gate, GatePurpose.REPLAY_AGAIN, tree)
            return old if self._hidden(checked, again) else again
        return old

    async def _propped(self, checked: Checked) -> GateResult | None:
        """Refuse if a gate is green only beside new files that git ignores; they are not part of the work.

        Where the project needs ignored files anyway, a fresh checkout says nothing.
        """
        here = await self._control(checked.gate, self.attempt.tree)
        if not _lacks(here, checked.run, checked.flaky):
            return None
        origin = await self._control(checked.gate, self.attempt.base)
        if checked.before is None or _lacks(origin, checked.before, checked.flaky):
            return None
        why = f"it passes only beside files that git ignores: {named(self.attempt.hidden)}"
        tell = f"The check `{checked.gate.run}` passes here, but not in a fresh checkout: {why}. Do without them."
        return msgspec.structs.replace(checked.result, passed=False, why=why, tell_agent=tell, proof=None)

    async def _refused(self, checked: Checked, old: GateRun, edited: tuple[str, ...]) -> GateResult | None:
        """Refuse if a test passes only because tests, or what decides about them, were edited."""
        bad = self._hidden(checked, old)
        if not bad:
            return None
        here = await self._control(checked.gate, self.attempt.tree)
        why = f"{bad} only with the edited {named(edited)}"
        tell = (
            f"You edited {named(edited)}. With these files as they were, and your other changes, {bad} no longer. "
            "Restore them, and make the old tests pass."
        )
        if not here.green:
            why = f"{named(edited)} changed, and `{checked.gate.run}` cannot be repeated in a fresh checkout"
            tell = f"{why}. Restore these files; they decide about the tests."
        return msgspec.structs.replace(
            checked.result,
            passed=False,
            why=why,
            tell_agent=tell,
            proof=None,
            failing=tuple(sorted(passed(checked.run) - passed(old)))[:MOST_TESTS],
        )

    async def _control(self, gate: GateSpec, tree: str) -> GateRun:
        key = (gate.name, tree)
        if key not in self._controls:
            self._controls[key] = await self._run(gate, GatePurpose.CONTROL, PatchedTree(tree))
        return self._controls[key]

    def _hidden(self, checked: Checked, old: GateRun) -> str:
        """Return which old tests pass now and not in the replay, or whether the gate as a whole does; empty if none."""
        if checked.run.results is None:
            return "" if old.exit_code == 0 else f"`{checked.gate.run}` passes"
        if old.results is None or not old.results.complete:
            return f"`{checked.gate.run}` passes"
        before = checked.before.results if checked.before else None
        known = ids(before.tests) if before else passed(checked.run)
        unnamed = ids(old.results.failing) - ids(checked.run.results.failing)  # where passing tests have no name
        # A test that wavers only now is not left out: the edit may be what makes it waver.
        wavered = frozenset(checked.before.flaky if checked.before else ())
        lost = sorted(((passed(checked.run) & known) - passed(old) | unnamed) - wavered)
        return f"{named(lost)} {'passes' if len(lost) == 1 else 'pass'}" if lost else ""

    async def _shown(self, checked: Checked, deciding: tuple[str, ...]) -> GateResult:
        """Prove by tests that fail on the old source and pass on the new one, both in fresh checkouts."""
        without = await self._run(
            checked.gate, GatePurpose.PROOF, PatchedTree(self.attempt.base, self.attempt.tree, deciding)
        )
        if without.green or not without.started:
            return checked.result
        here = await self._control(checked.gate, self.attempt.tree)
        if checked.run.results is None:
            return _proved(checked, ()) if here.green and without.exit_code else checked.result
        shown = (passed(checked.run) & passed(here)) - passed(without) - checked.flaky
        # A file that does not load ends some runners before other tests run: those that passed before show nothing.
        failed = ids(without.results.failing) if without.results else _NOTHING
        shown -= (passed(checked.before) if checked.before else _NOTHING) - failed
        return _proved(checked, tuple(sorted(shown))) if shown else checked.result

    def _may_change(self, path: str) -> bool:
        spelled = {path, path.removeprefix(self.attempt.home)}
        return any(
            is_named(one, self.attempt.named) or any(_covers(allowed, one) for allowed in self._policy.allow_change)
            for one in spelled
        )


def passed(run: GateRun) -> frozenset[str]:
    """Return the tests that pass in a run; none if the run says nothing about tests."""
    return ids(run.results.passed) if run.results else _NOTHING


def _lacks(run: GateRun, other: GateRun, flaky: frozenset[str]) -> bool:
    """Whether a run is worse than another one of the same gate."""
    if other.results is None:
        return run.exit_code != other.exit_code
    return bool(passed(other) - passed(run) - flaky)


def _covers(allowed: str, path: str) -> bool:
    allowed = allowed.removeprefix("./").rstrip("/")
    return path == allowed or path.startswith(f"{allowed}/") or fnmatchcase(path, allowed)


def _proved(checked: Checked, by: tuple[str, ...]) -> GateResult:
    if checked.result.flaky:  # what wavers proves nothing
        return checked.result
    return msgspec.structs.replace(checked.result, proof=Proof.PROVED, proved_by=by[:MOST_TESTS])
