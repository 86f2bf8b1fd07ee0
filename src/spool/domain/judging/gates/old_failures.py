"""Decides which tests that were red before the work must turn green. Pure, with a table test.

A test that was red is a *target* or *old*. Targets refuse a claim while they are red; old failures are only named.
"""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

import msgspec

from spool.domain.judging.gates.deciding_files import is_test, names_test, test_file, test_is_in
from spool.domain.judging.results.model import Test

_ALL = re.compile(
    r"\b(?:make|get|let|bring|have|turn)\b[^.\n]{0,30}\b(?:all|every|each)\b[^.\n]{0,30}\btests?\b[^.\n]{0,20}"
    r"\b(?:pass|green|succeed)",
    re.IGNORECASE,
)
_GO = re.compile(r"(?P<package>.*?)\.(?:Test|Example|Fuzz|Benchmark)\w*(?:/.*)?")
_LAST_FRAMES = (
    re.compile(r'File "([^"\n]+)", line \d+'),
    re.compile(r"^(?:E\s+)?([\w./-]+\.pyx?):\d+: ", re.MULTILINE),
)
"""Python's traceback ends with the innermost frame; the others begin with it."""
_FIRST_FRAMES = (
    re.compile(r"\bat [^\n]*?\(?(?:file://)?([^\s():]+\.[cm]?[jt]sx?):\d+:\d+"),
    re.compile(r"panicked at (?:[^\n]*, )?([\w./-]+\.rs):\d+"),
    re.compile(r"^\s+([\w./-]+\.go):\d+", re.MULTILINE),
)
_FOREIGN = ("site-packages/", "dist-packages/", "node_modules/", "/usr/", "node:", "/rustc/")


class OldFailures(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about tests that were red before the work."""

    asked: str = ""
    """The text whose tests may not stay red."""
    final: bool = True
    """Whether the whole change is claimed; before that, only tests that the text names are targets."""
    changed: frozenset[str] = frozenset()
    """The files that the work changed."""
    uncommitted: frozenset[str] = frozenset()
    """The files that were not committed as they were when the work began: a person put them there for it."""
    known: tuple[str, ...] = ()
    """Ids and patterns of tests that a person expects to fail."""

    def expects(self, test: str) -> bool:
        """Whether a person expects a test to fail."""
        return any(test == one or fnmatchcase(test, one) or test.startswith(f"{one}::") for one in self.known)


def targets(red: Iterable[Test], fixed: frozenset[str], about: OldFailures) -> dict[str, str]:
    """Return those of the tests that were red and still are that must turn green, each with the reason."""
    places = {place for name in fixed if (place := place_of(name))}
    found = {}
    for test in red:
        if not about.expects(test.id) and (why := _reason(test, places, about)):
            found[test.id] = why
    return found


def _reason(test: Test, places: set[str], about: OldFailures) -> str:
    if names_test(about.asked, test.id) or _ALL.search(about.asked):
        return "the change names it"
    if not about.final:
        return ""
    if place_of(test.id) in places:
        return "another test of its file was fixed"
    if path := _fails_in(test, about.changed):
        return f"it fails in {path}, which was changed"
    if any(test_is_in(test.id, path) for path in about.uncommitted):
        return "its file was not committed when the work began"
    return ""


def place_of(test: str) -> str:
    """Return the file, module or package that a test's id places it in; empty if it names none."""
    if path := test_file(test):
        return path
    for mark in ("::", " > "):
        if mark in test:
            return test.partition(mark)[0]
    if found := _GO.fullmatch(test):
        return found["package"]
    return test.rsplit(".", 2)[0] if test.count(".") > 1 else ""


def _fails_in(test: Test, changed: frozenset[str]) -> str:
    """Return the changed source file that a failure's innermost frame inside the repository is in; empty if none."""
    for patterns, which in ((_LAST_FRAMES, -1), (_FIRST_FRAMES, 0)):
        found = [match for pattern in patterns for match in pattern.finditer(test.detail)]
        frames = [match[1] for match in sorted(found, key=re.Match.start)]
        if own := [frame for frame in frames if not any(part in frame for part in _FOREIGN)]:
            frame = own[which].removeprefix("./")
            return next((path for path in changed if f"/{frame}".endswith(f"/{path}") and not is_test(path)), "")
    return ""
