"""Recorded output of real runners, and how to read it."""

from pathlib import Path

from spool.domain.judging.results import junit, readers
from spool.domain.judging.results.model import Results, ResultStatus

FOLDER = Path(__file__).parents[4] / "corpus" / "results"
NAMES = sorted(path.name for path in FOLDER.iterdir())


def read(name: str, data: bytes | None = None) -> Results | None:
    """Read a recorded file as Spool reads it, or other data as if it were that file."""
    data = (FOLDER / name).read_bytes() if data is None else data
    if name.endswith(".xml"):
        return junit.read(data)
    if name.endswith(".jsonl"):
        return readers.read({f"{name.partition('-')[0]}-1.jsonl": data}, b"")
    return readers.read({}, data)


def recorded(name: str) -> Results:
    """Read a recorded file that holds results."""
    results = read(name)
    assert results is not None
    return results


def ids(results: Results, status: ResultStatus) -> list[str]:
    """Return the ids of the tests with one status."""
    return [test.id for test in results.tests if test.status is status]


def log(text: str) -> Results:
    """Read a log that holds results."""
    results = readers.read({}, text.encode())
    assert results is not None
    return results
