"""The corpus of true and false promises, one row for every public report we know, however the output is cut."""

import random
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.corpus.cases import Case, Played, load, play

CASES = load()
SHORT = [case for case in CASES if not case.is_long]
LONG = [case for case in CASES if case.is_long]
STREAMS = [case for case in SHORT if case.harness == "claude" and case.raw().startswith((b'{"type"', b'\n{"type"'))]
EVERY_OFFSET = 200
"""Outputs up to this many bytes are cut at every offset, longer ones at some, and so are the many single sentences."""


def cut(data: bytes, *points: int) -> list[bytes]:
    places = sorted({0, *points, len(data)})
    return [data[start:end] for start, end in pairwise(places)] or [b""]


def chunks(data: bytes, size: int) -> Iterable[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


BY_WORDING = {"sentences", "plain-promises", "plain-mentions", "languages", "markdown", "failed"}
"""Files whose rows test what a sentence means. The rule reads place and punctuation, so some are decided otherwise."""
WORDING_ACCEPTED, WORDING_REFUSED = 2, 143
"""How many of them are: mentions that count, and promises that do not. In doubt a promise does not count."""


def wrong(case: Case, played: Played) -> str:
    """Say what is wrong with a reading, or nothing."""
    kept, vetoes = played.reading.kept, played.reading.vetoes
    if played.verdict != case.expect:
        return f"read as {played.verdict}, expected {case.expect}: {[veto.why for veto in vetoes]}"
    if case.expect == "failed" and kept is not None:
        return wrong_reason(case, kept.reason)
    if case.expect == "none" and case.veto and not vetoes:
        return "the veto was not recorded"
    return ""


def wrong_reason(case: Case, reason: str) -> str:
    if case.reason_limit:
        fine = reason.startswith(case.reason_starts) and len(reason) <= case.reason_limit
        return "" if fine else f"a reason of {len(reason)} characters: {reason[:60]!r}"
    return "" if reason == case.reason else f"the reason is {reason!r}, expected {case.reason!r}"


@pytest.mark.parametrize("case", [case for case in CASES if case.file not in BY_WORDING], ids=lambda case: case.id)
def test_a_case_is_read_as_expected(case: Case) -> None:
    assert not wrong(case, play(case, [case.raw()]))


@pytest.mark.parametrize("case", SHORT, ids=lambda case: case.id)
def test_a_cut_anywhere_changes_nothing(case: Case) -> None:
    data = case.raw()
    offsets = list(range(1, len(data)))
    if len(data) > EVERY_OFFSET or case.file == "sentences":
        offsets = random.Random(case.id).sample(offsets, 10)
    whole = play(case, [data])
    assert play(case, chunks(data, 1)) == whole
    for offset in offsets:
        assert play(case, cut(data, offset)) == whole, f"cut at {offset}"


@pytest.mark.parametrize("case", LONG, ids=lambda case: case.id)
def test_chunks_of_a_long_output_change_nothing(case: Case) -> None:
    assert not wrong(case, play(case, chunks(case.raw(), 10_007)))


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_any_split_with_any_pauses_gives_the_same_reading(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(SHORT))
    raw = case.raw()
    points = data.draw(st.lists(st.integers(0, len(raw)), max_size=12))
    pauses = data.draw(st.sets(st.integers(0, 12)))
    assert play(case, cut(raw, *points), pauses) == play(case, [raw])


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_any_prefix_crashes_nothing(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(SHORT))
    raw = case.raw()
    play(case, cut(raw[: data.draw(st.integers(0, len(raw)))], data.draw(st.integers(0, len(raw)))))


@given(st.binary(max_size=400), st.sampled_from(["command", "claude", "opencode"]))
@settings(max_examples=150, deadline=None)
def test_any_bytes_crash_nothing(raw: bytes, harness: str) -> None:
    case = Case(name="", source="", harness=harness, expect="none")  # type: ignore[arg-type]
    play(case, [raw, b'\n{"type":"assistant","message":' + raw + b"}\n", raw])


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_a_claude_stream_that_was_cut_is_never_believed(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(STREAMS))
    raw = case.raw().rstrip()
    assert play(case, [raw[: data.draw(st.integers(0, len(raw) - 1))]]).verdict == "none"


def test_what_only_wording_decides_is_refused_rather_than_believed() -> None:
    accepts: list[str] = []
    rejects: list[str] = []
    for case in SHORT:
        found = play(case, [case.raw()]).verdict
        if case.file in BY_WORDING and found != case.expect:
            (accepts if case.expect == "none" else rejects).append(case.id)
    assert (len(accepts), len(rejects)) == (WORDING_ACCEPTED, WORDING_REFUSED)


def test_the_corpus_is_large_and_every_row_says_what_it_stands_for() -> None:
    assert len(CASES) >= 400
    assert all(case.source.endswith(".") for case in CASES)
    assert len({case.id for case in CASES}) == len(CASES)
