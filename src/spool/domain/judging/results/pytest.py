"""Reads what pytest reports through Spool's plugin, or else in JUnit XML.

The plugin writes a file per process with pytest's own ids, each test as it ends, and an end mark. It is found through
PYTHONPATH; a command that replaces PYTHONPATH, or PYTEST_DISABLE_PLUGIN_AUTOLOAD, leaves the XML that PYTEST_ADDOPTS
asks for. A second pytest overwrites that file, so the log is searched for the number of runs. Printing forges neither.
"""

import re
from collections.abc import Mapping
from shlex import quote

import msgspec

from spool.decoders import decoder_of
from spool.domain.judging.results import junit
from spool.domain.judging.results.declaration import Reader, ResultPlace
from spool.domain.judging.results.model import Results, ResultStatus, ResultTally, excerpt, merge

_XML = "pytest-junit.xml"
_WORDS = "passed|failed|errors?|skipped|xfailed|xpassed|deselected|warnings?|rerun|subtests passed"
_SUMMARY = re.compile(
    rf"^(?:=+ )?(?:no tests ran|\d+ (?:{_WORDS})(?:, \d+ (?:{_WORDS}))*) in \d+\.\d\ds(?: \([\d:]+\))?(?: =+)?$",
    re.MULTILINE,
)
_FINISHED = (0, 1, 5)
"""Exit codes of a run that was not interrupted: passed, failed, no tests."""


class _PytestLine(msgspec.Struct):
    id: str = ""
    when: str = ""
    outcome: str = ""
    text: str = ""
    xfail: bool = False
    end: int | None = None
    collected: int | None = None


class _PytestRun(msgspec.Struct):
    status: ResultStatus
    detail: str = ""
    expected: bool = False


def ask(place: ResultPlace, inherited: Mapping[str, str]) -> dict[str, str]:
    """Offer the plugin, and ask for XML in the format that names each test's file."""
    paths = [f"{place.reporters}/python", inherited.get("PYTHONPATH", "")]
    xml = f"--junitxml={quote(f'{place.scratch}/{_XML}')} -o junit_family=xunit1"
    return {
        "SPOOL_RESULTS": place.scratch,
        "PYTHONPATH": ":".join(filter(None, paths)),
        "PYTEST_ADDOPTS": " ".join(filter(None, [inherited.get("PYTEST_ADDOPTS", ""), xml])),
    }


def read_files(files: Mapping[str, bytes], log: str) -> Results | None:
    """Return the results of each run's file; a run without one makes them incomplete."""
    found = [_read(data) for name, data in files.items() if name.endswith(".jsonl")]
    if not found and _XML in files:
        found = [results] if (results := junit.read(files[_XML], "pytest")) else []
    if not found:
        return None
    merged = merge(found)
    return msgspec.structs.replace(merged, complete=merged.complete and len(_SUMMARY.findall(log)) <= len(found))


def _read(data: bytes) -> Results:
    decoder = decoder_of(_PytestLine)
    seen: dict[str, _PytestRun] = {}
    complete, lost = False, False
    for raw in data.split(b"\n"):
        try:
            line = decoder.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        if line.end is not None:
            ran = sum(1 for name in seen if "::" in name)
            complete = line.end in _FINISHED and data.endswith(b"\n") and (line.collected or 0) <= ran
        elif line.id and line.outcome in ("passed", "failed", "skipped"):
            seen[line.id] = _worse(seen.get(line.id), line)
            lost = lost or (line.when == "collect" and line.outcome == "failed")  # nobody knows that file's tests
    tally = ResultTally()
    for name, one in seen.items():
        tally.add(name, one.status, one.detail, expected_failure=one.expected)
    return tally.results("pytest", complete=complete and not lost)


def _worse(before: _PytestRun | None, line: _PytestLine) -> _PytestRun:
    """Return how a test stands after one more of its phases: setup, call, teardown."""
    detail = excerpt(line.text, tail=line.outcome == "failed")
    now = _PytestRun(ResultStatus(line.outcome), detail, expected=line.xfail and line.outcome == "skipped")
    if before is None or (before.status is not ResultStatus.FAILED and now.status is not ResultStatus.PASSED):
        return now
    return before


READER = Reader(name="pytest", ask=ask, read_files=read_files)
