"""Reads what Jest prints, with --verbose or without.

Jest takes no reporter from the environment; node's preloaded script asks it for --verbose. Without, it names only the
tests that fail, and counts the others.
A test's `console.log` is indented and named, but a child process can print any line, so this can be forged.
"""

import re

from spool.domain.judging.results.declaration import Reader
from spool.domain.judging.results.model import Results, ResultStatus, ResultTally, excerpt, merge

_END = re.compile(r"^Tests: +(?:\d+ [a-z ]+, )*(\d+) total$", re.MULTILINE)
_MARK = re.compile(r"^Test Suites: .*\d+ total$", re.MULTILINE)
_FILE = re.compile(r"^(?:PASS|FAIL) +(?:\[?\w[\w ]*\]? +)?(\S+\.\w+)(?: \([\d.]+ m?s\))?$")
_TEST = re.compile(r"^(?P<indent> {2,})(?P<mark>[✓√✕×○✎]) (?:(?:skipped|todo) )?(?P<name>.*?)(?: \([\d.]+ m?s\))?$")
_GROUP = re.compile(r"^( {2,})(\S.*)$")
_FAILURE = re.compile(r"^  ● (.*)$")
_SUMMARY = "Summary of all failing tests"
_BROKEN = "Test suite failed to run"
_STATUS = {"✓": ResultStatus.PASSED, "√": ResultStatus.PASSED, "✕": ResultStatus.FAILED, "×": ResultStatus.FAILED}


class _JestRun:
    """One run so far."""

    def __init__(self) -> None:
        self.tests: dict[str, ResultStatus] = {}
        self.details: dict[str, list[str]] = {}
        self._file = ""
        self._path: list[str] = []
        self._detail: list[str] | None = None

    def line(self, line: str) -> None:
        """Read one line."""
        if found := _FILE.match(line):
            self._file, self._path, self._detail = found[1].removeprefix("./"), [], None
        elif line.startswith("Test Suites: "):
            self._file, self._detail = "", None
        elif found := _FAILURE.match(line):
            self._fail(found[1])
        elif self._detail is not None:
            self._detail.append(line)
        elif self._file and (found := _TEST.match(line)):
            depth = len(found["indent"]) // 2 - 1
            self._add([*self._path[:depth], found["name"]], _STATUS.get(found["mark"], ResultStatus.SKIPPED))
        elif self._file and (found := _GROUP.match(line)):
            self._path[len(found[1]) // 2 - 1 :] = [found[2]]

    def _add(self, names: list[str], status: ResultStatus) -> str:
        name = whole = " > ".join([self._file, *names])
        for number in range(2, 1_000):
            if status is ResultStatus.FAILED or name not in self.tests:
                break
            name = f"{whole} #{number}"
        self.tests[name] = status
        return name

    def _fail(self, title: str) -> None:
        names = [] if title == _BROKEN else title.split(" › ")
        self._detail = []
        if self._file and (names or title == _BROKEN):
            self.details.setdefault(self._add(names, ResultStatus.FAILED), self._detail)


def read_log(text: str) -> Results | None:
    """Return the tests of every run that printed its count."""
    found = []
    start = 0
    for end in _END.finditer(text):
        found.append(_read(text[start : end.start()], int(end[1][:9])))
        start = end.end()
    return merge(found) if found else None


def _read(text: str, total: int) -> Results:
    run = _JestRun()
    for line in text.partition(_SUMMARY)[0].split("\n"):
        run.line(line)
    tally = ResultTally()
    for name, status in run.tests.items():
        tally.add(name, status, excerpt("\n".join(run.details.get(name, []))))
    unnamed = max(0, total - len(tally))
    return tally.results("jest", complete=True, names_all=not unnamed, unnamed=unnamed)


READER = Reader(name="jest", mark=_MARK, read_log=read_log)
