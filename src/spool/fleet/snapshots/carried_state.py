"""Selects the files about a loop that travel with a snapshot.

State, history, journal, context, learnings, the boxes that a person left, and the spec as it was submitted travel.
Locks, the registry, checkpoints beyond the current one, and logs unless they are asked for do not.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from spool.app.verifying.gate_construction import noted_tasks
from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.summary import state_path
from spool.errors import SpoolError, StateError
from spool.fleet.snapshots.pieces import GrowingFile, Piece, joined, piece_of
from spool.host.gates.gate_memory import GateMemory
from spool.host.state.files import replace_file
from spool.host.state.records import exactly, restored
from spool.nofollow import folder_names, make_folder, read_file

SPEC = "spec.json"
STATE = "state.json"
_GROWING = ("history.jsonl", "journal.jsonl")
_STATE = (STATE, "context.md")
_LEARNINGS, _LEDGER, _NOTED = "learnings.md", "ledger.json", "noted.json"
_LOGS = "logs/"
_MOST_BYTES = 16 << 20
"""Of a file that an agent can write."""


class CarriedState:
    """The files of one loop on this host."""

    def __init__(self, spec: LoopSpec, submitted: bytes, *, algorithm: str, logs: bool) -> None:
        self._spec = spec
        self._submitted = submitted
        self._algorithm = algorithm
        self._logs = logs
        folder = Path(spec.folder)
        self._growing = [GrowingFile(name, folder / name, algorithm=algorithm) for name in _GROWING]

    def pieces(self) -> list[Piece]:
        """Return the files as they are now; the loop waits meanwhile."""
        found = [piece_of(SPEC, self._submitted, algorithm=self._algorithm)]
        for name, path in self._places():
            with suppress(OSError, StateError):
                found.append(piece_of(name, read_file(path, most_bytes=_MOST_BYTES), algorithm=self._algorithm))
        for growing in self._growing:
            pieces = growing.pieces()
            growing.stored(pieces)
            found += pieces
        return found

    def _places(self) -> Iterator[tuple[str, Path]]:
        yield from places_of(self._spec).items()
        logs = Path(self._spec.folder) / "logs"
        if self._logs:
            yield from ((f"{_LOGS}{name}", logs / name) for name in folder_names(logs))


def places_of(spec: LoopSpec) -> dict[str, Path]:
    """Return where the files are that are replaced as a whole."""
    folder = Path(spec.folder)
    learnings = Path(state_path(spec.directory, spec.door, spec.change)) / "learnings.md"
    return {
        **{name: folder / name for name in _STATE},
        _LEARNINGS: learnings,
        _LEDGER: GateMemory(spec.folder).folder / "ledger.json",
        _NOTED: noted_tasks(spec.root, spec.change).folder / "ledger.json",
    }


def submitted_spec(files: Mapping[str, bytes]) -> LoopSpec:
    """Return the spec in a snapshot."""
    try:
        return restored(files[SPEC], LoopSpec)
    except (KeyError, ValueError) as error:
        raise SpoolError(f"the snapshot has no spec that this Spool can read: {error}") from None


def restore(spec: LoopSpec, files: Mapping[str, bytes]) -> None:
    """Write the files of a snapshot to where a loop on this host looks for them."""
    folder = Path(spec.folder)
    places = places_of(spec)
    places |= {name: folder / name for name in files if name.startswith(_LOGS)}
    for name, path in places.items():
        if name in files:
            _write(path, files[name])
    for name in _GROWING:
        if data := joined(files, name):
            _write(folder / name, data)


def _write(path: Path, data: bytes) -> None:
    make_folder(path.parent)
    replace_file(path, data)


def first_files(spec: LoopSpec, *, algorithm: str) -> list[Piece]:
    """Return the files of a change that has not run yet: its spec, and the notes that a person added."""
    found = [piece_of(SPEC, exactly(spec), algorithm=algorithm)]
    with suppress(OSError, StateError):
        notes = read_file(Path(spec.folder) / "context.md", most_bytes=_MOST_BYTES)
        found.append(piece_of("context.md", notes, algorithm=algorithm))
    return found
