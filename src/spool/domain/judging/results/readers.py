"""Finds the results of a command's test runs: in the files that runners were asked for, then in the log.

A new runner is one new file with a `READER`, and its name in `READERS`.
"""

from collections.abc import Mapping

from spool.domain.judging.results import cargo, go, jest, node, pytest, tap, unittest, vitest
from spool.domain.judging.results.declaration import Reader, ResultPlace
from spool.domain.judging.results.model import Results, check_size, decoded, merge

AUTO = "auto"
READERS: tuple[Reader, ...] = (
    pytest.READER,
    node.READER,
    vitest.READER,
    jest.READER,
    unittest.READER,
    go.READER,
    cargo.READER,
    tap.READER,
)
NAMES = tuple(reader.name for reader in READERS)


def environment(place: ResultPlace, inherited: Mapping[str, str], wanted: str = AUTO) -> dict[str, str]:
    """Return the variables to set, so that runners report into the scratch folder."""
    asked: dict[str, str] = {}
    for reader in _chosen(wanted):
        if reader.ask:
            asked |= reader.ask(place, {**inherited, **asked})
    return asked


def read(files: Mapping[str, bytes], log: bytes, wanted: str = AUTO) -> Results | None:
    """Return the results of all runs of a command, merged, or None if no reader finds any.

    `files` are those in the scratch folder, by name; `log` is standard output and standard error in one. Raises
    ResultsError if one of them is larger than LIMIT.
    """
    text = decoded(log)
    text = text[: text.rfind("\n") + 1]  # a line without its end was cut, and may have been longer
    found: list[Results] = []
    covered: set[str] = set()
    for reader in _chosen(wanted):
        mine = {name: files[name] for name in sorted(files) if name.startswith(f"{reader.name}-")}
        for data in mine.values():
            check_size(data)
        if reader.read_files and mine and (results := reader.read_files(mine, text)):
            found.append(results)
            covered |= {reader.name, *reader.prints}
    for reader in _chosen(wanted):
        printed = reader.name not in covered and reader.mark and reader.mark.search(text)
        if reader.read_log and printed and (results := reader.read_log(text)):
            found.append(results)
            covered |= {*reader.prints}
    return merge(found) if found else None


def _chosen(wanted: str) -> tuple[Reader, ...]:
    return tuple(reader for reader in READERS if wanted in (AUTO, reader.name))
