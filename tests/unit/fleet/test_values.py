"""Who may continue a change, and what things are called in a fleet."""

import subprocess
from datetime import UTC, datetime

import msgspec
import pytest

from spool.domain.loop.verdict import Status
from spool.fleet.values import (
    ChangeStage,
    SnapshotMark,
    TakeOver,
    Token,
    claim_of,
    claimed,
    fleet_id,
    has_ref,
    holds_secret,
    is_account,
    is_fleet_id,
    lease_left,
    protocol_of,
    queue_of,
    ref_of,
    repository_id,
    stage_of,
)

MARK = SnapshotMark(change="add-auth", remote="ssh://git@example.com/app.git", base="abc")
OLD, MINE, NEXT = Token(100, 1, 1), Token(100, 1, 2), Token(200, 1, 1)


@pytest.mark.parametrize(
    ("stage", "theirs", "mine", "expected"),
    [
        (ChangeStage.SUBMITTED, Token(0, 0, 0), OLD, TakeOver.TAKE),
        (ChangeStage.RUNNING, OLD, MINE, TakeOver.TAKE),
        (ChangeStage.RUNNING, MINE, OLD, TakeOver.REFUSED),  # a task that lay in a frozen host
        (ChangeStage.RUNNING, MINE, MINE, TakeOver.REFUSED),
        (ChangeStage.WAITING, OLD, Token(100, 2, 1), TakeOver.TAKE),  # the next turn starts its attempts anew
        (ChangeStage.WAITING, Token(100, 2, 1), Token(100, 1, 7), TakeOver.REFUSED),
        (ChangeStage.DONE, OLD, MINE, TakeOver.FINISHED),
        (ChangeStage.DONE, OLD, NEXT, TakeOver.FINISHED),
        (ChangeStage.STUCK, OLD, MINE, TakeOver.FINISHED),  # the completion was lost, the end was not
        (ChangeStage.STOPPED, OLD, NEXT, TakeOver.TAKE),  # a person said retry
        (ChangeStage.STUCK, NEXT, OLD, TakeOver.REFUSED),
    ],
)
def test_a_claim(stage: ChangeStage, theirs: Token, mine: Token, expected: TakeOver) -> None:
    assert claim_of(msgspec.structs.replace(MARK, stage=stage, token=theirs), mine) is expected


def test_a_claimed_change_is_running_and_has_forgotten_its_end() -> None:
    ended = msgspec.structs.replace(MARK, stage=ChangeStage.STUCK, reason="no progress", exit_code=4, epoch=2)
    taken = claimed(ended, NEXT, "host/1")
    assert (taken.stage, taken.epoch, taken.holder, taken.token) == (ChangeStage.RUNNING, 3, "host/1", NEXT)
    assert (taken.reason, taken.exit_code, taken.retry_at) == ("", None, None)
    assert msgspec.json.decode(msgspec.json.encode(taken), type=SnapshotMark) == taken


def test_a_stage_follows_from_the_status_and_whether_the_run_is_to_be_started_again() -> None:
    later = datetime(2026, 1, 1, tzinfo=UTC)
    assert stage_of(Status.STOPPED, later) is ChangeStage.WAITING
    assert [stage_of(status, None) for status in Status] == [
        ChangeStage.RUNNING,
        ChangeStage.DONE,
        ChangeStage.STUCK,
        ChangeStage.STOPPED,
    ]


def test_a_lease_ends_before_the_server_gives_the_change_away() -> None:
    assert lease_left(0, 60) == 48
    assert lease_left(47, 60) > 0 > lease_left(49, 60)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.com/a/app.git", False),
        ("https://me@example.com/a/app.git", False),
        ("ssh://git@example.com:22/a/app.git", False),
        ("git@example.com:a/app.git", False),
        ("/home/me/a-folder/0123456789abcdefghij0123456789abcdefghij0123.git", False),
        ("https://me:word@example.com/app.git", True),
        ("https://oauth2:@example.com/app.git", False),
        ("https://ghp_0123456789abcdefghij@example.com/app.git", True),
        ("https://glpat-0123456789abcdef@example.com/app.git", True),
        ("https://example.com/app.git?private_token=0123456789", True),
        ("https::https://me:word@example.com/app.git", True),
        ("https://me%3Aword@example.com/app.git", True),
        ("https://[me:word@example.com/app.git", True),
        ("https://[example.com/app.git", False),
    ],
)
def test_a_url_with_a_password_or_a_token_does_not_go_through_the_queue(url: str, expected: bool) -> None:
    assert holds_secret(url) is expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [("001-01_a.b-c", True), ("a..b", False), ("a.lock", False), ("a.", False), (".a", False), ("a.locks", True)],
)
def test_not_every_change_can_have_a_ref(change: str, expected: bool) -> None:
    assert has_ref(change) is expected
    asked = subprocess.run(["git", "check-ref-format", ref_of(change)], check=False)
    assert (asked.returncode == 0) is expected


def test_repositories_of_the_same_name_differ_in_the_fleet() -> None:
    one, other = repository_id("https://example.com/a/app.git"), repository_id("git@example.com:b/app")
    assert one != other
    assert one.startswith("app-")
    assert repository_id("https://example.com/a/app") == one
    assert fleet_id("https://example.com/a/app.git", "add-auth") == f"{one}/add-auth"


@pytest.mark.parametrize(
    ("name", "expected"),
    [("app-3f9a/add-auth", True), ("add-auth", False), ("docs/PLAN.md", False), ("20260101T000000-abcdef", False)],
)
def test_only_an_id_of_the_fleet_means_a_change_there(name: str, expected: bool) -> None:
    assert is_fleet_id(name) is expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("team", True), ("me+2@example.com", True), ("", False), ("a b", False), ("a/b", False), ("a\n", False)],
)
def test_not_every_word_names_an_account(name: str, expected: bool) -> None:
    assert is_account(name) is expected


def test_a_queue_is_named_after_the_protocol_and_the_account() -> None:
    assert (queue_of(), queue_of("team")) == ("spool-fleet-1", "spool-fleet-1/team")
    assert [protocol_of(queue) for queue in (queue_of("team"), "spool-fleet-2", "others")] == [1, 2, 0]
