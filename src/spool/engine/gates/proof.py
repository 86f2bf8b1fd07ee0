"""Finds out in fresh checkouts what edited tests hide, and what new tests show."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from fnmatch import fnmatchcase

import msgspec

from spool.domain.judging.gates.comparison import Comparison, ids, named
from spool.domain.judging.gates.deciding_files import is_cache, is_named, is_setting, is_test
from spool.domain.judging.gates.gate import (
    MOST_TESTS,
    GatePolicy,
    GatePurpose,
    GateResult,
    GateRun,
    GateSpec,
    PersonNeeded,
    Proof,
)
from spool.domain.judging.gates.old_failures import place_of
from spool.domain.text.plain_text import counted
from spool.engine.gates.deciding_changes import DELETED, Deciders, Mentions
from spool.errors import Hint

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
    final: bool = True
    """Whether the whole change is claimed."""


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

    async def judge(self, checked: Checked, own: tuple[str, ...]) -> GateResult:
        """Return a green gate's result; refuse what no test shows while tests are as red as before.

        Such work may have done nothing. `own` are the folders of the change itself.
        """
        result, red = await self.prove(checked), checked.finding.unexpected
        judged = self.attempt.final and not self._policy.allow_empty and not result.flaky
        if result.proof is not Proof.UNBROKEN or not red or not judged:
            return result
        why = f"no test that was red passes, and none shows the change; still red: {named(red)}"
        tell = (
            f"You said that the work is done, but {why}. Make those green that the change is about. "
            "Add a test that shows what you changed if it is about none of them."
        )
        source = [path for path in self.attempt.changes or () if not is_test(path) and not path.startswith(own)]
        needs = PersonNeeded.OLD_FAILURES if source else None
        return msgspec.structs.replace(
            result, passed=False, why=why, tell_agent=tell, proof=None, hint=Hint.KNOWN_FAILURES, needs=needs
        )

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
        if checked.finding.vanished:
            if old is None or self._unreplaced(checked):
                return _vanished(checked)
            checked = _replaced(checked)
        fixed = tuple(name for name in checked.finding.fixed if old is None or _passes(name, old))
        if fixed or (checked.finding.turned_green and (old is None or old.exit_code == 0)):
            return _proved(checked, fixed)
        if checked.result.flaky or not deciding:
            return checked.result
        return await self._shown(checked, deciding)

    async def _replayed(self, checked: Checked, edited: tuple[str, ...]) -> GateRun:
        """Run the old tests on the new source; like a claim, twice if they refuse it."""
        tree = PatchedTree(self.attempt.tree, self.attempt.base, edited)
        old = await self._run(checked.gate, GatePurpose.REPLAY, tree)
        if self._lost(checked, old):
            again = await self._run(checked.gate, GatePurpose.REPLAY_AGAIN, tree)
            return old if self._lost(checked, again) else again
        return old

    def _unreplaced(self, checked: Checked) -> bool:
        """Whether fewer tests appeared than vanished: in the same file, or in new files if that one is gone."""
        before = ids(checked.before.results.tests) if checked.before and checked.before.results else _NOTHING
        new = Counter(place_of(name) for name in passed(checked.run) - before)
        gone = Counter(place_of(name) for name in checked.finding.vanished)
        changes = self.attempt.changes or {}
        deleted = {place for place in gone if changes.get(f"{self.attempt.home}{place}") == DELETED}
        spare = sum(new.values()) - sum(min(count, new[place]) for place, count in gone.items() if place not in deleted)
        return sum(gone[place] for place in deleted) > spare or any(
            count > new[place] for place, count in gone.items() if place not in deleted
        )

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
        if not self._lost(checked, old):
            return None
        origin = await self._control(checked.gate, self.attempt.base)
        exempt = passed(checked.before) - passed(origin) if checked.before else _NOTHING
        lost = self._lost(checked, old, exempt)
        weaker = ""
        if _cannot_run(origin, checked.before):
            weaker = f"edited tests were not replayed: `{checked.gate.run}` fails in a fresh checkout"
        elif not lost:
            weaker = f"not replayed, because it fails in a fresh checkout of the base: {named(sorted(exempt))}"
        if checked.finding.vanished and (weaker or lost & frozenset(checked.finding.vanished)):
            return _vanished(checked)
        if weaker:
            return msgspec.structs.replace(checked.result, why=f"{checked.result.why}; {weaker}")
        edited = tuple(path for path in edited if not is_cache(path)) or edited
        bad = f"{named(sorted(lost))} {'passes' if len(lost) == 1 else 'pass'}"
        here = await self._control(checked.gate, self.attempt.tree)
        why = f"{bad} only with the edited {named(edited)}"
        tell = (
            f"You edited {named(edited)}. With these files as they were, and your other changes, {bad} no longer. "
            "Restore them, and make the old tests pass."
        )
        needs = None
        if _lacks(here, checked.run, checked.flaky):
            why = f"{named(edited)} changed, and `{checked.gate.run}` cannot be repeated in a fresh checkout"
            tell = f"{why}. Restore these files; they decide about the tests."
        elif await self._rewritten(checked, lost, edited):
            needs = PersonNeeded.REWRITTEN
            tell = (
                f"You edited {named(edited)}. With these files as they were, and your other changes, {bad} no longer. "
                "Keep the old behaviour and restore the tests; or, if the change is meant to change it, leave them, "
                "and say in one line of your final message why the old tests must change: a person decides."
            )
        return msgspec.structs.replace(
            checked.result,
            passed=False,
            why=why,
            tell_agent=tell,
            proof=None,
            failing=tuple(sorted(lost))[:MOST_TESTS],
            needs=needs,
            rewritten=edited[:MOST_TESTS] if needs else (),
        )

    async def _rewritten(self, checked: Checked, lost: frozenset[str], edited: tuple[str, ...]) -> bool:
        """Whether tests were rewritten, not gutted: their new versions fail on the old source."""
        if not all(is_test(path) and not is_setting(path) for path in edited):
            return False
        without = await self._run(
            checked.gate, GatePurpose.PROOF, PatchedTree(self.attempt.base, self.attempt.tree, edited)
        )
        if without.results is None or not without.results.names_all:
            return not without.green
        return not lost & passed(without)

    async def _control(self, gate: GateSpec, tree: str) -> GateRun:
        key = (gate.name, tree)
        if key not in self._controls:
            self._controls[key] = await self._run(gate, GatePurpose.CONTROL, PatchedTree(tree))
        return self._controls[key]

    def _lost(self, checked: Checked, old: GateRun, exempt: frozenset[str] = _NOTHING) -> frozenset[str]:
        """Return the old tests that pass now and not in the replay, or the gate as a whole; empty if none."""
        whole = frozenset({f"`{checked.gate.run}`"})
        if checked.run.results is None:
            return _NOTHING if old.exit_code == 0 else whole
        before = checked.before.results if checked.before else None
        if old.results is None or not old.results.complete:
            # Before the first test of a project there was nothing that an edit could hide.
            none_before = checked.before is not None and not (before and before.ran)
            same = none_before and checked.before is not None and checked.before.exit_code == old.exit_code
            return _NOTHING if same else whole
        known = ids(before.tests) if before else passed(checked.run)
        unnamed = ids(old.results.failing) - ids(checked.run.results.failing)  # where passing tests have no name
        # A test that wavers only now is not left out: the edit may be what makes it waver.
        wavered = frozenset(checked.before.flaky if checked.before else ())
        wanted = (passed(checked.run) & known) | frozenset(checked.finding.vanished)
        return (wanted - passed(old) | unnamed) - wavered - exempt

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
        if not checked.run.results.names_all:
            shown = _unnamed_shown(checked, here, without)
            return _proved(checked, tuple(sorted(shown))) if shown else checked.result
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


def _passes(name: str, run: GateRun) -> bool:
    """Whether a test passes in a run; where passing tests have no name, whether it does not fail."""
    if run.results is None or run.results.names_all:
        return name in passed(run)
    return run.results.complete and name not in ids(run.results.failing)


def _cannot_run(origin: GateRun, before: GateRun | None) -> bool:
    """Whether a gate says nothing in a fresh checkout of the base, where it said something in the tree."""
    if before is None or before.results is None:
        return before is not None and origin.exit_code != before.exit_code
    return before.results.complete and (origin.results is None or (not passed(origin) and bool(passed(before))))


def _vanished(checked: Checked) -> GateResult:
    why = f"{named(checked.finding.vanished)} vanished"
    tell = (
        f"You said that the work is done. The check `{checked.gate.run}` does not agree: {why}. Restore what is gone."
    )
    return msgspec.structs.replace(checked.result, passed=False, why=why, tell_agent=tell, proof=None)


def _replaced(checked: Checked) -> Checked:
    names = checked.finding.vanished
    said = f"{counted(len(names), 'test')} {'was' if len(names) == 1 else 'were'} replaced; the old still pass"
    result = msgspec.structs.replace(
        checked.result, why=f"{checked.result.why}; {said}", vanished=(), replaced=names[:MOST_TESTS]
    )
    return msgspec.structs.replace(checked, result=result)


def _unnamed_shown(checked: Checked, here: GateRun, without: GateRun) -> frozenset[str]:
    """Return the tests that fail only on the old source, where the runner does not name those that pass."""
    if here.results is None or without.results is None or not here.results.complete:
        return _NOTHING
    if here.results.total < without.results.total:
        return _NOTHING
    before = checked.before.results if checked.before else None
    known = ids(before.failing) if before else _NOTHING
    failing = [ids(run.results.failing) for run in (here, checked.run) if run.results]
    return ids(without.results.failing) - known.union(*failing) - checked.flaky


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
