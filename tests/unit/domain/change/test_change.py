"""How a person names a change."""

import pytest

from spool.domain.change.change import check_id, module_of, resolve, same_module
from spool.errors import UsageError

IDS = ["002-01_add-ralph-loop", "002-02_add-status", "010-01_add-auth", "fix-login"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("002-01_add-ralph-loop", "002-01_add-ralph-loop"),
        ("2-1", "002-01_add-ralph-loop"),
        ("002-02", "002-02_add-status"),
        ("10-1", "010-01_add-auth"),
        ("add-auth", "010-01_add-auth"),
        ("add-s", "002-02_add-status"),
        ("010", "010-01_add-auth"),
        ("fix-login", "fix-login"),
        ("fix", "fix-login"),
    ],
)
def test_a_change_is_found(query: str, found: str) -> None:
    assert resolve(query, IDS) == found


def test_an_ambiguous_id_lists_the_candidates() -> None:
    with pytest.raises(UsageError, match="002-01_add-ralph-loop, 002-02_add-status"):
        resolve("002", IDS)


def test_an_unknown_id_lists_what_there_is() -> None:
    with pytest.raises(UsageError) as error:
        resolve("nothing", IDS)
    assert error.value.hint == f"active changes: {', '.join(sorted(IDS))}"


def test_an_exact_id_wins_over_longer_ones() -> None:
    assert resolve("add-auth", ["add-auth", "add-auth-tests"]) == "add-auth"


@pytest.mark.parametrize("bad", ["..", ".", "a/b", "", "a\0b", "a\nb", "-rf", "x" * 300, "a b", "../../etc", "é"])
def test_a_hostile_id_is_refused(bad: str) -> None:
    with pytest.raises(UsageError):
        check_id(bad)


def test_modules() -> None:
    assert module_of("002-01_add-ralph-loop") == "002"
    assert module_of("fix-login") is None
    assert same_module("2", "002")
    assert not same_module("2", "020")
