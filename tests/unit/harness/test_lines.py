"""Cutting output into lines, and long JSON lines down to size."""

import json
import tracemalloc
from collections.abc import Iterable, Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spool.harness import lines as module
from spool.harness.lines import WHOLE_LINE, JsonShrinker, LineCutter, OutputLine, mended

TEXT = b'one\n{"two": 2}\n\n{"three": "\\"x\\\\"}\nfour'
WHOLE = [
    OutputLine(b"one", True),
    OutputLine(b'{"two": 2}', True),
    OutputLine(b"", True),
    OutputLine(b'{"three": "\\"x\\\\"}', True),
]


def lines(*chunks: bytes, json: bool = True) -> list[OutputLine]:
    cutter = LineCutter(json=json)
    return [*(line for chunk in chunks for line in cutter.feed(chunk)), *cutter.finish()]


def shrink(*chunks: bytes) -> bytes:
    shrinker = JsonShrinker()
    for chunk in chunks:
        shrinker.feed(chunk)
    return shrinker.finish()


def in_chunks(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


@pytest.mark.parametrize("cut", range(len(TEXT) + 1))
def test_a_cut_anywhere_gives_the_same_lines(cut: int) -> None:
    assert lines(TEXT[:cut], TEXT[cut:]) == [*WHOLE, OutputLine(b"four", True)]


def test_byte_by_byte_gives_the_same_lines() -> None:
    assert lines(*in_chunks(TEXT, 1)) == [*WHOLE, OutputLine(b"four", True)]


def test_nothing_gives_no_line() -> None:
    assert lines() == lines(b"") == []


def test_plain_lines_come_together() -> None:
    assert lines(b"a\nb\nc", b"d\n", json=False) == [OutputLine(b"a\nb", True), OutputLine(b"cd", True)]


def test_a_long_plain_line_comes_in_pieces() -> None:
    pieces = lines(*in_chunks(b"x" * 1_000_000 + b"\n", 50_000))
    assert b"".join(piece.data for piece in pieces) == b"x" * 1_000_000
    assert [piece.ended for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    assert not any(piece.whole for piece in pieces)


def test_what_follows_in_a_long_plain_line_is_no_event() -> None:
    pieces = lines(b"x" * 100_000, b'{"type": "x"}\n')
    assert pieces[-1] == OutputLine(b'{"type": "x"}', ended=True, whole=False)


def test_a_pause_gives_text_but_no_json() -> None:
    cutter = LineCutter()
    assert list(cutter.feed(b"no newline ye")) == []
    assert list(cutter.pending_text()) == [OutputLine(b"no newline ye", ended=False, whole=False)]
    assert list(cutter.pending_text()) == []
    assert list(cutter.feed(b't\n{"half": ')) == [OutputLine(b"t", ended=True, whole=False)]
    assert list(cutter.pending_text()) == []
    assert list(cutter.feed(b"1}\n")) == [OutputLine(b'{"half": 1}', ended=True)]


def test_after_a_pause_a_brace_begins_no_event() -> None:
    cutter = LineCutter()
    list(cutter.feed(b"thinking "))
    list(cutter.pending_text())
    assert list(cutter.feed(b'{"type": "x"}\n')) == [OutputLine(b'{"type": "x"}', ended=True, whole=False)]


@given(st.lists(st.binary(max_size=30), max_size=8))
def test_no_byte_is_lost(chunks: list[bytes]) -> None:
    text = b"".join(line.data + b"\n" * line.ended for line in lines(*chunks))
    whole = b"".join(chunks)
    assert text in (whole, whole + b"\n")


ESCAPES = st.text(st.sampled_from('ab"\\\n\t/é✓👍\u2028\x00{}[]:,'), max_size=120)


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_KEEP", 16)


@pytest.mark.usefixtures("_small")
class TestShrinker:
    """With limits so small that every string is long."""

    @given(ESCAPES, ESCAPES, st.booleans(), st.data())
    def test_any_split_gives_the_same_json(self, one: str, two: str, ascii_only: bool, data: st.DataObject) -> None:
        raw = json.dumps({one: [two, 1, None], "k": {"x": one + two}}, ensure_ascii=ascii_only).encode()
        points = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=6)))
        places = [0, *points, len(raw)]
        shrunk = shrink(raw)
        assert shrink(*(raw[a:b] for a, b in pairwise(places))) == shrunk
        json.loads(shrunk)

    @given(st.text(st.sampled_from('abc"\\\n✓👍'), min_size=100, max_size=200))
    def test_the_ends_of_a_long_string_stay(self, text: str) -> None:
        raw = json.dumps({"text": text, "short": "kept"}).encode()
        shrunk = json.loads(shrink(raw))
        head, left_out, tail = shrunk["text"].split(" … ")
        assert shrunk["short"] == "kept"
        assert text.startswith(head.rstrip("\ufffd"))
        assert text.endswith(tail[11:])  # half an escape may stand at its beginning
        assert left_out.endswith("bytes left out")

    @pytest.mark.parametrize("shift", range(14))
    def test_an_escape_at_the_seam_leaves_valid_json(self, shift: int) -> None:
        for letter in ("\\ud83d\\ude00", "\\u00e9", "\\\\", '\\"', "é", "👍"):
            raw = ('{"t":"' + "x" * shift + letter * 40 + '"}').encode()
            assert "bytes left out" in json.loads(shrink(raw))["t"]

    def test_bytes_that_are_no_text_do_not_hide_the_end(self) -> None:
        raw = b'{"t":"' + b"\xff\\ud83d" * 40 + b"<the end>" + b'"}'
        assert json.loads(shrink(raw))["t"].endswith("<the end>")

    def test_a_backslash_at_the_end_of_a_chunk(self) -> None:
        raw = b'{"t":"' + b'\\\\\\"' * 30 + b'","u":"v"}'
        for size in (1, 2, 3, 5):
            assert json.loads(shrink(*in_chunks(raw, size)))["u"] == "v"


@pytest.mark.parametrize(
    ("name", "raw", "expected"),
    [
        ("nothing to mend", rb'{"a":"\ud83d\ude00 \\ud83d"}', "😀 \\ud83d"),
        ("the first half", rb'{"a":"x\ud83d y"}', "x\ufffd y"),
        ("the second half", rb'{"a":"\ude00"}', "\ufffd"),
        ("two first halves", rb'{"a":"\ud83d\ud83d\ude00"}', "\ufffd😀"),
        ("invalid UTF-8", b'{"a":"\xff\xc3"}', "\ufffd\ufffd"),
        ("raw control characters", b'{"a":"x\x01\ty"}', "x  y"),
    ],
)
def test_mending(name: str, raw: bytes, expected: str) -> None:
    assert json.loads(mended(raw)) == {"a": expected}


def fifty_megabytes() -> Iterable[bytes]:
    yield b'{"type":"text","part":{"text":"'
    for _ in range(800):
        yield b'a long answer, \\"quoted\\", \\u00e9\\n' + b"with much text \\n" * 3_600
    yield b'<promise>COMPLETE</promise>"}}\n'


def fifty_megabytes_of_short_strings() -> Iterable[bytes]:
    yield b'{"type":"user","lines":['
    for _ in range(800):
        yield b'"a short line",' + (b'"' + b"a line " * 100 + b'",') * 85
    yield b'"end"]}\n'


def test_a_json_line_of_fifty_megabytes_needs_little_memory() -> None:
    found, peak = peak_of(fifty_megabytes())
    text = json.loads(found[0].data)["part"]["text"]
    assert text.startswith('a long answer, "quoted", é\n')
    assert text.endswith("<promise>COMPLETE</promise>")
    assert peak < 2.5 * WHOLE_LINE


def test_a_json_line_of_fifty_megabytes_of_short_strings_needs_little_memory() -> None:
    found, peak = peak_of(fifty_megabytes_of_short_strings())
    assert len(found) == 1
    assert len(found[0].data) == WHOLE_LINE
    assert peak < 4 * WHOLE_LINE


def peak_of(chunks: Iterable[bytes]) -> tuple[list[OutputLine], int]:
    cutter = LineCutter()
    tracemalloc.start()
    found = [line for chunk in chunks for line in cutter.feed(chunk)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return found, peak
