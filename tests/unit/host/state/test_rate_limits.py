"""Rate limits that loops share."""

from pathlib import Path

import pytest

from spool.domain.loop.pacing import LONGEST_WAIT_S, RateLimit, shared_wait_s
from spool.host.state.rate_limits import RateLimitFiles

NOW = 1_000_000.0


def limit(*, ends_in: float, noted: float = 0.0) -> RateLimit:
    return RateLimit(until=NOW + ends_in, noted_at=NOW + noted, reason="too many requests")


@pytest.mark.parametrize(
    ("known", "seconds"),
    [
        (None, 0),
        (limit(ends_in=90), 90),
        (limit(ends_in=0.5), 0),
        (limit(ends_in=-10), 0),
        (limit(ends_in=90, noted=30), 90),
        (limit(ends_in=9_000, noted=3_600), 0),
        (limit(ends_in=9e9), LONGEST_WAIT_S),
        (RateLimit(until=float("nan"), noted_at=NOW), 0),
        (RateLimit(until=float("inf"), noted_at=NOW), LONGEST_WAIT_S),
    ],
)
def test_how_long_to_wait_for_a_limit_of_another_loop(known: RateLimit | None, seconds: float) -> None:
    assert shared_wait_s(known, now=NOW, jitter=lambda: 0.0) == pytest.approx(seconds)


def test_loops_that_waited_together_do_not_start_together() -> None:
    parts = iter((0.0, 0.5, 1.0))
    spread = [shared_wait_s(limit(ends_in=100), now=NOW, jitter=lambda: next(parts)) for _ in range(3)]
    assert spread == [100, 105, 110]


def test_a_limit_is_for_one_agent_and_a_later_end_stays(tmp_path: Path) -> None:
    files = RateLimitFiles(tmp_path / "limits")
    assert files.known("claude") is None
    files.note("claude", limit(ends_in=90))
    files.note("claude", limit(ends_in=30, noted=1))
    assert files.known("claude") == limit(ends_in=90)
    assert files.known("codex") is None
    files.note("claude", limit(ends_in=200, noted=2))
    assert files.known("claude") == limit(ends_in=200, noted=2)


def test_a_limit_from_a_clock_that_ran_ahead_is_replaced(tmp_path: Path) -> None:
    files = RateLimitFiles(tmp_path)
    files.note("claude", limit(ends_in=9e6, noted=9e6 - 60))
    files.note("claude", limit(ends_in=60))
    assert files.known("claude") == limit(ends_in=60)


@pytest.mark.parametrize("content", [b"", b"null", b"[]", b"{", b"\xff\x00", b'{"until": "x"}', b"[" * 100_000])
def test_garbage_is_no_limit(tmp_path: Path, content: bytes) -> None:
    files = RateLimitFiles(tmp_path)
    files.note("claude", limit(ends_in=90))
    (path,) = tmp_path.iterdir()
    path.write_bytes(content)
    assert files.known("claude") is None
    files.note("claude", limit(ends_in=90))
    assert files.known("claude") == limit(ends_in=90)


def test_any_name_of_an_agent_is_a_name_of_a_file(tmp_path: Path) -> None:
    files = RateLimitFiles(tmp_path)
    for name in ("../x", "a/b", "", "\udcff", "x" * 500):
        files.note(name, limit(ends_in=90))
        assert files.known(name) == limit(ends_in=90)
    assert len(list(tmp_path.iterdir())) == 5
