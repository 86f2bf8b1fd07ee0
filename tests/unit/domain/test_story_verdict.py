"""The verdicts of `spool run`, as one table."""

import pytest

from spool.domain.outcome import Outcome, OutcomeKind
from spool.domain.verdict import ExitCode, Finish, Limits, NextStory, Retry, Status, Tally, Verdict, Wait, judge_story

COMPLETED = Outcome(kind=OutcomeKind.COMPLETED, exit_code=0)
FAILED = Outcome(kind=OutcomeKind.FAILED, reason="tests are red", exit_code=0)
SILENT = Outcome(kind=OutcomeKind.NO_PROMISE, exit_code=0)
CRASHED = Outcome(kind=OutcomeKind.HARNESS_ERROR, reason="exited with code 7", exit_code=7)
GIT_HUNG = Outcome(kind=OutcomeKind.TIMEOUT, reason="'git add' did not answer within 30 s")
LIMITED = Outcome(kind=OutcomeKind.RATE_LIMITED, reason="slow down", exit_code=1, retry_after_s=7)
INTERRUPTED = Outcome(kind=OutcomeKind.INTERRUPTED, reason="stopped on request")

OPEN = ("1.2", "1.3")
SAID_TOO_EARLY = "said COMPLETE while boxes are open: 1.2, 1.3"

# name, outcome, retries so far, boxes still open, verdict; at most 3 retries
TABLE: list[tuple[str, Outcome, int, tuple[str, ...], Verdict]] = [
    ("complete", COMPLETED, 0, (), NextStory()),
    ("complete in the last attempt", COMPLETED, 3, (), NextStory()),
    (
        "complete with open boxes is kept and told",
        COMPLETED,
        0,
        OPEN,
        Retry(SAID_TOO_EARLY, "You said COMPLETE, but these tasks are open: 1.2, 1.3", keep=True),
    ),
    (
        "such reruns end, too",
        COMPLETED,
        3,
        OPEN,
        Finish(Status.STUCK, f"the limit of 3 retries is reached, the last attempt: {SAID_TOO_EARLY}", ExitCode.FAILED),
    ),
    ("failed: the reason goes on", FAILED, 0, OPEN, Retry("failed: tests are red", "tests are red")),
    ("silence: no additional context", SILENT, 0, OPEN, Retry("no promise", "")),
    ("silence with all boxes ticked is silence", SILENT, 0, (), Retry("no promise", "")),
    ("crash: no additional context", CRASHED, 2, OPEN, Retry("harness error: exited with code 7", "")),
    ("a command's timeout is a failure", GIT_HUNG, 0, (), Retry(f"timeout: {GIT_HUNG.reason}", "")),
    (
        "retries used up",
        FAILED,
        3,
        OPEN,
        Finish(
            Status.STUCK, "the limit of 3 retries is reached, the last attempt: failed: tests are red", ExitCode.FAILED
        ),
    ),
    ("a rate limit spends no retry", LIMITED, 3, OPEN, Wait(7, "slow down")),
    ("a stop", INTERRUPTED, 0, OPEN, Finish(Status.STOPPED, "stopped on request", ExitCode.INTERRUPTED)),
]


@pytest.mark.parametrize(
    ("outcome", "retries", "open_tasks", "verdict"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_story_verdict(outcome: Outcome, retries: int, open_tasks: tuple[str, ...], verdict: Verdict) -> None:
    tally = Tally(run_iterations=1, waits_in_row=1)
    judged = judge_story(
        outcome, tally, Limits(), retries=retries, max_retries=3, open_tasks=open_tasks, now=0, jitter=lambda: 0.0
    )
    assert judged == verdict


def test_no_retries_at_all() -> None:
    tally = Tally(run_iterations=1)
    judged = judge_story(FAILED, tally, Limits(), retries=0, max_retries=0, open_tasks=(), now=0, jitter=lambda: 0.0)
    assert isinstance(judged, Finish)
