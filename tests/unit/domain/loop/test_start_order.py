"""Which loops of a batch may start, and what their ends amount to."""

import pytest

from spool.domain.loop.start_order import Member, Stand, in_order, may_start, never_start, total_exit_code
from spool.errors import UsageError

W, R, D, F, S = Stand.WAITING, Stand.RUNNING, Stand.DONE, Stand.FAILED, Stand.SKIPPED


def members(**needs: str) -> list[Member]:
    return [Member(change=name, depends_on=tuple(words.split())) for name, words in needs.items()]


@pytest.mark.parametrize(
    ("needs", "order"),
    [
        ({"a": "", "b": "", "c": ""}, "a b c"),
        ({"c": "b", "b": "a", "a": ""}, "a b c"),
        ({"d": "b c", "b": "a", "c": "a", "a": ""}, "a b c d"),
        ({"x": "", "b": "a", "a": "x"}, "x a b"),
    ],
)
def test_each_comes_after_what_it_depends_on(needs: dict[str, str], order: str) -> None:
    assert [member.change for member in in_order(members(**needs))] == order.split()


@pytest.mark.parametrize(
    ("needs", "cycle"),
    [
        ({"a": "a"}, "a -> a"),
        ({"a": "b", "b": "a"}, "a -> b -> a"),
        ({"x": "a", "a": "b", "b": "c", "c": "a"}, "a -> b -> c -> a"),
    ],
)
def test_a_cycle_is_named(needs: dict[str, str], cycle: str) -> None:
    with pytest.raises(UsageError, match=cycle) as refused:
        in_order(members(**needs))
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("needs", "stands", "parallel", "ready"),
    [
        ({"a": "", "b": "", "c": ""}, (W, W, W), 2, "a b"),
        ({"a": "", "b": "", "c": ""}, (R, W, W), 2, "b"),
        ({"a": "", "b": "", "c": ""}, (R, R, W), 2, ""),
        ({"a": "", "b": "", "c": ""}, (R, R, R), 2, ""),
        ({"a": "", "b": "a"}, (W, W), 2, "a"),
        ({"a": "", "b": "a"}, (R, W), 2, ""),
        ({"a": "", "b": "a"}, (D, W), 2, "b"),
        ({"a": "", "b": "a"}, (F, W), 2, ""),
        ({"a": "", "b": "", "c": "a b"}, (D, R, W), 3, ""),
        ({"a": "", "b": "", "c": "a b"}, (D, D, W), 3, "c"),
    ],
)
def test_what_may_start_now(needs: dict[str, str], stands: tuple[Stand, ...], parallel: int, ready: str) -> None:
    batch = members(**needs)
    standing = dict(zip(needs, stands, strict=True))
    assert may_start(batch, standing, parallel=parallel) == ready.split()


def test_what_depends_on_a_loop_that_failed_never_starts() -> None:
    batch = members(a="", b="a", c="b", d="")
    assert never_start(batch, {"a": F, "b": W, "c": W, "d": W}) == {"b": "a", "c": "b"}
    assert never_start(batch, {"a": F, "b": S, "c": W, "d": R}) == {"c": "b"}
    assert never_start(batch, {"a": R, "b": W, "c": W, "d": R}) == {}


@pytest.mark.parametrize(
    ("codes", "code"),
    [
        ((), 0), ((0, 0), 0), ((0, 5), 5), ((5, 3), 3), ((3, 4), 4), ((4, 1), 1), ((1, 130), 130), ((0, 2), 1),
        ((0, -9), 1), ((130, 1, 4, 3, 5, 0), 130), ((5, 4, 3), 4), ((0, 6, 3), 6), ((6, 4), 4),
    ],
)  # fmt: skip
def test_the_exit_code_is_the_worst_that_occurred(codes: tuple[int, ...], code: int) -> None:
    assert total_exit_code(codes) == code
