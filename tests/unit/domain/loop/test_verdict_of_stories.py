"""The verdicts of `spool run`, as one table."""

import pytest

from spool.domain.judging.gates.gate import GateResult
from spool.domain.loop.outcome import Outcome, OutcomeKind
from spool.domain.loop.verdict import (
    ExitCode,
    Finish,
    Limits,
    NextStory,
    Retry,
    Status,
    Tally,
    Verdict,
    Wait,
    judge_story,
)

COMPLETED = Outcome(kind=OutcomeKind.COMPLETED, exit_code=0)
FAILED = Outcome(kind=OutcomeKind.FAILED, reason="tests are red", exit_code=0)
SILENT = Outcome(kind=OutcomeKind.NO_PROMISE, exit_code=0)
CRASHED = Outcome(kind=OutcomeKind.HARNESS_ERROR, reason="exited with code 7", exit_code=7)
GIT_HUNG = Outcome(kind=OutcomeKind.TIMEOUT, reason="'git add' did not answer within 30 s")
LIMITED = Outcome(kind=OutcomeKind.RATE_LIMITED, reason="slow down", exit_code=1, retry_after_s=7)
INTERRUPTED = Outcome(kind=OutcomeKind.INTERRUPTED, reason="stopped on request")

OPEN = GateResult(name="tasks", passed=False, why="boxes are open: 1.2, 1.3", tell_agent="1.2 and 1.3 are open")
USED_UP = "the limit of 3 retries is reached, the last attempt was number 4"
SAID_TOO_EARLY = "said COMPLETE, but tasks: boxes are open: 1.2, 1.3"


def retry(because: str, own_words: str = "", *, refusal: str = "", number: int = 1) -> Retry:
    return Retry(because, own_words, refusal, keep=bool(refusal), retry=number, max_retries=3)


# name, outcome, retries so far, the gate that refused, verdict; at most 3 retries
TABLE: list[tuple[str, Outcome, int, GateResult | None, Verdict]] = [
    ("complete", COMPLETED, 0, None, NextStory()),
    ("complete in the last attempt", COMPLETED, 3, None, NextStory()),
    (
        "complete with open boxes is kept and told",
        COMPLETED,
        0,
        OPEN,
        retry(SAID_TOO_EARLY, refusal=OPEN.tell_agent),
    ),
    (
        "such reruns end, too",
        COMPLETED,
        3,
        OPEN,
        Finish(Status.STUCK, SAID_TOO_EARLY, ExitCode.FAILED, bound=USED_UP),
    ),
    (
        "failed: the reason goes on",
        FAILED,
        0,
        None,
        retry("failed: tests are red", "tests are red"),
    ),
    ("silence: no additional context", SILENT, 0, None, retry("no promise", "")),
    ("silence with all boxes ticked is silence", SILENT, 0, None, retry("no promise", "")),
    (
        "crash: no additional context",
        CRASHED,
        2,
        None,
        retry("harness error: exited with code 7", number=3),
    ),
    (
        "a command's timeout is a failure",
        GIT_HUNG,
        0,
        None,
        retry(f"timeout: {GIT_HUNG.reason}", ""),
    ),
    (
        "retries used up",
        FAILED,
        3,
        None,
        Finish(Status.STUCK, "failed: tests are red", ExitCode.FAILED, bound=USED_UP),
    ),
    ("a rate limit spends no retry", LIMITED, 3, None, Wait(7, "slow down")),
    ("a stop", INTERRUPTED, 0, None, Finish(Status.STOPPED, "stopped on request", ExitCode.INTERRUPTED)),
]


@pytest.mark.parametrize(
    ("outcome", "retries", "refused", "verdict"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_story_verdict(outcome: Outcome, retries: int, refused: GateResult | None, verdict: Verdict) -> None:
    tally = Tally(run_iterations=1, waits_in_row=1)
    judged = judge_story(
        outcome, tally, Limits(), retries=retries, max_retries=3, refused=refused, now=0, jitter=lambda: 0.0
    )
    assert judged == verdict


def test_no_retries_at_all() -> None:
    tally = Tally(run_iterations=1)
    judged = judge_story(FAILED, tally, Limits(), retries=0, max_retries=0, refused=None, now=0, jitter=lambda: 0.0)
    assert isinstance(judged, Finish)


def test_the_whole_reason_names_the_story_then_the_cause_then_the_limit() -> None:
    finish = Finish(Status.STUCK, "failed: tests are red", ExitCode.FAILED, bound=USED_UP)
    assert finish.said("2") == f"story 2: failed: tests are red; {USED_UP}"
    assert Finish(Status.STUCK, "the budget is used up", ExitCode.STUCK).said("2") == "the budget is used up"
