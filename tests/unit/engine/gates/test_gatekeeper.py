"""The gatekeeper, on gates whose runs are written down."""

import asyncio
from collections.abc import Mapping, Sequence

import msgspec
import pytest

from spool.domain.judging.gates.gate import (
    DONE_COMMAND,
    Baseline,
    GatePolicy,
    GatePurpose,
    GateResult,
    GateRun,
    GateSpec,
    Proof,
)
from spool.domain.judging.results.model import Results, ResultStatus, Test
from spool.domain.loop.events import Event, GateStarted, Warned
from spool.engine.gates.gatekeeper import CompletionClaim, Gatekeeper, Verified
from spool.engine.gates.proof import PatchedTree
from spool.errors import UsageError
from spool.testing.doubles import ManualClock

TESTS = GateSpec(name="tests", run="make test")


def run(exit_code: int | None = 0, *, complete: bool = True, **tests: str) -> GateRun:
    found = Results(
        tests=tuple(Test(id=name, status=ResultStatus(how)) for name, how in tests.items()), complete=complete
    )
    return GateRun(exit_code=exit_code, results=found if tests else None, duration_s=1.0)


TOLERANT = GatePolicy()
GREEN = run(0, a="passed", b="passed")
RED = run(1, a="passed", b="failed")


class FakeChecks:
    """Trees that are named by the test, and runs by gate and purpose; the last run of a purpose is repeated."""

    def __init__(self, changes: Mapping[str, str], **runs: list[GateRun]) -> None:
        self.now = "base"
        self.home = ""
        self.said: dict[str, frozenset[str]] = {}
        self.hidden: tuple[str, ...] = ()
        self.loose: tuple[str, ...] = ()
        self._changes = dict(changes)
        self._runs = runs
        self.memory: dict[tuple[str, str], GateRun] = {}
        self.trees: list[tuple[str, PatchedTree | None]] = []

    async def tree(self) -> str:
        return self.now

    async def keep(self, tree: str) -> bool:
        return bool(tree)

    async def changes(self, before: str, after: str) -> dict[str, str]:
        return {} if before == after else self._changes

    async def mentions(self, tree: str, words: Sequence[str]) -> dict[str, frozenset[str]]:
        return {word: self.said[word] for word in words if word in self.said}

    async def overlaid(self, tree: PatchedTree) -> str:
        return f"{tree.name}+{tree.other}"

    async def run(self, gate: GateSpec, purpose: GatePurpose, tree: PatchedTree | None) -> GateRun:
        self.trees.append((purpose, tree))
        runs = self._runs[purpose.removesuffix("-again")]
        return runs.pop(0) if len(runs) > 1 else runs[0]

    async def note_ignored(self, tree: str) -> None:
        pass

    async def uncommitted(self, tree: str) -> tuple[str, ...]:
        return self.loose

    async def newly_ignored(self, tree: str) -> tuple[str, ...]:
        return self.hidden

    def recall(self, gate: GateSpec, tree: str) -> GateRun | None:
        return self.memory.get((gate.name, tree))

    def expected_s(self, gate: GateSpec) -> float:
        return 0.0

    def remember(self, gate: GateSpec, tree: str, run: GateRun) -> None:
        self.memory[gate.name, tree] = run


class Keeping:
    """A gatekeeper and what it emitted."""

    def __init__(
        self,
        checks: FakeChecks,
        *gates: GateSpec,
        policy: GatePolicy = TOLERANT,
        built_in: tuple[GateResult, ...] = (),
    ) -> None:
        self.checks = checks
        self.events: list[Event] = []
        own = [Fixed(one) for one in built_in]
        self.keeper = Gatekeeper(gates or (TESTS,), own, policy, checks, self.events.append, ManualClock())

    def claim(self, *, named: str = "", asked: str | None = None, final: bool = True) -> Verified:
        async def claimed() -> Verified:
            base = await self.keeper.open("", "", lambda _: None)
            self.checks.now = "work"
            claim = CompletionClaim(base=base, own=("changes/",), named=named, asked=asked, final=final)
            return await self.keeper.check(claim, lambda _: None)

        return asyncio.run(claimed())

    @property
    def purposes(self) -> list[str]:
        return [event.purpose for event in self.events if isinstance(event, GateStarted)]


class Fixed:
    """A built-in gate with one answer."""

    def __init__(self, result: GateResult) -> None:
        self._result = result

    async def check(self) -> GateResult:
        return self._result


SOURCE = {"calc.py": "M"}
EDITED = {"calc.py": "M", "tests/test_calc.py": "M"}


def test_green_work_without_a_test_for_it_is_unbroken() -> None:
    keeping = Keeping(FakeChecks(SOURCE, baseline=[GREEN], claim=[GREEN]))
    assert keeping.claim().proof is Proof.UNBROKEN
    assert keeping.purposes == ["baseline", "claim"]


def test_a_test_that_failed_and_passes_is_proof() -> None:
    verified = Keeping(FakeChecks(SOURCE, baseline=[RED], claim=[GREEN])).claim()
    assert (verified.proof, verified.gates[0].proved_by) == (Proof.PROVED, ("b",))


def test_a_new_failure_is_refused_after_a_second_run() -> None:
    keeping = Keeping(FakeChecks(SOURCE, baseline=[GREEN], claim=[RED], again=[RED]))
    verified = keeping.claim()
    assert (verified.proof, verified.gates[0].failing) == (Proof.REFUSED, ("b",))
    assert keeping.purposes == ["baseline", "claim", "again"]


def test_a_second_run_that_is_green_makes_it_flaky_and_no_proof() -> None:
    verified = Keeping(
        FakeChecks(SOURCE, baseline=[RED], claim=[run(1, a="failed", b="passed")], again=[GREEN])
    ).claim()
    assert (verified.proof, verified.gates[0].flaky) == (Proof.UNBROKEN, ("a",))


def test_flaky_is_red_under_strict() -> None:
    checks = FakeChecks(SOURCE, baseline=[GREEN], claim=[RED], again=[GREEN])
    assert Keeping(checks, policy=GatePolicy(baseline=Baseline.STRICT)).claim().proof is Proof.REFUSED


def test_a_baseline_that_wavers_quarantines_its_tests() -> None:
    checks = FakeChecks(SOURCE, baseline=[RED, GREEN], claim=[RED])
    assert Keeping(checks).claim().proof is Proof.UNBROKEN


def test_nothing_but_the_changes_own_files_is_refused() -> None:
    keeping = Keeping(FakeChecks({"changes/x/tasks.md": "M"}, baseline=[GREEN], claim=[GREEN]))
    verified = keeping.claim()
    assert (verified.proof, verified.gates[0].name) == (Proof.REFUSED, "changes")
    assert keeping.purposes == ["baseline"]


def test_an_empty_claim_can_be_allowed() -> None:
    checks = FakeChecks({}, baseline=[GREEN], claim=[GREEN])
    assert Keeping(checks, policy=GatePolicy(allow_empty=True)).claim().proof is Proof.UNBROKEN


def test_edited_tests_are_replayed_and_what_they_hide_is_refused() -> None:
    checks = FakeChecks(EDITED, baseline=[GREEN], claim=[GREEN], replay=[RED], control=[GREEN], proof=[GREEN])
    verified = Keeping(checks).claim()
    assert verified.proof is Proof.REFUSED
    assert verified.gates[0].needs is None
    assert verified.gates[0].why == "b passes only with the edited tests/test_calc.py"
    assert ("replay", PatchedTree("work", "base", ("tests/test_calc.py",))) in checks.trees


def test_a_red_test_that_passes_only_because_it_was_edited_is_refused() -> None:
    checks = FakeChecks(EDITED, baseline=[RED], claim=[GREEN], replay=[RED], control=[GREEN], proof=[GREEN])
    assert Keeping(checks).claim().proof is Proof.REFUSED


def test_an_edited_test_that_wavers_is_replayed_too() -> None:
    runs = {"claim": [RED], "again": [GREEN], "replay": [RED], "control": [GREEN], "proof": [GREEN]}
    assert Keeping(FakeChecks(EDITED, baseline=[GREEN], **runs)).claim().proof is Proof.REFUSED


def test_a_rewritten_test_that_fails_on_the_old_source_is_for_a_person_to_decide() -> None:
    checks = FakeChecks(EDITED, baseline=[GREEN], claim=[GREEN], replay=[RED], control=[GREEN], proof=[RED])
    refused = Keeping(checks).claim().gates[0]
    assert (refused.passed, refused.needs, refused.rewritten) == (False, "rewritten tests", ("tests/test_calc.py",))
    assert "a person decides" in refused.tell_agent


def test_settings_that_hide_a_failure_are_not_rewritten_tests() -> None:
    changes = {**EDITED, "pytest.ini": "M"}
    checks = FakeChecks(changes, baseline=[GREEN], claim=[GREEN], replay=[RED], control=[GREEN], proof=[RED])
    assert Keeping(checks).claim().gates[0].needs is None


RENAMED = run(0, complete=True, **{"tests/test_calc.py::test_a": "passed", "tests/test_calc.py::test_new": "passed"})
NAMED = run(0, complete=True, **{"tests/test_calc.py::test_a": "passed", "tests/test_calc.py::test_b": "passed"})
FEWER = run(0, complete=True, **{"tests/test_calc.py::test_a": "passed"})
LOST = run(1, complete=True, **{"tests/test_calc.py::test_a": "passed", "tests/test_calc.py::test_b": "failed"})
MOVED = run(0, complete=True, **{"tests/test_sums.py::test_a": "passed", "tests/test_sums.py::test_b": "passed"})


@pytest.mark.parametrize(
    ("changes", "now", "old", "replaced"),
    [
        (EDITED, RENAMED, NAMED, 1),
        (EDITED, RENAMED, LOST, 0),
        (EDITED, FEWER, NAMED, 0),
        (SOURCE, RENAMED, NAMED, 0),
        ({"tests/test_calc.py": "D", "tests/test_sums.py": "A"}, MOVED, NAMED, 2),
        ({"tests/test_calc.py": "M", "tests/test_sums.py": "A"}, MOVED, NAMED, 0),
    ],
    ids=["renamed", "renamed and broken", "removed", "no test was edited", "moved", "emptied beside a new file"],
)
def test_a_test_that_vanished_is_judged_by_its_old_version(
    changes: dict[str, str], now: GateRun, old: GateRun, replaced: int
) -> None:
    runs = {"baseline": [NAMED], "claim": [now], "replay": [old], "control": [NAMED], "proof": [now]}
    result = Keeping(FakeChecks(changes, **runs)).claim().gates[0]
    assert (result.passed, len(result.replaced)) == (bool(replaced), replaced), result.why
    assert ("replaced; the old still pass" in result.why) is bool(replaced)
    assert replaced or "vanished" in result.why


def test_a_red_test_that_vanished_is_never_fixed() -> None:
    runs = {"baseline": [LOST], "claim": [RENAMED], "replay": [LOST], "control": [LOST], "proof": [RENAMED]}
    assert Keeping(FakeChecks(EDITED, **runs)).claim().proof is Proof.REFUSED


def test_work_that_no_test_shows_is_refused_while_tests_are_red_as_before() -> None:
    checks = FakeChecks(SOURCE, baseline=[RED], claim=[RED])
    refused = Keeping(checks).claim().gates[0]
    assert (refused.passed, refused.needs) == (False, "old failures")
    assert Keeping(FakeChecks(SOURCE, baseline=[RED], claim=[RED])).claim(final=False, asked="").proof is Proof.UNBROKEN
    known = GatePolicy(known_failures=("b",))
    allowed = Keeping(FakeChecks(SOURCE, baseline=[RED], claim=[RED]), policy=known)
    assert allowed.claim().proof is Proof.UNBROKEN


def test_a_new_test_proves_work_beside_an_old_failure() -> None:
    now = run(1, a="passed", b="failed", c="passed")
    without = run(1, a="passed", b="failed", c="failed")
    runs = {"claim": [now], "replay": [RED], "control": [now], "proof": [without]}
    assert Keeping(FakeChecks(EDITED, baseline=[RED], **runs)).claim().proof is Proof.PROVED


def test_a_test_that_fails_in_a_fresh_checkout_of_the_base_is_not_replayed() -> None:
    runs = {"baseline": [GREEN], "claim": [GREEN], "replay": [RED], "control": [RED]}
    result = Keeping(FakeChecks(EDITED, **runs)).claim().gates[0]
    assert (result.passed, result.proof) == (True, Proof.UNBROKEN)
    assert "not replayed, because it fails in a fresh checkout of the base: b" in result.why


def test_where_no_fresh_checkout_runs_nothing_is_replayed_and_the_result_says_so() -> None:
    runs = {"baseline": [GREEN], "claim": [GREEN], "replay": [run(2)], "control": [run(2)]}
    result = Keeping(FakeChecks(EDITED, **runs)).claim().gates[0]
    assert (result.passed, result.proof) == (True, Proof.UNBROKEN)
    assert "edited tests were not replayed" in result.why


def test_the_first_test_file_of_a_project_is_not_edited() -> None:
    runs = {"baseline": [run(5)], "claim": [GREEN], "replay": [run(5)], "control": [GREEN], "proof": [RED]}
    assert Keeping(FakeChecks({"calc.py": "M", "test_calc.py": "A"}, **runs)).claim().proof is Proof.PROVED


def test_a_runner_that_does_not_name_passing_tests_can_still_prove() -> None:
    def counts(exit_code: int, unnamed: int, *failing: str) -> GateRun:
        tests = tuple(Test(id=name, status=ResultStatus.FAILED) for name in failing)
        return GateRun(
            exit_code=exit_code, results=Results(tests=tests, complete=True, names_all=False, unnamed=unnamed)
        )

    runs = {"baseline": [counts(0, 2)], "claim": [counts(0, 3)], "replay": [counts(0, 2)], "control": [counts(0, 3)]}
    proved = Keeping(FakeChecks(EDITED, **runs, proof=[counts(1, 2, "t.Case.test_new")])).claim().gates[0]
    assert (proved.proof, proved.proved_by) == (Proof.PROVED, ("t.Case.test_new",))


def test_a_replay_that_refuses_runs_twice() -> None:
    checks = FakeChecks(EDITED, baseline=[GREEN], claim=[GREEN], replay=[RED, GREEN], proof=[GREEN])
    keeping = Keeping(checks)
    assert keeping.claim().proof is Proof.UNBROKEN
    assert keeping.purposes == ["baseline", "claim", "replay", "replay-again", "proof"]


def test_in_a_folder_of_a_larger_repository_paths_are_those_of_the_folder() -> None:
    checks = FakeChecks({"apps/calc/tests/test_calc.py": "D"}, baseline=[GREEN], claim=[GREEN], proof=[GREEN])
    checks.home = "apps/calc/"
    assert Keeping(checks).claim(named="Rewrite tests/test_calc.py.").proof is Proof.UNBROKEN
    gone = FakeChecks({"apps/calc/check.sh": "D"}, baseline=[GREEN], claim=[run(127)], again=[run(127)])
    gone.home = "apps/calc/"
    assert Keeping(gone, GateSpec(name="check", run="sh check.sh")).claim().proof is Proof.UNVERIFIABLE


def test_edits_under_which_the_old_tests_pass_are_not_refused() -> None:
    checks = FakeChecks(EDITED, baseline=[GREEN], claim=[GREEN], replay=[GREEN], proof=[GREEN])
    assert Keeping(checks).claim().proof is Proof.UNBROKEN


@pytest.mark.parametrize(
    ("asked", "final", "proof"),
    [
        ("make test_b pass", False, Proof.REFUSED),
        ("something else", False, Proof.UNBROKEN),
        ("something else", True, Proof.REFUSED),
        (None, False, Proof.REFUSED),
    ],
)
def test_a_red_test_may_stay_red_until_the_story_that_names_it(asked: str | None, final: bool, proof: Proof) -> None:
    red = run(1, test_a="passed", test_b="failed")
    checks = FakeChecks(SOURCE, baseline=[red, red], claim=[red], again=[red], proof=[red])
    verified = Keeping(checks).claim(named="first this, then test_b", asked=asked, final=final)
    assert verified.proof is proof


@pytest.mark.parametrize("policy", [GatePolicy(), GatePolicy(allow_change=("tests",))])
def test_a_path_that_a_person_names_may_change(policy: GatePolicy) -> None:
    checks = FakeChecks(EDITED, baseline=[GREEN], claim=[GREEN], proof=[GREEN])
    named = "" if policy.allow_change else "Rewrite tests/test_calc.py."
    assert Keeping(checks, policy=policy).claim(named=named).proof is Proof.UNBROKEN


def test_a_new_test_that_fails_on_the_old_source_is_proof() -> None:
    more = run(0, a="passed", b="passed", c="passed")
    without = run(1, a="passed", b="passed", c="failed")
    checks = FakeChecks(EDITED, baseline=[GREEN], claim=[more], replay=[GREEN], proof=[without], control=[more])
    verified = Keeping(checks).claim()
    assert (verified.proof, verified.gates[0].proved_by) == (Proof.PROVED, ("c",))
    assert ("proof", PatchedTree("base", "work", ("tests/test_calc.py",))) in checks.trees


def test_a_test_that_did_not_run_without_the_change_and_passed_before_it_proves_nothing() -> None:
    more = run(0, a="passed", b="passed", c="passed")
    unloaded = run(2, c="failed", complete=False)  # a file that does not load keeps the others from running
    checks = FakeChecks(EDITED, baseline=[GREEN], claim=[more], replay=[GREEN], proof=[unloaded], control=[more])
    assert Keeping(checks).claim().gates[0].proved_by == ("c",)


def test_without_a_baseline_every_failure_refuses() -> None:
    checks = FakeChecks(SOURCE, claim=[RED], again=[RED])
    keeping = Keeping(checks)
    verified = asyncio.run(keeping.keeper.check(CompletionClaim(base="", own=()), lambda _: None))
    assert verified.proof is Proof.REFUSED
    assert keeping.purposes == ["claim", "again"]


def test_what_gates_leave_before_the_first_agent_is_known() -> None:
    checks = FakeChecks({"junk.txt": "A", "calc.py": "M"}, baseline=[GREEN])
    keeping = Keeping(checks)

    async def leave(gate: GateSpec, purpose: GatePurpose, tree: PatchedTree | None) -> GateRun:
        checks.now = "littered"
        return GREEN

    checks.run = leave  # type: ignore[method-assign]
    asyncio.run(keeping.keeper.open("", "", lambda _: None))
    assert keeping.keeper.left == ("junk.txt",)


def test_a_checkout_in_which_nothing_works_proves_nothing() -> None:
    more = run(0, a="passed", b="passed", c="passed")
    broken = run(1, a="failed", b="failed", c="failed")
    checks = FakeChecks(EDITED, baseline=[GREEN], claim=[more], replay=[GREEN], proof=[broken], control=[broken])
    assert Keeping(checks).claim().proof is Proof.UNBROKEN


def test_proof_can_be_required() -> None:
    checks = FakeChecks(SOURCE, baseline=[GREEN], claim=[GREEN])
    verified = Keeping(checks, policy=GatePolicy(require_proof=True)).claim()
    assert (verified.proof, verified.gates[-1].name) == (Proof.REFUSED, "proof")


def test_a_gate_that_no_longer_starts_is_unverifiable() -> None:
    gone = GateRun(exit_code=127, trouble="make: not found")
    verified = Keeping(FakeChecks(SOURCE, baseline=[GREEN], claim=[gone], again=[gone])).claim()
    assert verified.proof is Proof.UNVERIFIABLE


def test_a_file_that_the_command_names_and_that_is_gone_makes_it_unverifiable() -> None:
    gate = GateSpec(name="check", run="sh check.sh")
    checks = FakeChecks({"check.sh": "D", "calc.py": "M"}, baseline=[run(0)], claim=[run(2)], again=[run(2)])
    verified = Keeping(checks, gate).claim()
    assert (verified.proof, verified.gates[0].why) == (Proof.UNVERIFIABLE, "check.sh is gone")


def test_after_a_red_gate_the_rest_do_not_run() -> None:
    slow = GateSpec(name="slow", run="make slow")
    checks = FakeChecks(SOURCE, baseline=[GREEN], claim=[RED], again=[RED])
    names = [(gate.name, gate.why) for gate in Keeping(checks, TESTS, slow).claim().gates]
    assert names == [("tests", "b fails"), ("slow", "not run")]


def test_a_built_in_gate_refuses_before_any_command_runs() -> None:
    objection = GateResult(name="tasks", passed=False, why="boxes are open: 1.1")
    keeping = Keeping(FakeChecks(SOURCE, baseline=[GREEN]), built_in=(objection,))
    assert [gate.why for gate in keeping.claim().gates] == ["boxes are open: 1.1", "not run"]


def test_a_gate_for_the_end_waits_for_the_last_claim() -> None:
    at_end = msgspec.structs.replace(TESTS, when="end")
    assert Keeping(FakeChecks(SOURCE, baseline=[GREEN], claim=[RED]), at_end).claim(final=False).gates == ()


@pytest.mark.parametrize(
    "unfit", [GateRun(exit_code=127, trouble="make: not found"), GateRun(exit_code=0, changed=("calc.py",))]
)
def test_a_gate_that_cannot_judge_is_an_error_before_the_first_agent(unfit: GateRun) -> None:
    with pytest.raises(UsageError, match="make test"):
        Keeping(FakeChecks(SOURCE, baseline=[unfit])).claim()


def test_a_worktree_loops_command_may_not_exist_yet() -> None:
    missing = GateRun(exit_code=127, trouble="check: not found")
    gate = GateSpec(name=DONE_COMMAND, run="./check")
    assert Keeping(FakeChecks(SOURCE, baseline=[missing], claim=[run(0)]), gate).claim().proof is Proof.PROVED


def test_what_is_red_before_is_said() -> None:
    keeping = Keeping(FakeChecks(SOURCE, baseline=[RED], claim=[RED]))
    keeping.claim()
    assert [event.message for event in keeping.events if isinstance(event, Warned)] == [
        "the check 'make test' fails before the change in b; only new failures refuse a claim"
    ]
    assert "These were failing before you started: b." in keeping.keeper.brief("base")


def test_the_baseline_is_remembered_for_later_runs() -> None:
    checks = FakeChecks(SOURCE, baseline=[GREEN], claim=[GREEN])
    Keeping(checks).claim()
    checks.now = "base"
    again = Keeping(checks)
    again.claim()
    assert again.purposes == ["claim"]


def test_what_a_person_edits_between_two_runs_is_part_of_the_base() -> None:
    keeping = Keeping(FakeChecks(EDITED, baseline=[GREEN]))
    assert asyncio.run(keeping.keeper.open("old", "left", lambda _: None)) == "old+base"


@pytest.mark.parametrize(
    ("origin", "proof"), [(GREEN, Proof.REFUSED), (RED, Proof.UNBROKEN)], ids=["works clean", "needs ignored files"]
)
def test_work_that_passes_only_beside_ignored_files_is_refused(origin: GateRun, proof: Proof) -> None:
    checks = FakeChecks(SOURCE, baseline=[GREEN], claim=[GREEN], control=[RED, origin])
    checks.hidden = ("conftest.py",)
    assert Keeping(checks).claim().proof is proof


def test_caches_are_not_hidden_files() -> None:
    checks = FakeChecks(SOURCE, baseline=[GREEN], claim=[GREEN])
    checks.hidden = ("__pycache__/", ".pytest_cache/", "src/a.pyc", ".mypy_cache/")
    assert Keeping(checks).claim().proof is Proof.UNBROKEN


def test_a_new_file_that_the_command_names_is_the_work_itself() -> None:
    gate = GateSpec(name="check", run="test -e done.txt")
    assert Keeping(FakeChecks({"done.txt": "A"}, baseline=[run(1)], claim=[run(0)]), gate).claim().proof is Proof.PROVED
