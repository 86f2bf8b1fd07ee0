"""Cleaning what an agent printed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spool.domain.text.plain_text import Cleaner, capped, clean, one_line, quoted, with_reason

TABLE = [
    ("plain", "hello\n\tworld", "hello\n\tworld"),
    ("colour", "\x1b[1;31mred\x1b[0m", "red"),
    ("colon colour", "\x1b[38:2::1:2:3mx", "x"),
    ("title with bell", "\x1b]0;title\x07x", "x"),
    ("title with string terminator", "\x1b]2;title\x1b\\x", "x"),
    ("clipboard", "\x1b]52;c;aGVsbG8=\x07x", "x"),
    ("endless title", "\x1b]0;title\nx", "\nx"),
    ("device control", "\x1bPq#0\x1b\\x", "x"),
    ("alternate screen", "\x1b[?1049hx\x1b[?1049l", "x"),
    ("character set", "\x1b(Bx\x1b=", "x"),
    ("nul and bell", "a\x00b\x07c\x7f", "abc"),
    ("CRLF", "a\r\nb\r\r\nc", "a\nb\nc"),
    ("progress", "1%\r2%\rdone", "1%\n2%\ndone"),
    ("8-bit codes lose only themselves", "a\x9b31mb\x9dc", "a31mbc"),
    ("bidirectional", "a\u202eb\u2066c\u2069", "abc"),
    ("lone escape", "a\x1b", "a"),
    ("other scripts stay", "señal ✓ 完了 👩‍💻", "señal ✓ 完了 👩‍💻"),
]
NOISE = st.text(st.sampled_from("ab\n\r\t\x00\x07\x1b[]0;31mP\\(B?\x9b\x9d\u202e"), max_size=60)


@pytest.mark.parametrize(("name", "raw", "expected"), TABLE, ids=[row[0] for row in TABLE])
def test_cleaning(name: str, raw: str, expected: str) -> None:
    assert clean(raw) == expected


@pytest.mark.parametrize(
    "around", ["x" * 5_000, "ü" * 5_000, "x" * 4_000 + "→", ""], ids=["ASCII", "Latin", "one", "none"]
)
@pytest.mark.parametrize(("name", "raw", "expected"), TABLE, ids=[row[0] for row in TABLE])
def test_long_text_is_cleaned_like_short(name: str, raw: str, expected: str, around: str) -> None:
    assert clean(f"{around}\n{raw}\n{around}") == f"{around}\n{expected}\n{around}"


def test_every_control_is_found_in_a_long_text() -> None:
    for number in (*range(32), *range(0x7F, 0xA0)):
        if chr(number) not in "\t\n":
            assert chr(number) not in clean(f"{'x' * 3_000}{chr(number)}{'y' * 3_000}"), number


@given(NOISE)
def test_nothing_that_acts_on_a_terminal_is_left(raw: str) -> None:
    assert not set(clean(raw)) & set("\x00\x07\x1b\r\x9b\x9d\u202e")


@given(NOISE)
def test_cleaning_twice_is_cleaning_once(raw: str) -> None:
    assert clean(clean(raw)) == clean(raw)


@given(st.lists(NOISE, max_size=6))
def test_pieces_are_cleaned_as_if_they_came_whole(pieces: list[str]) -> None:
    cleaner = Cleaner()
    cleaned = "".join([*(cleaner.feed(piece) for piece in pieces), cleaner.finish()])
    assert cleaned == clean("".join(pieces))


def test_a_title_that_never_ends_is_not_held_for_ever() -> None:
    cleaner = Cleaner()
    assert cleaner.feed("\x1b]0;") == ""
    for _ in range(100):
        cleaner.feed("x" * 10_000)
    assert cleaner.feed("\nhello").endswith("\nhello")


def test_one_line() -> None:
    assert one_line(" a\n\n b\tc ") == "a b c"
    assert one_line("x" * 300, 10) == "x" * 9 + "…"
    assert one_line("\x1b[31mred\x1b[0m", 3) == "red"
    assert one_line("x" * 10_000_000, 5) == "xxxx…"


def test_capped_says_how_much_is_missing() -> None:
    assert capped("abc", 3) == "abc"
    assert capped("abcdef", 3) == "abc… (3 more characters)"
    assert capped("\x1b[31mabc", 3) == "abc"


def test_every_quoted_line_is_marked() -> None:
    assert quoted("a\nb") == "> a\n> b"
    assert quoted("") == "> "
    assert all(line.startswith("> ") for line in quoted("a\u2028b\x0cc\r\nd").splitlines())


@pytest.mark.parametrize(
    ("state", "reason", "expected"),
    [
        ("stuck", "no progress", "stuck: no progress"),
        ("stopped", "stopped by Ctrl-C", "stopped by Ctrl-C"),
        ("stopped", "its runner died", "stopped: its runner died"),
        ("done", "", "done"),
    ],
)
def test_a_state_is_not_repeated_by_its_reason(state: str, reason: str, expected: str) -> None:
    assert with_reason(state, reason) == expected
