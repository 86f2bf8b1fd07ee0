"""Reads what `node --test` reports through Spool's preloaded script, or else prints as its spec reporter.

The script writes a file per `node --test` and leaves the command's reporters alone; printing does not forge it. The
spec reporter's output can be forged. Without the script, node's TAP output is read by `tap.py`.
"""

import re
from collections.abc import Mapping

import msgspec

from spool.decoders import decoder_of
from spool.domain.judging.results.declaration import Reader, ResultPlace
from spool.domain.judging.results.model import Results, ResultStatus, ResultTally, excerpt, merge
from spool.domain.judging.results.nested_tests import Leaf, NestedTests

_END = re.compile(r"^ℹ tests (\d+)\nℹ suites (\d+)$", re.MULTILINE)
_LINE = re.compile(r"^(?P<indent> *)(?P<mark>[✔✖﹣⚠▶]) (?P<name>.*?) \([\d.]+ms\)(?P<left> # .*)?$")
_OPEN = re.compile(r"^( *)▶ (.*)$")


class _NodeLine(msgspec.Struct):
    name: str | None = None
    nesting: int = 0
    file: str = ""
    suite: bool = False
    passed: bool = False
    skip: bool = False
    todo: bool = False
    text: str = ""
    end: int | None = None


def ask(place: ResultPlace, inherited: Mapping[str, str]) -> dict[str, str]:
    """Preload the script into node."""
    script = f"{place.reporters}/node/node_results.cjs".replace("\\", "\\\\").replace('"', '\\"')
    options = [inherited.get("NODE_OPTIONS", ""), f'--require="{script}"']
    return {"SPOOL_RESULTS": place.scratch, "NODE_OPTIONS": " ".join(filter(None, options))}


def read_files(files: Mapping[str, bytes], log: str) -> Results | None:  # noqa: ARG001 - each run has its own file
    """Return the results of each run's file."""
    return merge(_read(data) for data in files.values())


def _read(data: bytes) -> Results:
    decoder = decoder_of(_NodeLine)
    tree = NestedTests()
    counted, announced = 0, -1
    for raw in data.split(b"\n"):
        try:
            line = decoder.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        if line.name is not None:
            counted += not line.suite
            tree.add(max(0, line.nesting), _leaf(line))
        elif line.end is not None:
            announced = line.end
    return tree.tally().results("node", complete=announced == counted and data.endswith(b"\n"))


def _leaf(line: _NodeLine) -> Leaf:
    todo = line.todo and not line.passed
    status = (
        ResultStatus.SKIPPED if line.skip or line.todo else ResultStatus.PASSED if line.passed else ResultStatus.FAILED
    )
    name = line.name or ""
    names = [line.file, name] if line.nesting == 0 and line.file and line.file != name else [name]
    return Leaf(" > ".join(names), status, excerpt(line.text), expected=todo, suite=line.suite)


def read_log(text: str) -> Results | None:
    """Return what the spec reporter printed; it counts a test that contains others, and does not show it as one."""
    found = []
    start = 0
    for end in _END.finditer(text):
        found.append(_read_spec(text[start : end.start()], int(end[1][:9]) + int(end[2][:9])))
        start = end.end()
    return merge(found) if found else None


def _read_spec(text: str, announced: int) -> Results:
    tally, path, groups = ResultTally(), list[str](), 0
    for line in text.split("\n"):
        found = _LINE.match(line)
        if found is None:
            if opened := _OPEN.match(line):
                path[len(opened[1]) // 2 :] = [opened[2]]
            continue
        depth = len(found["indent"]) // 2
        if path[depth : depth + 1] == [found["name"]]:
            path[depth:] = []
            groups += 1
        else:
            tally.add(" > ".join([*path[:depth], found["name"]]), _status(found))
    return tally.results("node", complete=len(tally) + groups == announced)


def _status(found: re.Match[str]) -> ResultStatus:
    if found["mark"] in "﹣⚠" or found["left"]:
        return ResultStatus.SKIPPED
    return ResultStatus.PASSED if found["mark"] == "✔" else ResultStatus.FAILED


READER = Reader(name="node", mark=_END, read_log=read_log, ask=ask, read_files=read_files, prints=("tap",))
