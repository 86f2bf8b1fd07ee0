"""Reads what Rust's libtest prints under `cargo test`.

libtest holds back what a test prints, but not with `--nocapture`, nor what a child process prints. Those can forge
lines; one that adds a test makes the results incomplete.
"""

import re

from spool.domain.judging.results.declaration import Reader
from spool.domain.judging.results.model import Results, ResultStatus, ResultTally, excerpt

_TARGET = re.compile(r"^ +Running .*?\((?:.*/)?(?P<binary>[^/)]+?)(?:-[0-9a-f]{16})?\)$|^ +Doc-tests (?P<docs>\S+)$")
_BEGIN = re.compile(r"^running (\d+) tests?$", re.MULTILINE)
_TEST = re.compile(r"^test (?P<name>.+?)(?: - should panic)? \.\.\. (?P<status>ok|FAILED|ignored)(?:, (?P<why>.*))?$")
_OUTPUT = re.compile(r"^---- (.+) stdout ----$")
_END = re.compile(r"^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored; ")
_STOPPED = "error: test failed, to rerun pass "
_ALL_RAN = re.compile(r"^error: \d+ targets? failed:$")
_STATUS = {"ok": ResultStatus.PASSED, "FAILED": ResultStatus.FAILED, "ignored": ResultStatus.SKIPPED}


class _CargoLog:
    """Follows the lines of one or more test binaries."""

    def __init__(self) -> None:
        self.tally = ResultTally()
        self._whole = True
        self._stopped = False
        self._target = ""
        self._expected: int | None = None
        self._tests: dict[str, tuple[ResultStatus, str]] = {}
        self._details: dict[str, list[str]] = {}
        self._output: list[str] | None = None

    @property
    def complete(self) -> bool:
        """Whether every binary ran to its end."""
        return self._whole and not self._stopped

    def line(self, line: str) -> None:
        """Read one line."""
        if self._expected is None:
            self._between(line)
        elif match := _TEST.match(line) if self._output is None else None:
            self._tests[match["name"]] = (_STATUS[match["status"]], match["why"] or "")
        elif match := _OUTPUT.match(line):
            self._keep(match[1])
        elif match := _END.match(line):
            self._close(sum(int(number[:9]) for number in match.groups()))
        elif line == "failures:":
            self._output = []
        elif self._output is not None:
            self._output.append(line)

    def finish(self) -> None:
        """End the log; a binary that did not end is not complete."""
        if self._expected is not None:
            self._close(-1)

    def _between(self, line: str) -> None:
        if match := _BEGIN.match(line):
            self._expected = int(match[1][:9])
        elif match := _TARGET.match(line):
            self._target = match["binary"] or match["docs"]
        elif line.startswith(_STOPPED):  # unless --no-fail-fast, the targets after this one did not run
            self._stopped = True
        elif _ALL_RAN.match(line):
            self._stopped = False

    def _keep(self, name: str) -> None:
        self._output = []
        if name in self._tests:
            self._details[name] = self._output

    def _close(self, counted: int) -> None:
        self._whole = self._whole and counted == len(self._tests) == self._expected
        for name, (status, why) in self._tests.items():
            detail = excerpt("\n".join(self._details.get(name, [why])))
            self.tally.add(f"{self._target}::{name}" if self._target else name, status, detail)
        self._expected, self._output = None, None
        self._tests, self._details = {}, {}


def read_log(text: str) -> Results | None:
    """Return the tests of every binary; a run that stopped at the first failing binary is not complete."""
    log = _CargoLog()
    for line in text.split("\n"):
        log.line(line)
    log.finish()
    return log.tally.results("cargo", complete=log.complete)


READER = Reader(name="cargo", mark=_BEGIN, read_log=read_log)
