"""Finds the summary line by which a test runner without a reader says that tests failed.

Source can force an exit code (`at_exit`, a shutdown function, a destructor); the runner's own count is printed all the
same. The patterns are written from the runners' documented output, not recorded.
"""

import re

_SOME = r"[1-9]\d*"
_PATTERNS = {
    "phpunit": rf"^Tests: \d+, Assertions: \d+.*(?:Failures|Errors): {_SOME}",
    "minitest": rf"^\d+ (?:runs|tests), \d+ assertions, (?:{_SOME} failures|\d+ failures, {_SOME} errors)",
    "rspec, jasmine": rf"^\d+ (?:examples?|specs?), {_SOME} failures?",
    "mocha": rf"^ +{_SOME} failing$",
    "ava": rf"^ +{_SOME} tests? failed$",
    "busted": rf"^\d+ success(?:es)? / (?:{_SOME} failures?|\d+ failures? / {_SOME} errors?)",
    "ctest": rf"tests passed, {_SOME} tests? failed out of \d+$",
    "tape": rf"^# fail +{_SOME}$",
    "deno": rf"^FAILED \| \d+ passed.*\| {_SOME} failed",
    "bun": rf"^ *{_SOME} fail$",
    "mix": rf"^(?:\d+ doctests?, )?\d+ tests?, {_SOME} failures?",
    "eunit": rf"^ *Failed: {_SOME}\.",
    "gradle": rf"^\d+ tests? completed, {_SOME} failed",
    "surefire": rf"Tests run: \d+, (?:Failures: {_SOME}|Failures: \d+, Errors: {_SOME})",
    "dotnet": rf"Failed: +{_SOME}, Passed: +\d+",
}
_ANY = re.compile("|".join(_PATTERNS.values()), re.MULTILINE)


def failure_summary(output: str) -> str:
    """Return the line that says that tests failed; empty if there is none."""
    found = _ANY.search(output)
    return found[0].strip() if found else ""
