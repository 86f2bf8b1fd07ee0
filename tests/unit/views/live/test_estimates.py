"""The bar of a wait, and the closing block of a run."""

from spool.domain.account.progress import LoopProgress
from spool.domain.loop.events import RunEnded, Warned
from spool.domain.loop.verdict import Status
from spool.views.live.estimates import Estimate
from spool.views.live.narration import closing_lines
from tests.support.scene import finished, half_way


def test_a_short_wait_has_no_bar_and_an_unknown_one_neither() -> None:
    assert Estimate(expected_s=60).words(1.9) == ""
    assert Estimate().words(30) == ""


def test_a_wait_with_a_known_length() -> None:
    assert Estimate(expected_s=40).words(10) == "█████░░░░░░░░░░░░░░░ 25%, about 30s left"
    assert Estimate(expected_s=40).words(50).endswith("99%, longer than the last time")


def test_the_rate_so_far_is_the_estimate_of_the_rest() -> None:
    reached = Estimate(reached=0.2, reached_s=5)
    assert reached.share(10) == 0.4
    assert reached.words(10).endswith("40%, about 15s left")
    assert reached.share(1_000) == 0.99


def test_the_closing_block_lists_what_a_run_left() -> None:
    progress = LoopProgress("")
    failed = Warned(message="a hook refused it", about="commit")
    for event in [*half_way(), failed, *finished()]:
        progress.fold(event)
    over = RunEnded(status=Status.DONE, reason="all done", exit_code=0)
    lines = [told.text for told in closing_lines(progress, over)]
    assert lines == [
        "1 commit: 0123456789",
        "1 commit failed",
        "1 attempt discarded; get it back with:",
        "  spool checkpoint restore 001-01_add-auth.20260302-093412",
        "done: all done",
    ]
