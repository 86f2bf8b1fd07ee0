"""The names of new changes."""

import pytest

from spool.domain.change.new_names import next_named, next_numbered, slug_of


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Add login", "add-login"),
        ("  Größe & Fuß: ändern!  ", "groe-fu-andern"),
        ("在庫", "change"),
        ("../../etc/passwd", "etc-passwd"),
        ("word " * 30, "word-word-word-word-word-word-word-word-word-word"),
        ("x" * 80, "x" * 50),
    ],
)
def test_slugs(title: str, slug: str) -> None:
    assert slug_of(title) == slug


@pytest.mark.parametrize(
    ("ids", "modules", "module", "expected"),
    [
        ([], [], None, "001-01_a"),
        (["001-01_x", "003-02_y", "add-auth"], [], None, "004-01_a"),
        (["001-01_x"], ["007_auth", "notes"], None, "008-01_a"),
        (["002-01_x", "2-7"], [], 2, "002-08_a"),
        ([], [], 2, "002-01_a"),
        (["999-01_x"], [], None, "1000-01_a"),
    ],
)
def test_numbers(ids: list[str], modules: list[str], module: int | None, expected: str) -> None:
    assert next_numbered("a", ids, modules, module) == expected


def test_names_that_are_taken() -> None:
    assert next_named("a", ["a", "a-2", "b"]) == "a-3"
