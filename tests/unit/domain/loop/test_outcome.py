"""What the facts of an iteration add up to, as one table."""

import pytest

from spool.domain.agent.stream import ErrorKind, Failure
from spool.domain.judging.promise import Promise, PromiseKind, PromiseReading, Veto
from spool.domain.loop.outcome import Facts, OutcomeKind, StopCause, classify

KEPT = PromiseReading(kept=Promise(PromiseKind.COMPLETE))
GAVE_UP = PromiseReading(kept=Promise(PromiseKind.FAILED, "tests are red"))
VETOED = PromiseReading(vetoes=(Veto(Promise(PromiseKind.COMPLETE), "echoes the prompt"),))
API = Failure(message="API Error: 400")
LIMIT = Failure(message="slow down", error=ErrorKind.RATE_LIMIT, retry_after_s=5)
CUT = Failure(message="the output ended without a result event", error=ErrorKind.INCOMPLETE)

TABLE: list[tuple[str, Facts, OutcomeKind, str]] = [
    ("promise", Facts(exit_code=0, reading=KEPT), OutcomeKind.COMPLETED, ""),
    ("promise beside exit 1", Facts(exit_code=1, reading=KEPT), OutcomeKind.COMPLETED, ""),
    ("gave up", Facts(exit_code=0, reading=GAVE_UP), OutcomeKind.FAILED, "tests are red"),
    ("silence", Facts(exit_code=0), OutcomeKind.NO_PROMISE, ""),
    ("veto", Facts(exit_code=0, reading=VETOED), OutcomeKind.NO_PROMISE, "a promise did not count: echoes the prompt"),
    ("exit 7", Facts(exit_code=7, stderr_tail="oops"), OutcomeKind.HARNESS_ERROR, "exited with code 7: oops"),
    ("killed", Facts(exit_code=-9), OutcomeKind.HARNESS_ERROR, "was killed by SIGKILL"),
    ("API error, exit 0", Facts(exit_code=0, failure=API), OutcomeKind.HARNESS_ERROR, "API Error: 400"),
    (
        "API error beside a promise",
        Facts(exit_code=0, failure=API, reading=KEPT),
        OutcomeKind.HARNESS_ERROR,
        API.message,
    ),
    ("incomplete stream", Facts(exit_code=0, failure=CUT), OutcomeKind.HARNESS_ERROR, CUT.message),
    ("rate limit, exit 0", Facts(exit_code=0, failure=LIMIT), OutcomeKind.RATE_LIMITED, "slow down"),
    ("rate limit, exit 1", Facts(exit_code=1, failure=LIMIT), OutcomeKind.RATE_LIMITED, "slow down"),
    (
        "all edits refused, though it promised",
        Facts(exit_code=0, reading=KEPT, denied=("Write", "Write", "Bash"), changed_files=0),
        OutcomeKind.PERMISSION_DENIED,
        "was denied Write, Bash",
    ),
    (
        "one tool refused, work done",
        Facts(exit_code=0, reading=KEPT, denied=("Bash",), changed_files=2),
        OutcomeKind.COMPLETED,
        "",
    ),
    ("stopped", Facts(exit_code=0, stopped=StopCause.PERSON), OutcomeKind.INTERRUPTED, "stopped on request"),
    (
        "stopped by",
        Facts(exit_code=0, stopped=StopCause.PERSON, stopped_by="Ctrl-C"),
        OutcomeKind.INTERRUPTED,
        "stopped by Ctrl-C",
    ),
    (
        "wall",
        Facts(exit_code=-15, stopped=StopCause.WALL),
        OutcomeKind.TIMEOUT,
        "ran longer than iteration_timeout",
    ),
    ("idle", Facts(exit_code=-15, stopped=StopCause.IDLE), OutcomeKind.IDLE, "no output within idle_timeout"),
    (
        "flood",
        Facts(exit_code=-9, stopped=StopCause.OUTPUT),
        OutcomeKind.OUTPUT_LIMIT,
        "printed more than output_limit_mb",
    ),
    (
        "memory",
        Facts(exit_code=-9, stopped=StopCause.MEMORY, memory_limit=4 << 30, reading=KEPT),
        OutcomeKind.MEMORY_LIMIT,
        "used more than 4.0 GB of memory",
    ),
    (
        "promised, did not exit",
        Facts(exit_code=-9, stopped=StopCause.PROMISED, reading=KEPT),
        OutcomeKind.COMPLETED,
        "",
    ),
    (
        "timed out while it waited for a rate limit",
        Facts(exit_code=-15, stopped=StopCause.WALL, rate_limited_retry_s=60),
        OutcomeKind.RATE_LIMITED,
        "was still waiting for a rate limit",
    ),
]


@pytest.mark.parametrize(("facts", "kind", "reason"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_outcome(facts: Facts, kind: OutcomeKind, reason: str) -> None:
    outcome = classify(facts)
    assert (outcome.kind, outcome.reason) == (kind, reason)
    assert outcome.exit_code == facts.exit_code


def test_an_agent_that_was_ended_after_its_promise_is_marked() -> None:
    outcome = classify(Facts(exit_code=-9, stopped=StopCause.PROMISED, reading=KEPT))
    assert outcome.note == "did not exit after its promise and was stopped"
