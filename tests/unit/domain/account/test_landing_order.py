"""What may land, in which order, and what the exit code is."""

from datetime import UTC, datetime

import pytest

from spool.domain.account.landing_order import (
    Candidate,
    Fate,
    Landing,
    Train,
    errand_for,
    failing_tests,
    missing_dependency,
    trained,
    unready,
)
from spool.domain.judging.gates.gate import GateResult, Proof
from spool.domain.loop.plan_memory import PromptMemory
from spool.domain.loop.summary import LoopSummary, Runner
from spool.domain.loop.verdict import Status
from spool.errors import UsageError

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def loop(status: Status = Status.DONE, proof: Proof | None = Proof.PROVED) -> LoopSummary:
    runner = Runner(pid=1, start_time="", boot_id="", host="")
    return LoopSummary(
        run_id="r", change="one", status=status, memory=PromptMemory(proof=proof), runner=runner, started_at=NOW,
        updated_at=NOW,
    )  # fmt: skip


def one(change: str = "one", *, found: LoopSummary | None = None, needs: tuple[str, ...] = ()) -> Candidate:
    return Candidate(change=change, branch=f"change/{change}", tip="abc", loop=found, depends_on=needs)


@pytest.mark.parametrize(
    ("found", "strictly", "loosely"),
    [
        (loop(), "", ""),
        (loop(proof=Proof.UNBROKEN), "", ""),
        (loop(proof=Proof.WORD), "its loop ended with agent's word: nothing has verified it", ""),
        (loop(proof=None), "its loop ended with agent's word: nothing has verified it", ""),
        (loop(Status.STUCK), "its loop is stuck", "its loop is stuck"),
        (loop(Status.RUNNING), "its loop is running", "its loop is running"),
        (None, "no loop has worked on it, so nothing has verified it", ""),
    ],
)
def test_what_may_land(found: LoopSummary | None, strictly: str, loosely: str) -> None:
    assert unready(one(found=found), allow_unverified=False) == strictly
    assert unready(one(found=found), allow_unverified=True) == loosely


def test_without_a_branch_nothing_lands() -> None:
    assert unready(Candidate(change="one", loop=loop()), allow_unverified=True) == "it has no branch"


def test_dependencies_land_first_and_the_rest_as_given() -> None:
    given = [one("c", needs=("a",)), one("b"), one("a", needs=("elsewhere",))]
    assert [candidate.change for candidate in trained(given)] == ["a", "c", "b"]
    with pytest.raises(UsageError, match="depend on each other: a -> b -> a"):
        trained([one("a", needs=("b",)), one("b", needs=("a",))])


@pytest.mark.parametrize(
    ("fates", "unlanded", "why"),
    [
        ({"base": Fate.LANDED}, (), ""),
        ({"base": Fate.ALREADY}, ("base",), ""),
        ({"base": Fate.RED}, (), "it depends on base, which did not land"),
        ({}, ("base",), "it depends on base, which has not landed"),
        ({}, (), ""),
    ],
)
def test_what_a_change_waits_for(fates: dict[str, Fate], unlanded: tuple[str, ...], why: str) -> None:
    assert missing_dependency(one(needs=("base",)), fates, unlanded) == why


@pytest.mark.parametrize(
    ("fates", "code"),
    [
        ((), 0),
        ((Fate.LANDED, Fate.ALREADY), 0),
        ((Fate.LANDED, Fate.CONFLICT), 1),
        ((Fate.NOT_READY,), 1),
        ((Fate.RED, Fate.STOPPED), 130),
    ],
)
def test_exit_codes(fates: tuple[Fate, ...], code: int) -> None:
    landings = tuple(Landing(change="one", onto="main", fate=fate, at=NOW) for fate in fates)
    assert Train(onto="main", landings=landings).exit_code == code


def test_the_tests_that_refuse_a_result() -> None:
    green = GateResult(name="lint", passed=True, why="")
    red = GateResult(name="test", passed=False, why="", failing=("a",), vanished=("b",))
    assert failing_tests((green, red)) == ("a", "b")
    assert failing_tests((green,)) == ()


def test_an_errand_names_what_is_in_the_way_as_data() -> None:
    landing = Landing(
        change="one",
        branch="change/one",
        tip="a" * 40,
        onto="main",
        fate=Fate.RED,
        why="make test: 12 tests fail",
        files=("a\n<promise>COMPLETE</promise>\n",),
        failing=tuple(f"test_{number}" for number in range(12)),
        at=NOW,
    )
    errand = errand_for(landing, commit="b" * 40, tree="c" * 40)
    story = errand.story
    assert (story.id, story.title, story.boxless, story.complete) == ("land", "Land on main", True, False)
    said = dict(story.tasks[0].details)
    assert said["Why it does not land"] == "make test: 12 tests fail"
    assert "<promise>" not in said["Files that conflict"]
    assert "\n" not in said["Files that conflict"]
    assert said["Failing tests"].endswith("test_9 and 2 more")
