"""Reads `go test -json`, `go test -v`, and plain `go test`, which names only failing tests and packages.

A command that runs `go test` is asked for -v by GOFLAGS, together with what the person has set there. GOFLAGS=-json
would change what `go list` prints as well. A test can forge a result by printing, with -json as well: go makes its
events out of the printed lines. A name that was never announced as running is not believed.
"""

import re
from collections.abc import Mapping

import msgspec

from spool.decoders import decoder_of
from spool.domain.judging.results.declaration import Reader, ResultPlace
from spool.domain.judging.results.model import Results, ResultStatus, ResultTally, excerpt

_MARK = re.compile(
    r'^(?:ok  \t\S+|FAIL\t\S+|=== RUN   \S|--- FAIL: \S|\{"(?:Time|ImportPath)":"[^"]*","Action":")', re.MULTILINE
)
_RUN = re.compile(r"^=== RUN   (\S+)$")
_DONE = re.compile(r"--- (PASS|FAIL|SKIP): (\S+) \(\d+\.\d+s\)$")
_PACKAGE = re.compile(r"^(ok  |FAIL)\t(\S+)(?:\t| \[)")
_NO_TESTS = "[no tests to run]"
_COMMAND = re.compile(r"\bgo test\b(?!.* -(?:v|json)\b)")
_WORDS = {"pass": ResultStatus.PASSED, "fail": ResultStatus.FAILED, "skip": ResultStatus.SKIPPED}
_OUTPUT = 200
"""Lines kept of a test's output, until it is known whether it failed."""


class _GoEvent(msgspec.Struct, rename="pascal"):
    action: str = ""
    package: str = ""
    test: str = ""
    output: str = ""


class _Package:
    """The tests of one package so far."""

    def __init__(self) -> None:
        self.running: dict[str, list[str]] = {}
        self.done: dict[str, ResultStatus] = {}
        self.loose: list[str] = []
        self.ended = False

    def end(self, tally: ResultTally, name: str, status: ResultStatus) -> bool:
        """Add the package's tests; return whether all of them ran. One without a result is a failure.

        A package that fails without the line FAIL did not compile, or a panic ended it before its last test.
        """
        for test, output in self.running.items():
            result = self.done.get(test, ResultStatus.FAILED)
            tally.add(f"{name}.{test}", result, "" if result is ResultStatus.PASSED else excerpt("".join(output)))
        if status is ResultStatus.FAILED and ResultStatus.FAILED not in self.done.values():
            tally.add(name, status, excerpt("".join(self.loose), tail=True))
        return self.running.keys() <= self.done.keys() and (self.ended or status is not ResultStatus.FAILED)


class _GoLog:
    """Follows events and lines."""

    def __init__(self) -> None:
        self.tally = ResultTally()
        self.complete = True
        self.verbose = True
        self.packages = 0
        self._packages: dict[str, _Package] = {}
        self._test = ""

    def event(self, event: _GoEvent) -> None:
        """Read one event of -json."""
        package = self._packages.setdefault(event.package, _Package())
        if event.action == "run":
            package.running.setdefault(event.test, [])
        elif event.action == "output":
            self._keep(package, event.test, event.output)
        elif event.action in _WORDS and event.test:
            if event.test in package.running:
                package.done[event.test] = _WORDS[event.action]
        elif event.action in _WORDS:
            self._end(event.package, event.package, _WORDS[event.action])

    def line(self, line: str) -> None:
        """Read one line of plain output, which names its package only at the end."""
        package = self._packages.setdefault("", _Package())
        if match := _RUN.match(line):
            self._test = match[1]
            package.running.setdefault(self._test, [])
        elif match := _PACKAGE.match(line):
            if line.endswith(_NO_TESTS):
                return
            self._plain_end(package, match[2], ResultStatus.PASSED if match[1] == "ok  " else ResultStatus.FAILED)
        else:
            found = _DONE.search(line)
            if found and not package.running and found[1] == "FAIL":  # without -v
                self.verbose = False
            if found and not self.verbose and found[1] == "FAIL":
                package.running.setdefault(found[2], [])
                self._test = found[2]
            self._keep(package, self._test if self._test in package.running else "", line + "\n")

    def finish(self) -> None:
        """End the log; a package that did not end is not complete."""
        for name, package in self._packages.items():
            if package.running:
                self.complete = False
                package.end(self.tally, name, ResultStatus.SKIPPED)

    def _keep(self, package: _Package, test: str, output: str) -> None:
        found = _DONE.search(output.rstrip("\n"))
        if found and found[2] in package.running:
            package.done[found[2]] = _WORDS[found[1].lower()]
        package.ended = package.ended or output.rstrip("\n").endswith(("PASS", "FAIL"))
        kept = package.running.get(test, package.loose)
        if len(kept) < _OUTPUT and not output.startswith("=== "):
            kept.append(output)

    def _plain_end(self, package: _Package, name: str, status: ResultStatus) -> None:
        if not package.running and status is ResultStatus.PASSED:
            self.verbose = False
            self.packages += 1  # without -v a package that passed is all that is named
        self._end("", name, status)
        self._test = ""

    def _end(self, key: str, name: str, status: ResultStatus) -> None:
        whole = self._packages.pop(key, _Package()).end(self.tally, name, status)
        self.complete = self.complete and whole


def read_log(text: str) -> Results | None:
    """Return the tests as `package.Test/subtest`."""
    log = _GoLog()
    decoder = decoder_of(_GoEvent)
    for line in text.split("\n"):
        if line.startswith('{"') and '"Action":"' in line:
            try:
                log.event(decoder.decode(line))
            except msgspec.DecodeError:
                log.complete = False
        else:
            log.line(line)
    log.finish()
    found = log.tally.results("go", complete=log.complete, names_all=log.verbose)
    return msgspec.structs.replace(found, packages=log.packages)


def ask(place: ResultPlace, inherited: Mapping[str, str]) -> dict[str, str]:
    """Ask `go test` for the name of each test."""
    if not _COMMAND.search(place.command):
        return {}
    return {"GOFLAGS": " ".join(filter(None, [inherited.get("GOFLAGS", ""), "-v"]))}


READER = Reader(name="go", mark=_MARK, read_log=read_log, ask=ask)
