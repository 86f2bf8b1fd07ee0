"""The receipt of a loop, and how it reads."""

import msgspec

from spool.domain.agent.stream import Usage
from spool.domain.judging.gates.gate import GateResult, Proof
from spool.domain.loop.outcome import OutcomeKind
from spool.domain.loop.receipt import Rate, Receipt
from spool.domain.loop.state import IterationRecord
from spool.testing.doubles import START
from spool.views.receipt_lines import receipt_lines

NOTHING = Usage()


def record(
    usage: Usage = NOTHING, *, story: str | None = None, proof: Proof | None = None, accepted: bool = False
) -> IterationRecord:
    return IterationRecord(
        iteration=1,
        run_id="r",
        started_at=START,
        ended_at=START,
        duration_s=60.0,
        harness="codex",
        model=None,
        exit_code=0,
        outcome=OutcomeKind.COMPLETED if accepted else OutcomeKind.NO_PROMISE,
        gates=(GateResult(name="tasks", passed=True, why=""),) if accepted else (),
        usage=usage,
        story_id=story,
        gates_s=10.0,
        proof=proof,
    )


KNOWN = Usage(tokens_in=900, tokens_out=100, cost_usd=0.5)
UNKNOWN = Usage(tokens_in=900, tokens_out=100)


def test_iterations_and_waits_add_up() -> None:
    receipt = Receipt().with_iteration(record(KNOWN)).with_wait(30.0)
    receipt = receipt.with_iteration(record(KNOWN))
    assert (receipt.iterations, receipt.agent_s, receipt.gates_s, receipt.waits_s) == (2, 120.0, 20.0, 30.0)
    assert receipt.per_iteration == Rate(seconds=85.0, tokens=1_000.0, cost_usd=0.5)
    assert (receipt.per_story, receipt.per_proved_story, receipt.stories) == (None, None, ())


def test_a_story_is_the_sum_of_its_attempts_and_failed_ones_count() -> None:
    receipt = Receipt().with_iteration(record(KNOWN, story="1"))
    receipt = receipt.with_iteration(record(KNOWN, story="1", accepted=True))
    receipt = receipt.with_iteration(record(KNOWN, story="2"))
    assert [(story.id, story.iterations, story.done) for story in receipt.stories] == [("1", 2, True), ("2", 1, False)]
    assert receipt.per_story == Rate(seconds=210.0, tokens=3_000.0, cost_usd=1.5)
    assert receipt.per_proved_story is None


def test_a_proved_story_has_its_own_average() -> None:
    receipt = Receipt().with_iteration(record(KNOWN, story="1", proof=Proof.PROVED, accepted=True))
    receipt = receipt.with_iteration(record(KNOWN, story="2", proof=Proof.UNBROKEN, accepted=True))
    assert receipt.per_story == Rate(seconds=70.0, tokens=1_000.0, cost_usd=0.5)
    assert receipt.per_proved_story == Rate(seconds=140.0, tokens=2_000.0, cost_usd=1.0)


def test_an_unknown_cost_is_never_zero() -> None:
    unknown = Receipt().with_iteration(record(UNKNOWN))
    assert (unknown.unpriced, unknown.usage.cost_usd) == (1, None)
    assert "1.0k tokens, cost unknown" in receipt_lines(unknown)[0]
    mixed = unknown.with_iteration(record(KNOWN))
    assert mixed.per_iteration == Rate(seconds=70.0, tokens=1_000.0, cost_usd=None)
    assert "$0.50 and 1 iteration of unknown cost" in receipt_lines(mixed)[0]
    silent = Receipt().with_iteration(record())
    assert receipt_lines(silent)[0] == "1 iteration in 1m 10s (agent 1m 00s, gates 10s), tokens and cost unknown"


def test_how_it_reads() -> None:
    assert receipt_lines(Receipt()) == []
    receipt = Receipt().with_iteration(record(KNOWN, story="1", accepted=True)).with_wait(30)
    assert receipt_lines(receipt) == [
        "1 iteration in 1m 40s (agent 1m 00s, gates 10s, waits 30s), 1.0k tokens, $0.50",
        "per iteration 1m 40s, 1.0k tokens, $0.50; per story 1m 40s, 1.0k tokens, $0.50",
    ]


def test_one_average_is_enough_where_every_finished_story_is_proved() -> None:
    receipt = Receipt().with_iteration(record(KNOWN, story="1", proof=Proof.PROVED, accepted=True))
    average = "1m 10s, 1.0k tokens, $0.50"
    assert receipt_lines(receipt)[1] == f"per iteration {average}; per proved story {average}"


def test_it_survives_the_disk() -> None:
    receipt = Receipt().with_iteration(record(KNOWN, story="1", accepted=True))
    assert msgspec.json.decode(msgspec.json.encode(receipt), type=Receipt) == receipt
