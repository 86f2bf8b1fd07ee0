"""Reads the Test Anything Protocol, versions 12 to 14, as node, Perl's prove -v and many others print it.

What a test prints stands in the same stream, so it can be forged, unless the runner quotes it as node does.
"""

import re

from spool.domain.judging.results.declaration import Reader
from spool.domain.judging.results.model import Results, ResultStatus, excerpt, merge
from spool.domain.judging.results.nested_tests import Leaf, NestedTests

_MARK = re.compile(r"^TAP version 1[234]$|^(?:not )?ok \d+(?: |$)", re.MULTILINE)
_LINE = re.compile(r"^(?P<indent>(?:    )*)(?P<not>not )?ok\b(?: +(?P<number>\d+))?(?: *- )? *(?P<rest>.*)$")
_PLAN = re.compile(r"^((?:    )*)1\.\.(\d+)(?: *#.*)?$")
_DIRECTIVE = re.compile(r"(?<!\\) *# *(?P<word>skip|todo)\b\S*(?P<why>.*)$", re.IGNORECASE)
_FILE = re.compile(r"^(\S+) \.\.+ ?$")
_BAIL = re.compile(r"^ *Bail out!")
_YAML = re.compile(r"^ +---$")
_YAML_END = re.compile(r"^ +\.\.\.$")


class _TapStream:
    """One stream from its first test to its plan."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._tree = NestedTests()
        self._seen: dict[int, int] = {}
        self._plans: dict[int, int] = {}
        self._wrong = False
        self._last: Leaf | None = None
        self._yaml: list[str] | None = None

    @property
    def planned(self) -> bool:
        """Whether the outermost plan and a test have been seen."""
        return 0 in self._plans and bool(self._seen.get(0))

    def line(self, line: str) -> None:
        """Read one line."""
        if self._yaml is not None:
            self._in_yaml(line)
        elif line == "ok" and self._file:  # prove's own, after the last test of a file
            return
        elif found := _LINE.match(line):
            self._test(len(found["indent"]) // 4, found)
        elif found := _PLAN.match(line):
            level = len(found[1]) // 4
            self._wrong = self._wrong or level in self._plans
            self._plans[level] = int(found[2][:9])
        elif _YAML.match(line) and self._last:
            self._yaml = []
        elif _BAIL.match(line):
            self._wrong = True

    def _in_yaml(self, line: str) -> None:
        if _YAML_END.match(line) and self._last and self._yaml is not None:
            if self._last.status is not ResultStatus.PASSED and not self._last.detail:
                self._last.detail = excerpt("\n".join(one.strip() for one in self._yaml[:200]))
            self._yaml = None
        elif self._yaml is not None:
            self._yaml.append(line)

    def _test(self, level: int, found: re.Match[str]) -> None:
        directive = _DIRECTIVE.search(found["rest"])
        name = (found["rest"][: directive.start()] if directive else found["rest"]).replace("\\#", "#").strip()
        passed = not found["not"]
        status = ResultStatus.SKIPPED if directive else ResultStatus.PASSED if passed else ResultStatus.FAILED
        todo = bool(directive and directive["word"].lower() == "todo" and not passed)
        for deeper in [one for one in {*self._seen, *self._plans} if one > level]:
            self._wrong = self._wrong or self._seen.pop(deeper, 0) != self._plans.pop(deeper, 0)
        self._seen[level] = self._seen.get(level, 0) + 1
        whole = " > ".join(filter(None, [self._file if level == 0 else "", name or found["number"] or ""]))
        self._last = Leaf(whole, status, directive["why"].strip() if directive else "", expected=todo)
        self._tree.add(level, self._last)

    def results(self) -> Results:
        """Return what was read; without a plan that matches, it is not complete."""
        tally = self._tree.tally()
        matched = 0 in self._plans and self._plans[0] == self._seen.get(0, 0) and self._yaml is None
        return tally.results("tap", complete=matched and not self._wrong and not self._tree.unfinished)


def read_log(text: str) -> Results | None:
    """Return the tests of every stream in the log; a version, a file of prove's, or test 1 begins a new one."""
    documents = [_TapStream("")]
    for line in text.split("\n"):
        header = _FILE.match(line)
        found = None if header else _LINE.match(line)
        again = found and not found["indent"] and found["number"] == "1" and documents[-1].planned
        if header or again or line.startswith("TAP version "):
            documents.append(_TapStream(header[1] if header else ""))
        documents[-1].line(line)
    found_any = [one for one in (document.results() for document in documents) if one.tests or one.complete]
    return merge(found_any) if found_any else None


READER = Reader(name="tap", mark=_MARK, read_log=read_log)
