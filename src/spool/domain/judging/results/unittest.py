"""Reads what `python -m unittest` prints, with -v or without; Django's runner prints the same.

Without -v it prints a dot per test and names only those that fail, so passing tests are counted, not named. Tests print
to the same log, so they can forge it.
"""

import re

from spool.domain.judging.results.declaration import Reader
from spool.domain.judging.results.model import Results, ResultStatus, ResultTally, excerpt, merge

_RAN = re.compile(r"^Ran (\d+) tests? in [\d.]+s\n\n(?:OK|FAILED|NO TESTS RAN)\b(.*)$", re.MULTILINE)
_RED = re.compile(r"(?:\(|, )(?:failures|errors)=(\d{1,9})")
_MARK = re.compile(r"^Ran \d+ tests? in [\d.]+s$", re.MULTILINE)
_TEST = re.compile(r"^ *(?P<method>\w+) \((?P<place>[\w.<>]+)\)(?: [\[(].*[\])])?(?: \.\.\. (?P<rest>.*))?$")
_STATUS = re.compile(r"(?P<word>ok|FAIL|ERROR|skipped (?P<why>['\"].*['\"])|expected failure|unexpected success)$")
_SECTION = re.compile(
    r"^={70}\n(?:FAIL|ERROR|UNEXPECTED SUCCESS): (.*)\n(?:(?!-{70}$).*\n)?(?:-{70}\n((?:(?!={70}$|-{70}$).*\n)*))?",
    re.MULTILINE,
)
_WORDS = {
    "ok": ResultStatus.PASSED,
    "FAIL": ResultStatus.FAILED,
    "ERROR": ResultStatus.FAILED,
    "unexpected success": ResultStatus.FAILED,
    "expected failure": ResultStatus.SKIPPED,
}


class _UnittestRun:
    """The tests of one run."""

    def __init__(self) -> None:
        self.tests: dict[str, tuple[ResultStatus, str, bool]] = {}
        self.uncounted: set[str] = set()
        self.waiting = ""

    def line(self, line: str) -> None:
        """Read a line of the verbose list; a docstring or output may stand between a test and its result."""
        while found := _TEST.match(line):  # before Python 3.11, a test whose subtest failed does not end its line
            self.waiting = _id(found)
            line = found["rest"] or ""
        if self.waiting and (status := _STATUS.search(line)):
            word = status["word"]
            known = (_WORDS.get(word, ResultStatus.SKIPPED), (status["why"] or "")[1:-1], word == "expected failure")
            if self.waiting not in self.tests or known[0] is ResultStatus.FAILED:
                self.tests[self.waiting] = known
            self.waiting = ""

    def failure(self, title: str, text: str) -> None:
        """Read a failure's own section, the only place that names it without -v."""
        found = _TEST.match(title)
        name, detail = _id(found) if found else title, excerpt(text, tail=True)
        if title.startswith(("setUp", "tearDown")):  # of a class or module: a failure, but no test
            self.uncounted.add(name)
        if not self.tests.get(name, (None, "", False))[1]:  # the first of several subtests
            self.tests[name] = (ResultStatus.FAILED, detail, False)


def read_log(text: str) -> Results | None:
    """Return the tests of every run; text after the last run's end, if it names tests, is a run that broke off."""
    found = []
    start = 0
    for end in _RAN.finditer(text):
        red = sum(int(count) for count in _RED.findall(end[2]))
        found.append(_read(text[start : end.start()], int(end[1][:9]), red))
        start = end.end()
    rest = _read(text[start:], None, 0)
    return merge([*found, rest] if rest.tests or not found else found)


def _read(text: str, ran: int | None, red: int) -> Results:
    """Read one run; `red` failures are announced at its end, and each has a section of its own."""
    seen = _UnittestRun()
    text = f"\n{text}"  # with -q, nothing stands before the first section
    listed, separator, _ = text.partition("\n" + "=" * 70 + "\n")
    for line in listed.split("\n"):
        seen.line(line)
    names_all = bool(seen.tests)  # without -v, only those that fail have names, even if all do
    sections = list(_SECTION.finditer(text[len(listed) :])) if separator else []
    for section in sections:
        seen.failure(section[1], section[2] or "")
    tally = ResultTally()
    for name, (status, detail, expected) in seen.tests.items():
        tally.add(name, status, excerpt(detail, tail=True), expected_failure=expected)
    unnamed = max(0, (ran or 0) - len(seen.tests.keys() - seen.uncounted))
    complete = ran is not None and len(sections) >= red
    return tally.results("unittest", complete=complete, names_all=names_all and not unnamed, unnamed=unnamed)


def _id(found: re.Match[str]) -> str:
    place, method = found["place"], found["method"]
    # Python 3.11 added the method to the place. A class or module that fails in its setUp has none.
    return place if place.endswith(f".{method}") or method.startswith(("setUp", "tearDown")) else f"{place}.{method}"


READER = Reader(name="unittest", mark=_MARK, read_log=read_log)
