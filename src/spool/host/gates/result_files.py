"""Asks test runners for results of single tests, and reads what they wrote."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import spool
from spool.domain.judging.gates.gate import GateSpec
from spool.domain.judging.results import junit, readers
from spool.domain.judging.results.declaration import ResultPlace
from spool.domain.judging.results.model import Results, without_folder
from spool.errors import ResultsError
from spool.host.state.files import end_of
from spool.nofollow import read_file

_REPORTERS = str(Path(spool.__file__).parent / "reporters")
_LOG_READ = 16 << 20
_LARGEST = 256 << 20
_NONE = "none"
_UNREADABLE = Results(complete=False)


class GateResults:
    """The results of one run of a gate."""

    def __init__(self, gate: GateSpec, folder: Path) -> None:
        self._wanted = gate.results
        self._command = gate.run
        self._folder = folder
        self._file = None if gate.results in (_NONE, readers.AUTO, *readers.NAMES) else folder / gate.results
        self._before = _stamp(self._file)

    def environment(self, scratch: str, inherited: Mapping[str, str]) -> dict[str, str]:
        """Return the variables that make test runners report into a scratch folder."""
        if self._file or self._wanted == _NONE:
            return {}
        place = ResultPlace(scratch=scratch, reporters=_REPORTERS, command=self._command)
        return readers.environment(place, {**_go_flags(inherited), **inherited}, self._wanted)

    def read(self, scratch: str, log: Path) -> Results | None:
        """Return the results that this run wrote; incomplete if they cannot be read."""
        if self._wanted == _NONE:
            return None
        try:
            if self._file:
                return self._read_file(self._file)
            files = {path.name: _content(path) for path in Path(scratch).resolve().iterdir() if not path.is_dir()}
            found = readers.read(files, end_of(log, _LOG_READ), self._wanted)
            return without_folder(found, str(self._folder.resolve())) if found else None
        except (ResultsError, OSError):
            return _UNREADABLE

    def _read_file(self, path: Path) -> Results:
        """Return the results in a file of the project; one that an earlier run wrote does not count."""
        if _stamp(path) == self._before:
            return _UNREADABLE
        return junit.read(_content(path)) or _UNREADABLE


def _go_flags(inherited: Mapping[str, str]) -> dict[str, str]:
    """Return the flags that `go env -w` has set; a variable of the environment would take their place."""
    home = inherited.get("XDG_CONFIG_HOME") or f"{inherited.get('HOME', '')}/.config"
    with suppress(OSError, ValueError):
        lines = read_file(Path(inherited.get("GOENV") or f"{home}/go/env"), most_bytes=1 << 16).decode().splitlines()
        return dict([line.split("=", 1) for line in lines if line.startswith("GOFLAGS=")])
    return {}


def _content(path: Path) -> bytes:
    """Return what a gate wrote: it runs the agent's code, which may leave a link out of the sandbox, or a huge file."""
    return read_file(path, most_bytes=_LARGEST)


def _stamp(path: Path | None) -> tuple[int, int] | None:
    with suppress(OSError):
        found = path.lstat() if path else None
        return (found.st_ino, found.st_mtime_ns) if found else None
    return None
