"""The verdicts of `spool ralph`, as one table."""

import pytest

from spool.domain.loop.outcome import Outcome, OutcomeKind
from spool.domain.loop.verdict import (
    Continue,
    ExitCode,
    Finish,
    Limits,
    Status,
    Tally,
    Verdict,
    Wait,
    advance,
    judge_prompt,
)

COMPLETED = Outcome(kind=OutcomeKind.COMPLETED, exit_code=0)
COMPLETED_EXIT_1 = Outcome(kind=OutcomeKind.COMPLETED, exit_code=1)
NO_PROMISE = Outcome(kind=OutcomeKind.NO_PROMISE, exit_code=0)
FAILED = Outcome(kind=OutcomeKind.FAILED, reason="tests are red", exit_code=0)
CRASHED = Outcome(kind=OutcomeKind.HARNESS_ERROR, reason="exited with code 7", exit_code=7)
TIMEOUT = Outcome(kind=OutcomeKind.TIMEOUT, exit_code=-15)
INTERRUPTED = Outcome(kind=OutcomeKind.INTERRUPTED, reason="stopped on request", exit_code=-2)
LIMITED = Outcome(kind=OutcomeKind.RATE_LIMITED, reason="slow down", exit_code=1, retry_after_s=7)
LIMITED_UNTIL = Outcome(kind=OutcomeKind.RATE_LIMITED, reason="slow down", exit_code=0, resets_at=1_060)

DONE = Finish(Status.DONE, "the agent kept its promise", ExitCode.COMPLETE)

TABLE: list[tuple[str, Outcome, Tally, Limits, Verdict]] = [
    ("a promise ends the loop", COMPLETED, Tally(run_iterations=1), Limits(), DONE),
    ("a promise ends it whatever the exit code", COMPLETED_EXIT_1, Tally(run_iterations=1), Limits(), DONE),
    ("not before the minimum", COMPLETED, Tally(run_iterations=2), Limits(min_iterations=3), Continue()),
    ("at the minimum", COMPLETED, Tally(run_iterations=3), Limits(min_iterations=3), DONE),
    ("a promise in the last iteration", COMPLETED, Tally(run_iterations=5), Limits(max_iterations=5), DONE),
    ("no promise goes on", NO_PROMISE, Tally(run_iterations=1), Limits(), Continue()),
    ("FAILED goes on", FAILED, Tally(run_iterations=1), Limits(), Continue()),
    (
        "the limit ends it",
        NO_PROMISE,
        Tally(run_iterations=5),
        Limits(max_iterations=5),
        Finish(Status.STUCK, "the limit of 5 iterations is reached", ExitCode.EXHAUSTED),
    ),
    ("no limit", NO_PROMISE, Tally(run_iterations=10_000), Limits(max_iterations=None), Continue()),
    ("a crash goes on", CRASHED, Tally(run_iterations=1, errors_in_row=1), Limits(), Continue()),
    ("the third error pauses", CRASHED, Tally(run_iterations=3, errors_in_row=3), Limits(), Continue(1.0)),
    ("the fifth pauses longer", CRASHED, Tally(run_iterations=5, errors_in_row=5), Limits(), Continue(4.0)),
    (
        "the tenth error ends it",
        CRASHED,
        Tally(run_iterations=10, errors_in_row=10),
        Limits(),
        Finish(
            Status.STUCK,
            "harness error: exited with code 7",
            ExitCode.STUCK,
            bound="10 failed iterations in a row",
        ),
    ),
    (
        "threshold 0 never ends it",
        CRASHED,
        Tally(run_iterations=12, errors_in_row=12),
        Limits(error_threshold=0),
        Continue(60.0),
    ),
    (
        "fail-fast on a crash",
        CRASHED,
        Tally(run_iterations=1, errors_in_row=1),
        Limits(fail_fast=True),
        Finish(Status.STUCK, "fail-fast: harness error: exited with code 7", ExitCode.FAILED),
    ),
    (
        "fail-fast even beside a promise",
        COMPLETED_EXIT_1,
        Tally(run_iterations=1),
        Limits(fail_fast=True),
        Finish(Status.STUCK, "fail-fast: completed (exit code 1)", ExitCode.FAILED),
    ),
    (
        "fail-fast on a timeout",
        TIMEOUT,
        Tally(run_iterations=1, errors_in_row=1),
        Limits(fail_fast=True),
        Finish(Status.STUCK, "fail-fast: timeout", ExitCode.FAILED),
    ),
    ("fail-fast lets silence pass", NO_PROMISE, Tally(run_iterations=1), Limits(fail_fast=True), Continue()),
    (
        "a stop ends it",
        INTERRUPTED,
        Tally(run_iterations=1),
        Limits(fail_fast=True),
        Finish(Status.STOPPED, "stopped on request", ExitCode.INTERRUPTED),
    ),
    (
        "a rate limit waits",
        LIMITED,
        Tally(run_iterations=1, waits_in_row=1),
        Limits(fail_fast=True),
        Wait(7, "slow down"),
    ),
    (
        "a rate limit waits until its reset",
        LIMITED_UNTIL,
        Tally(run_iterations=50, waits_in_row=1),
        Limits(max_iterations=50),
        Wait(61, "slow down"),
    ),
]


@pytest.mark.parametrize(
    ("outcome", "tally", "limits", "verdict"), [row[1:] for row in TABLE], ids=[r[0] for r in TABLE]
)
def test_verdict(outcome: Outcome, tally: Tally, limits: Limits, verdict: Verdict) -> None:
    done = DONE.reason if outcome.kind is OutcomeKind.COMPLETED else ""
    judged = judge_prompt(outcome, tally, limits, done=done, idle=0, now=1_000, jitter=lambda: 0.0)
    assert judged == verdict


def test_a_rate_limit_spends_no_iteration_and_breaks_no_row_of_errors() -> None:
    before = Tally(run_iterations=4, errors_in_row=2)
    assert advance(before, LIMITED) == Tally(run_iterations=4, errors_in_row=2, waits_in_row=1)


def test_work_ends_a_row_of_errors() -> None:
    assert advance(Tally(run_iterations=4, errors_in_row=2), NO_PROMISE) == Tally(run_iterations=5)
    assert advance(Tally(run_iterations=4, errors_in_row=2), CRASHED) == Tally(run_iterations=5, errors_in_row=3)
