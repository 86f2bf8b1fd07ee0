"""When a loop in a worktree is done, stuck or goes on: one table."""

import pytest

from spool.domain.agent.stream import Usage
from spool.domain.judging.gates.gate import GateResult, Proof
from spool.domain.loop.budget import Limit
from spool.domain.loop.criteria import (
    Criterion,
    ProgressTraces,
    bounds_for,
    check_command,
    check_promise,
    check_tasks,
    default_criterion,
    exit_reason,
    is_progress,
)
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
    judge_prompt,
)

QUIET = Outcome(kind=OutcomeKind.NO_PROMISE, exit_code=0)
PROMISED = Outcome(kind=OutcomeKind.COMPLETED, exit_code=0)
CRASHED = Outcome(kind=OutcomeKind.HARNESS_ERROR, reason="exited with code 7", exit_code=7)
LIMITED = Outcome(kind=OutcomeKind.RATE_LIMITED, reason="busy", retry_after_s=10)
STOPPED = Outcome(kind=OutcomeKind.INTERRUPTED, reason="stopped on request")
DONE = GateResult(name="tasks", passed=True, why="2 of 2 boxes are ticked")
OPEN = GateResult(name="tasks", passed=False, why="1 of 2 boxes are ticked")
IS_DONE = Finish(Status.DONE, DONE.why, ExitCode.COMPLETE)
USED_UP = Finish(Status.STUCK, "the limit of 10 iterations is reached", ExitCode.EXHAUSTED)

TABLE: list[tuple[str, Outcome, GateResult, int, int, Usage, Verdict]] = [
    ("all boxes are ticked", QUIET, DONE, 3, 0, Usage(), IS_DONE),
    ("done by a crashing agent", CRASHED, DONE, 3, 0, Usage(), IS_DONE),
    ("done in the last iteration", QUIET, DONE, 10, 0, Usage(), IS_DONE),
    ("a promise that nobody asked for", PROMISED, OPEN, 1, 0, Usage(), Continue()),
    ("boxes are open", QUIET, OPEN, 1, 0, Usage(), Continue()),
    ("iterations used up", QUIET, OPEN, 10, 0, Usage(), USED_UP),
    ("used up, with a promise", PROMISED, OPEN, 10, 0, Usage(), USED_UP),
    ("no progress, not yet", QUIET, OPEN, 4, 2, Usage(), Continue()),
    (
        "no progress",
        QUIET,
        OPEN,
        4,
        3,
        Usage(),
        Finish(Status.STUCK, "no progress in 3 iterations in a row", ExitCode.STUCK, Limit.STALL),
    ),
    (
        "a stop wins over done",
        STOPPED,
        DONE,
        1,
        0,
        Usage(),
        Finish(Status.STOPPED, STOPPED.reason, ExitCode.INTERRUPTED),
    ),
    ("a rate limit waits", LIMITED, DONE, 1, 9, Usage(), Wait(10.0, "busy")),
    (
        "tokens used up",
        QUIET,
        OPEN,
        1,
        0,
        Usage(tokens_in=900, tokens_out=100),
        Finish(Status.STUCK, "the budget of 1000 tokens is used up", ExitCode.STUCK, Limit.TOKENS),
    ),
    (
        "money used up",
        QUIET,
        OPEN,
        1,
        0,
        Usage(cost_usd=5.0),
        Finish(Status.STUCK, "the budget of $5.00 is used up", ExitCode.STUCK, Limit.COST),
    ),
]


@pytest.mark.parametrize(
    ("outcome", "check", "iterations", "idle", "used", "expected"),
    [row[1:] for row in TABLE],
    ids=[row[0] for row in TABLE],
)
def test_what_follows_an_iteration(
    outcome: Outcome, check: GateResult, iterations: int, idle: int, used: Usage, expected: Verdict
) -> None:
    limits = Limits(max_iterations=10, stall=3, max_tokens=1_000, max_cost_usd=5.0)
    tally = Tally(run_iterations=iterations, waits_in_row=1)
    done = check.why if check.passed else ""
    found = judge_prompt(
        outcome, tally, limits, used=used, done=done, certain=check.passed, idle=idle, now=0.0, jitter=lambda: 0.0
    )
    assert found == expected


def test_a_manual_loop_goes_on_for_ever() -> None:
    limits = Limits(max_iterations=None, error_threshold=0)
    for outcome in (QUIET, PROMISED, CRASHED):
        tally = Tally(run_iterations=1_000, errors_in_row=500)
        found = judge_prompt(outcome, tally, limits, done="", idle=900, now=0.0, jitter=lambda: 0.0)
        assert isinstance(found, Continue)
        assert found.pause_s == 60.0


@pytest.mark.parametrize(
    ("tasks", "done", "why"),
    [
        (None, False, "no tasks.md"),
        ("", False, "tasks.md has no boxes"),
        ("Just prose.", False, "tasks.md has no boxes"),
        ("- [ ] one\n- [x] two", False, "1 of 2 boxes are ticked"),
        ("- [x] one\n- [X] two", True, "2 of 2 boxes are ticked"),
        ("- [x] one\n- [?] ask\n- [-] no\n- [~] no", True, "1 of 4 boxes are ticked (1 left to a person, 2 shelved)"),
        ("- [x] one\n- [?] ask\n- [ ] two", False, "1 of 3 boxes are ticked (1 left to a person)"),
        ("- [?] ask", False, "0 of 1 boxes are ticked (1 left to a person)"),
        ("```\n- [ ] an example\n```\n- [x] one", True, "1 of 1 boxes are ticked"),
    ],
)
def test_tasks_are_done_when_no_box_is_open(tasks: str | None, done: bool, why: str) -> None:
    proof = Proof.WORD if done else None
    assert check_tasks(tasks) == GateResult(name="tasks", passed=done, why=why, proof=proof)


def test_the_other_checks() -> None:
    assert check_promise(PROMISED).passed
    assert not check_promise(QUIET).passed
    assert check_command("make test", 0).passed
    assert check_command("make test", 2) == GateResult(
        name="command", passed=False, why="'make test' exited with code 2"
    )
    assert check_command("make test", None) == GateResult(name="command", passed=False, why="'make test' timed out")


@pytest.mark.parametrize(
    ("seen", "progress"),
    [
        (ProgressTraces(), False),
        (ProgressTraces(head_moved=True), True),
        (ProgressTraces(changed_files=1), True),
        (ProgressTraces(changed_files=None), True),
        (ProgressTraces(ticked=1), True),
        (ProgressTraces(ticked=-1), True),
    ],
)
def test_what_counts_as_progress(seen: ProgressTraces, progress: bool) -> None:
    assert is_progress(seen) is progress


@pytest.mark.parametrize(
    ("criterion", "given", "configured", "stall", "expected"),
    [
        (Criterion.TASKS, None, None, None, (10, 3)),
        (Criterion.TASKS, 4, 20, 0, (4, 0)),
        (Criterion.TASKS, None, 20, None, (20, 3)),
        (Criterion.TASKS, None, 0, None, (None, 3)),
        (Criterion.MANUAL, None, 20, None, (None, 0)),
        (Criterion.MANUAL, 5, None, 2, (5, 2)),
    ],
)
def test_bounds(
    criterion: Criterion, given: int | None, configured: int | None, stall: int | None, expected: tuple[int | None, int]
) -> None:
    found = bounds_for(criterion, max_iterations=given, configured=configured, stall=stall, stall_default=3)
    assert found == expected


def test_words_and_defaults() -> None:
    assert [exit_reason(one) for one in (QUIET, PROMISED, CRASHED, STOPPED)] == [
        "finished",
        "finished",
        "harness error",
        "interrupted",
    ]
    assert default_criterion(None) is Criterion.MANUAL
    assert default_criterion("") is Criterion.TASKS
