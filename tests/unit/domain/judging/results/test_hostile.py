"""Broken and hostile input is data: it gives incomplete results, None, or ResultsError."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spool.domain.judging.results import junit, readers
from spool.domain.judging.results.model import LIMIT, ResultStatus
from spool.errors import ResultsError
from tests.unit.domain.judging.results.recorded import FOLDER, NAMES, log, read, recorded

SEVERAL_RUNS = {"cargo-1.95.0-no-fail-fast.txt", "prove-3.44-v.txt"}
"""A log that is cut between two runs holds one that is complete."""
LAUGHS = b"""<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]><testsuite><testcase name="&c;"/></testsuite>"""


def cuts(name: str, data: bytes) -> list[int]:
    """Return every offset; for a long log those around line ends, as a line without its end is not read."""
    every = range(len(data.rstrip()))
    if name.endswith(".txt") and len(data) > 1_000:
        return [cut for cut in every if b"\n" in data[max(0, cut - 2) : cut + 2]]
    return list(every)


def test_a_line_without_its_end_is_not_read() -> None:
    whole = b"TAP version 13\nok 1 - a\n"
    line = b"ok 2 - b # SKIP"
    assert {read("x.txt", whole + line[:cut]) for cut in range(len(line) + 1)} == {read("x.txt", whole)}


@pytest.mark.parametrize("name", NAMES)
def test_output_cut_at_any_offset_is_never_more_than_the_whole(name: str) -> None:
    data = (FOLDER / name).read_bytes()
    whole = recorded(name)
    for cut in cuts(name, data):
        results = read(name, data[:cut])
        if results and results.complete and name not in SEVERAL_RUNS:
            assert [test.id for test in results.tests] == [test.id for test in whole.tests], cut
            assert results.total == whole.total, cut


@pytest.mark.parametrize("name", NAMES)
@given(st.data())
@settings(deadline=None)
def test_damaged_output_raises_nothing_else(name: str, data: st.DataObject) -> None:
    raw = (FOLDER / name).read_bytes()
    at = data.draw(st.integers(0, len(raw)))
    damage = data.draw(st.binary(max_size=20))
    skip = data.draw(st.integers(0, 200))
    try:
        results = read(name, raw[:at] + damage + raw[at + skip :])
    except ResultsError:
        return
    for test in results.tests if results else ():
        test.id.encode()
        assert test.id
        assert "\n" not in test.id
        assert "\x1b" not in test.id + test.detail


@given(st.binary(max_size=500))
@settings(deadline=None)
def test_random_bytes_are_no_results(data: bytes) -> None:
    for name in ("x.xml", "pytest-1.jsonl", "node-1.jsonl", "x.txt"):
        results = read(name, data)
        assert results is None or not results.complete


@pytest.mark.parametrize("data", [LAUGHS, b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><testsuite/>'])
def test_entities_and_document_types_are_refused(data: bytes) -> None:
    with pytest.raises(ResultsError, match="document type or entities"):
        junit.read(data)


@pytest.mark.parametrize("name", ["x.xml", "pytest-1.jsonl", "x.txt"])
def test_more_than_the_limit_is_refused_plainly(name: str) -> None:
    with pytest.raises(ResultsError, match="64 MiB are too large; up to 64 MiB"):
        read(name, bytes(LIMIT + 1))


@pytest.mark.parametrize("data", [b"", b"\n", b"hello\n", b"<html></html>", b"{}"])
def test_what_is_not_junit_xml_is_none(data: bytes) -> None:
    assert junit.read(data) is None


@pytest.mark.parametrize("data", [b"", b"all is well\n", b"3 passed in 0.01s\n"])
def test_a_log_without_results_is_none(data: bytes) -> None:
    assert readers.read({}, data) is None


def test_a_suite_without_tests_is_complete_and_empty() -> None:
    results = junit.read(b'<testsuites><testsuite name="pytest" tests="0"/></testsuites>')
    assert results is not None
    assert (results.tests, results.complete) == ((), True)


def test_a_suite_with_fewer_tests_than_it_announces_is_not_complete() -> None:
    results = junit.read(b'<testsuite tests="2"><testcase name="a"/></testsuite>')
    assert results is not None
    assert not results.complete


def test_ids_are_cleaned_and_numbered() -> None:
    case = '<testcase classname="c" name="a&#10;b&#27;[31m\u202e&#xD;c"/>'
    results = junit.read(f"<testsuite>{case * 3}</testsuite>".encode())
    assert results is not None
    assert [test.id for test in results.tests] == ["c::a b[31m c", "c::a b[31m c #2", "c::a b[31m c #3"]


def test_a_number_in_an_id_does_not_collide_with_a_repeated_test() -> None:
    cases = "".join(f'<testcase name="{name}"/>' for name in ("a", "a #2", "a", "a"))
    results = junit.read(f"<testsuite>{cases}</testsuite>".encode())
    assert results is not None
    assert len({test.id for test in results.tests}) == 4


@pytest.mark.parametrize("text", [b"\xff\xfe\x80", b"\x1b[31mred\x1b[0m", b"&#x1b;[31mred", b"\x00\x01"])
def test_output_that_xml_does_not_allow_costs_no_results(text: bytes) -> None:
    xml = (
        b'<testsuite><testcase name="a"><failure>' + text + b'why</failure></testcase><testcase name="b"/></testsuite>'
    )
    results = junit.read(xml)
    assert results is not None
    assert results.complete
    assert [test.status for test in results.tests] == [ResultStatus.FAILED, ResultStatus.PASSED]
    assert "why" in results.tests[0].detail


def test_deeply_nested_suites_are_read() -> None:
    depth = 20_000
    results = junit.read(b"<testsuite>" * depth + b'<testcase name="a" classname="b"/>' + b"</testsuite>" * depth)
    assert results is not None
    assert [test.id for test in results.tests] == ["b::a"]


def test_deeply_nested_tap_is_read() -> None:
    lines = [f"{' ' * 4 * level}ok 1 - level{level}\n{' ' * 4 * level}1..1" for level in reversed(range(200))]
    assert log("TAP version 14\n" + "\n".join(lines)).tests


def test_half_a_surrogate_pair_in_json_is_replaced() -> None:
    line = json.dumps({"id": "a::\ud800b", "when": "call", "outcome": "failed", "text": "\udfff"})
    results = readers.read({"pytest-1.jsonl": line.encode()}, b"")
    assert results is None or all(test.id.encode() for test in results.tests)


def test_a_line_of_many_brackets_is_read_in_linear_time() -> None:
    line = "test_a (m.T)" + " (a) [b]" * 5_000 + "!\n"
    assert log(line + "Ran 1 test in 0.1s\n\nOK\n").total == 1
