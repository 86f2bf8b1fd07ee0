"""The look is the one that docs/watching.md describes, and can be read."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spool.domain.account.progress import LoopProgress
from spool.domain.account.story_history import StoryMark, StoryStanding
from spool.domain.judging.gates.gate import Proof
from spool.domain.loop.events import Complete, RunEnded, StoryDone
from spool.domain.loop.plan_memory import PromptMemory
from spool.domain.loop.summary import LoopKind, LoopSummary, Runner
from spool.domain.loop.verdict import Status
from spool.views.live.narration import closing_lines, narrate
from spool.views.look import MARKS, PROOFS, STANDINGS, STATUSES, Role, loop_sign
from spool.views.report.style import PAGE

TEXT = (Path(__file__).parents[3] / "docs" / "watching.md").read_text()


def test_every_state_has_a_look() -> None:
    assert (set(MARKS), set(STANDINGS), set(STATUSES), set(PROOFS)) == (
        set(StoryMark),
        set(StoryStanding),
        set(Status),
        set(Proof),
    )


def ended(proof: Proof | None) -> LoopSummary:
    began = datetime(2026, 1, 1, tzinfo=UTC)
    return LoopSummary(
        run_id="20260101T000000-59678a",
        door=LoopKind.RUN,
        change="add-auth",
        status=Status.DONE,
        reason="all stories are complete",
        memory=PromptMemory(proof=proof),
        runner=Runner(pid=1, start_time="", boot_id="", host=""),
        started_at=began,
        updated_at=began,
    )


@pytest.mark.parametrize("proof", [None, Proof.WORD])
def test_a_loop_that_ended_on_the_agents_word_has_its_sign_and_colour_on_every_face(proof: Proof | None) -> None:
    assert loop_sign(ended(proof)) == STANDINGS[StoryStanding.WORD]
    told = narrate(StoryDone(story_id="1", title="Form", proof=proof), verbose=False)
    assert [(one.text, one.role) for one in told] == [("story 1 is complete on the agent's word: Form", Role.WARN)]
    progress = LoopProgress("")
    progress.fold(Complete(iterations=1, proof=proof))
    assert closing_lines(progress, RunEnded(status=Status.DONE, reason="all", exit_code=0))[-1].role is Role.WARN


def test_a_loop_that_was_checked_looks_done() -> None:
    assert loop_sign(ended(Proof.UNBROKEN)) == loop_sign(ended(Proof.PROVED)) == STATUSES[Status.DONE]


def test_the_page_lists_every_state_and_colour() -> None:
    for standing, (sign, role) in STANDINGS.items():
        assert f"| {standing} | {sign} | {role.name.lower()} |" in TEXT
    for role in Role:
        assert re.search(rf"\| {role.name.lower()} \|.*`{role.value.dark}` \| `{role.value.light}` \|", TEXT)


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("role", Role)
def test_every_colour_can_be_read_on_its_page(role: Role, theme: str) -> None:
    for ground in PAGE[theme][:2]:
        assert contrast(getattr(role.value, theme), ground) >= 4.5


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, as WCAG defines it."""
    darker, lighter = sorted(map(luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
