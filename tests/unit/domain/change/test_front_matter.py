"""The front matter of a proposal."""

import pytest

from spool.domain.change.front_matter import names_of, split
from spool.errors import ChangeError


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("# Title\n\ndepends_on: a\n", ()),
        ("---\ndepends_on: a\n---\n# Title\n", ("a",)),
        ("---\ndepends_on: [a, 'b', \"c\"]\n---\n", ("a", "b", "c")),
        ("---\ndepends_on:\n  - a\n  - 002-01_b  # first\n---\n", ("a", "002-01_b")),
        ("---\ndepends_on:\n- a\n- a\n---\n", ("a",)),
        ("---\r\ndepends_on: [a]\r\n---\r\n", ("a",)),
        ("---\ntitle: x\nother:\n  - z\ndepends_on: a\nmore: y\n---\n", ("a",)),
        ("---\nowner:\n  depends_on: a\n---\n", ()),
        ("---\ndepends_on: []\n---\n", ()),
        ("---\ndepends_on:\n---\n", ()),
        ("---\ndepends_on: a\n", ()),
        ("\n---\ndepends_on: a\n---\n", ()),
        ("", ()),
    ],
)
def test_the_names_under_a_key(text: str, names: tuple[str, ...]) -> None:
    assert names_of(text, "depends_on") == names


@pytest.mark.parametrize("value", ["[a, b", "a b", "{a: b}", "[a, , b]", "[[a]]"])
def test_what_is_not_understood_is_an_error(value: str) -> None:
    with pytest.raises(ChangeError, match="depends_on"):
        names_of(f"---\ndepends_on: {value}\n---\n", "depends_on")


def test_the_text_after_it() -> None:
    assert split("---\na: b\n---\n# Title\ntext") == (["a: b"], "# Title\ntext")
    assert split("# Title\n---\n") == ([], "# Title\n---\n")
