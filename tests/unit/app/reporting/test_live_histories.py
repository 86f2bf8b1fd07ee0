"""Accounts that follow a journal, and the pages of one."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from spool.app.loops.following import journal_page
from spool.app.reporting.live_histories import Accounts
from spool.app.reporting.loop_reports import account_loop
from spool.domain.agent.stream import Message
from spool.domain.loop.summary import LoopSummary
from spool.domain.loop.verdict import Status
from spool.host.state.journal import LONGEST, PAGE
from tests.support.scene import Scene, half_way, make_scene, said


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return make_scene(tmp_path)


def over(loop: LoopSummary, status: Status) -> LoopSummary:
    return msgspec.structs.replace(loop, status=status)


def test_what_is_folded_bit_by_bit_is_what_a_report_reads_at_once(scene: Scene) -> None:
    accounts = Accounts()
    for event in half_way():
        scene.write(event)
        accounts.of(scene.running)
    scene.finish()
    loop = over(scene.loop, Status.DONE)
    assert accounts.of(loop).account.history == account_loop(loop).history


def test_a_killed_run_is_counted_once_however_often_it_is_asked_for(scene: Scene) -> None:
    accounts, loop = Accounts(), over(scene.loop, Status.STOPPED)
    scene.write(*half_way())
    expected = account_loop(loop).history
    assert [accounts.of(loop).account.history.receipt for _ in range(3)] == [expected.receipt] * 3
    scene.write(*half_way())  # it is continued
    assert accounts.of(over(scene.loop, Status.RUNNING)).account.history.receipt.iterations == 4


def test_a_new_journal_starts_a_new_account(scene: Scene) -> None:
    accounts = Accounts()
    scene.write(*half_way())
    assert accounts.of(scene.running).account.history.receipt.iterations == 2
    scene.folder.journal.rename(scene.folder.path / "old.jsonl")
    assert accounts.of(scene.running).account.gone
    scene.write(*half_way()[:5])
    assert accounts.of(scene.running).account.history.receipt.iterations == 0
    assert list(accounts.of(scene.running).starts) == [1]


def test_pages_meet_without_gap_or_overlap(scene: Scene) -> None:
    scene.write(*half_way(), *said("2", 3, *(Message(text=f"{number} " + "x" * 500) for number in range(1_000))))
    page, found = journal_page(scene.loop), list[int]()
    assert page is not None
    assert page.stop == page.size
    while page is not None and page.rows:
        assert page.stop - page.start <= PAGE
        found = [row.start for row in page.rows] + found
        page = journal_page(scene.loop, before=page.start) if page.start else None
    forward, offset = list[int](), 0
    while (page := journal_page(scene.loop, at=offset)) is not None and page.rows:
        forward += [row.start for row in page.rows]
        offset = page.stop
    assert found == forward
    assert len(found) == len(half_way()) + 1_000


def test_an_event_longer_than_a_page_is_read_and_one_beyond_all_bounds_is_passed(scene: Scene) -> None:
    scene.write(*said("2", 3, Message(text="a" * (3 * PAGE)), Message(text="last")))
    with scene.folder.journal.open("ab") as file:
        file.write(b"x" * (LONGEST + 10) + b"\n")
    scene.write(*said("2", 3, Message(text="after it")))
    offset, seen = 0, 0
    while (page := journal_page(scene.loop, at=offset)) is not None and page.stop > offset:
        offset, seen = page.stop, seen + len(page.rows)
    assert seen == 3


def test_a_place_that_is_none_has_no_events(scene: Scene) -> None:
    assert journal_page(scene.loop) is None
    scene.write(*half_way())
    for place in (-1, 1 << 40):
        page = journal_page(scene.loop, at=place)
        assert page is not None
        assert page.rows == ()
    middle = journal_page(scene.loop, at=7)
    assert middle is not None
    assert len(middle.rows) == len(half_way()) - 1
