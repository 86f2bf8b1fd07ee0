"""Reads what Vitest prints, with its default or its verbose reporter.

Vitest takes no reporter from the environment; node's preloaded script asks it for the verbose one. The default one
names only the tests that fail, and counts the others. What a test prints stands in the same log, so this can be forged.
"""

import re

from spool.domain.judging.results.declaration import Reader
from spool.domain.judging.results.model import Results, ResultStatus, ResultTally, excerpt, merge

_MARK = re.compile(r"^ *Test Files  .*\(\d+\)$", re.MULTILINE)
_END = re.compile(r"^ *Tests  .*\((\d+)\)$|^ *Tests  no tests$", re.MULTILINE)
_TEST = re.compile(r"^ +(?P<mark>[✓×↓□]) (?:\|\w+\| )?(?P<name>\S.*? > .*?)(?: +\d+ms)?$")
_FAILURE = re.compile(r"^ FAIL  (?:\|\w+\| )?(.*)$")
_RULE = "⎯⎯⎯⎯"
_STATUS = {"✓": ResultStatus.PASSED, "×": ResultStatus.FAILED}


def read_log(text: str) -> Results | None:
    """Return the tests of every run that printed its count."""
    found = []
    start = 0
    for end in _END.finditer(text):
        found.append(_read(text[start : end.start()], int((end[1] or "0")[:9])))
        start = end.end()
    return merge(found) if found else None


def _read(text: str, total: int) -> Results:
    listed: list[tuple[str, ResultStatus]] = []
    details: dict[str, list[str]] = {}
    detail: list[str] | None = None
    for line in text.split("\n"):
        if found := _FAILURE.match(line):
            detail = details.setdefault(found[1].partition(" [ ")[0], [])
        elif line.startswith(_RULE):
            detail = None
        elif detail is not None:
            detail.append(line)
        elif found := _TEST.match(line):
            listed.append((found["name"], _STATUS.get(found["mark"], ResultStatus.SKIPPED)))
    tally = ResultTally()
    for name, status in listed:
        tally.add(name, status, excerpt("\n".join(details.pop(name, []))) if status is ResultStatus.FAILED else "")
    for name, lines in details.items():
        tally.add(name, ResultStatus.FAILED, excerpt("\n".join(lines)))
    unnamed = max(0, total - len(tally))
    return tally.results("vitest", complete=True, names_all=not unnamed, unnamed=unnamed)


READER = Reader(name="vitest", mark=_MARK, read_log=read_log)
