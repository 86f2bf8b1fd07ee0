"""The results of a test run, as values."""

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import ClassVar

import msgspec

from spool.domain.text.plain_text import clean, one_line
from spool.errors import ResultsError

LIMIT = 64 << 20
"""Bytes of a results file or log that are read; more is refused."""
_ID = 500
_LINES = 15
_CHARACTERS = 2_000
_UNSTABLE = (
    (re.compile(r" *# *(?:time|duration_ms|duration)[= ][\d.]+ ?\w*"), ""),
    (re.compile(r"(?: \(| in | took )\d+(?:\.\d+)? ?(?:ms|[µu]s|s|sec|seconds?)\)?$"), ""),
    (re.compile(r"(?:/private)?(?:/tmp|/var/tmp|/var/folders)/[^\s\]\"',;)]*"), "(temporary)"),
    (re.compile(r"\b0x[0-9a-fA-F]{6,}"), "0x…"),
    (re.compile(r"\b(localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]):\d{4,5}\b"), r"\1:…"),
    (re.compile(r" [(\[]\d+ ?(?:/|of) ?\d+[)\]]"), ""),
)
"""Parts of an id that differ from run to run: times, temporary paths, addresses, ports and counters."""


class ResultStatus(StrEnum):
    """A test's result."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


class Test(msgspec.Struct, frozen=True, omit_defaults=True):
    """One test."""

    __test__: ClassVar[bool] = False
    """Not a test class of pytest's."""

    id: str
    status: ResultStatus
    detail: str = ""
    """Why it failed or was skipped."""
    expected_failure: bool = False
    """Skipped because its failure is expected: xfail, or a TODO that fails."""


class Results(msgspec.Struct, frozen=True, omit_defaults=True):
    """The tests of one or more runs."""

    tests: tuple[Test, ...] = ()
    complete: bool = False
    """Every run that was seen reached its own end mark, with every test that it announced."""
    names_all: bool = True
    """False if the runner names only the tests that fail."""
    unnamed: int = 0
    """Tests that the runner counted and did not name."""
    packages: int = 0
    """Packages whose tests passed, where the runner neither names nor counts those."""
    readers: tuple[str, ...] = ()
    """The names of the readers that these results come from."""

    @property
    def failing(self) -> tuple[Test, ...]:
        """Tests that failed."""
        return self._with(ResultStatus.FAILED)

    @property
    def passed(self) -> tuple[Test, ...]:
        """Tests that passed."""
        return self._with(ResultStatus.PASSED)

    @property
    def skipped(self) -> tuple[Test, ...]:
        """Tests that were skipped, or failed as expected."""
        return self._with(ResultStatus.SKIPPED)

    @property
    def total(self) -> int:
        """The number of tests, named or not."""
        return len(self.tests) + self.unnamed

    @property
    def ran(self) -> bool:
        """Whether any test ran."""
        return bool(self.total or self.packages)

    def _with(self, status: ResultStatus) -> tuple[Test, ...]:
        return tuple(test for test in self.tests if test.status is status)


class ResultTally:
    """Collects tests: cleans their ids and numbers those that occur again (`id #2`)."""

    def __init__(self) -> None:
        self._tests: dict[str, Test] = {}
        self._times: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._tests)

    def add(self, name: str, status: ResultStatus, detail: str = "", *, expected_failure: bool = False) -> None:
        """Add a test; its detail is cut by the caller, who knows which end of it matters."""
        base = unique = _stable(printable(one_line(name, _ID))) or "(no name)"
        while unique in self._tests:
            self._times[base] = self._times.get(base, 1) + 1
            unique = f"{base} #{self._times[base]}"
        self._tests[unique] = Test(id=unique, status=status, detail=detail, expected_failure=expected_failure)

    def results(self, reader: str, *, complete: bool, names_all: bool = True, unnamed: int = 0) -> Results:
        """Return what was collected."""
        tests = tuple(self._tests.values())
        return Results(tests=tests, complete=complete, names_all=names_all, unnamed=unnamed, readers=(reader,))


def _stable(name: str) -> str:
    for pattern, put in _UNSTABLE:
        name = pattern.sub(put, name)
    return name


def without_folder(results: Results, folder: str) -> Results:
    """Return results whose ids do not hold the absolute path of the tree in which the tests ran."""
    tests = (msgspec.structs.replace(test, id=test.id.replace(f"{folder}/", "")) for test in results.tests)
    return msgspec.structs.replace(results, tests=tuple(tests))


def merge(found: Iterable[Results]) -> Results:
    """Return the tests of several runs as one; a test that ran in two of them is there twice."""
    runs = tuple(found)
    tally = ResultTally()
    for test in (test for run in runs for test in run.tests):
        tally.add(test.id, test.status, test.detail, expected_failure=test.expected_failure)
    return Results(
        tests=tally.results("", complete=True).tests,
        complete=bool(runs) and all(run.complete for run in runs),
        names_all=all(run.names_all for run in runs),
        unnamed=sum(run.unnamed for run in runs),
        packages=sum(run.packages for run in runs),
        readers=tuple(dict.fromkeys(name for run in runs for name in run.readers)),
    )


def excerpt(text: str, *, tail: bool = False) -> str:
    """Return the first lines of foreign text, or its last, cleaned."""
    head = text[-_CHARACTERS * 10 :] if tail else text[: _CHARACTERS * 10]
    lines = [line.rstrip() for line in printable(clean(head)).strip("\n").split("\n")]
    kept = "\n".join(lines[-_LINES:] if tail else lines[:_LINES]).strip("\n")
    return kept[-_CHARACTERS:] if tail else kept[:_CHARACTERS]


def printable(text: str) -> str:
    """Return text that UTF-8 can encode: JSON may hold half of a surrogate pair."""
    return text.encode("utf-8", "replace").decode("utf-8")


def decoded(data: bytes) -> str:
    """Return a log or file as clean text; invalid UTF-8 becomes U+FFFD."""
    check_size(data)
    return clean(data.decode("utf-8", "replace"))


def check_size(data: bytes) -> None:
    """Refuse what is too large to read."""
    if len(data) > LIMIT:
        raise ResultsError(f"test results of {len(data) >> 20} MiB are too large; up to {LIMIT >> 20} MiB are read")
