"""Reads JUnit XML as pytest, vitest, jest-junit, node, Gradle and Surefire write it.

A test cannot forge it by printing: output is escaped inside `system-out`. Whoever can write the file can.
"""

import re
from xml.parsers import expat

from spool.domain.judging.results.model import Results, ResultStatus, ResultTally, check_size, excerpt
from spool.errors import ResultsError

NAME = "junit"
_FAILED = ("failure", "error")
# Runners copy a test's output without a look at what XML 1.0 allows, and one escape would cost the whole file.
_COLOURS = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\r")
_REFERENCES = re.compile(rb"&#(?:0*(?:[0-8]|1[124-9]|2\d|3[01])|[xX]0*(?:[0-8bcefBCEF]|1[\da-fA-F]));")
_ENCODING = re.compile(rb"""\A\s*<\?xml[^>]*encoding=["'](?!utf-?8["'])""", re.IGNORECASE)


def read(data: bytes, reader: str = NAME) -> Results | None:
    """Return the results, or None if this is not JUnit XML; a file that breaks off is not complete."""
    check_size(data)
    document = _JunitFile(reader)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = document.start
    parser.EndElementHandler = document.end
    parser.CharacterDataHandler = document.text
    parser.StartDoctypeDeclHandler = _refuse
    parser.EntityDeclHandler = _refuse
    whole = True
    try:
        parser.Parse(_valid(data), True)
    except expat.ExpatError:
        whole = False
    return document.results(whole=whole)


def _refuse(*_: object) -> None:
    raise ResultsError("test results with a document type or entities are refused")


def _valid(data: bytes) -> bytes:
    """Return the bytes without what no XML parser accepts, if they are UTF-8."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or _ENCODING.match(data):
        return data
    text = _COLOURS.sub(b"", data).translate(None, _CONTROLS).decode("utf-8", "replace")
    return _REFERENCES.sub(b"", text.encode("utf-8").lstrip())


class _TestCase:
    """A test case that is being read."""

    def __init__(self, attributes: dict[str, str]) -> None:
        self.attributes = attributes
        self.status = ResultStatus.PASSED
        self.expected = False
        self.detail = ""

    def judge(self, element: str, kind: str) -> None:
        """Count a failure or a skip; a failure outweighs a skip, but not a TODO of node's."""
        if self.expected:
            return
        if element == "skipped":
            self.expected = kind in ("pytest.xfail", "todo")
        if element in _FAILED or self.expected or self.status is ResultStatus.PASSED:
            self.status = ResultStatus.FAILED if element in _FAILED else ResultStatus.SKIPPED


class _JunitFile:
    """Follows the elements of one file."""

    def __init__(self, reader: str) -> None:
        self._reader = reader
        self._tally = ResultTally()
        self._suites: list[tuple[str, int, int]] = []
        self._case: _TestCase | None = None
        self._text: list[str] | None = None
        self._root = ""
        self._short = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Enter an element."""
        self._root = self._root or name
        if name in ("testsuite", "testsuites"):
            shown = attributes.get("name", "") if name == "testsuite" else ""
            self._suites.append((shown, len(self._tally), _declared(attributes)))
        elif name == "testcase":
            self._case = _TestCase(attributes)
        elif self._case and (name in _FAILED or name == "skipped"):
            self._case.judge(name, attributes.get("type", ""))
            self._text = [attributes.get("message", ""), "\n"]

    def text(self, text: str) -> None:
        """Keep a failure's text."""
        if self._text is not None:
            self._text.append(text)

    def end(self, name: str) -> None:
        """Leave an element."""
        if name in ("testsuite", "testsuites") and self._suites:
            _, before, declared = self._suites.pop()
            self._short = self._short or len(self._tally) - before < declared
        elif name == "testcase" and self._case:
            case, self._case = self._case, None
            self._tally.add(self._id(case), case.status, case.detail, expected_failure=case.expected)
        elif self._text is not None and self._case and name in (*_FAILED, "skipped"):
            self._case.detail = self._case.detail or _detail("".join(self._text))
            self._text = None

    def results(self, *, whole: bool) -> Results | None:
        """Return what was read; a suite that announces more tests than it holds is not complete."""
        if self._root not in ("testsuites", "testsuite"):
            return None
        return self._tally.results(self._reader, complete=whole and not self._short)

    def _id(self, case: _TestCase) -> str:
        name, group = case.attributes.get("name", ""), case.attributes.get("classname", "")
        file = case.attributes.get("file", "")
        if file.endswith(".py"):
            return _node_id(file, group, name)
        if group in ("", "test"):  # node writes "test" for each
            return " > ".join([suite for suite, *_ in self._suites if suite] + [name])
        return name if group == name else f"{group}::{name}"


def _node_id(file: str, group: str, name: str) -> str:
    """Return pytest's own id of a test; its older format, `xunit1`, has the file that this needs."""
    module = file.removesuffix(".py").replace("/", ".")
    if not group:  # a file that could not be collected
        return file
    return "::".join([file, *filter(None, group.removeprefix(module).split(".")), name])


def _detail(text: str) -> str:
    """Return the message and the text that repeats it, once."""
    message, _, rest = text.partition("\n")
    return excerpt(rest if message and message in rest[:2_000] else text)


def _declared(attributes: dict[str, str]) -> int:
    """Return how many tests a suite announces at least; pytest counts an error after a test as one more."""
    return _number(attributes.get("tests", "")) - _number(attributes.get("errors", ""))


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
