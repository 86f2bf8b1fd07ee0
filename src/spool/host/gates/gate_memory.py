"""Remembers gate runs and a change's boxes in the user's state directory, out of reach of an agent in the tree."""

import hashlib
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.decoders import decoded
from spool.domain.judging.gates.boxes import BoxLedger
from spool.domain.judging.gates.gate import GateRun, GateSpec
from spool.errors import SpoolError
from spool.host.state.files import keep_newest, replace_file
from spool.host.state.places import path_key, user_state
from spool.host.state.records import exactly, restored
from spool.nofollow import make_folder, read_file

_RUNS_KEPT = 50


class GateMemory:
    """The memory of a loop's gates."""

    def __init__(self, state: str) -> None:
        self.folder = user_state() / "gates" / path_key(state)

    def recall(self, gate: GateSpec, tree: str) -> GateRun | None:
        """Return the run of a gate on a tree, if it is remembered."""
        with suppress(OSError, ValueError):
            return restored(read_file(self._path(gate, tree)), GateRun)
        return None

    def remember(self, gate: GateSpec, tree: str, run: GateRun) -> None:
        """Remember the run of a gate on a tree; the oldest are forgotten."""
        if not tree:
            return
        make_folder(self.folder)
        replace_file(self._took(gate), f"{run.duration_s:.3f}".encode("ascii"))
        replace_file(self._path(gate, tree), exactly(run))
        keep_newest(self.folder, "run-*.json", _RUNS_KEPT)

    def expected_s(self, gate: GateSpec) -> float:
        """Return how long a gate took the last time; 0 if that is unknown."""
        with suppress(OSError, ValueError):
            return max(0.0, float(read_file(self._took(gate))))
        return 0.0

    def _took(self, gate: GateSpec) -> Path:
        return self.folder / f"took-{hashlib.sha256(msgspec.json.encode(gate)).hexdigest()[:24]}"

    def note_ignored(self, tree: str, names: dict[str, str]) -> None:
        """Remember the ignored files beside a tree."""
        make_folder(self.folder)
        replace_file(self.folder / f"ignored-{tree}.json", msgspec.json.encode(names))
        keep_newest(self.folder, "ignored-*.json", _RUNS_KEPT)

    def ignored(self, tree: str) -> dict[str, str] | None:
        """Return the ignored files that were noted for a tree; None if none were."""
        with suppress(OSError, ValueError):
            return decoded(read_file(self.folder / f"ignored-{tree}.json"), dict[str, str])
        return None

    def ledger(self) -> BoxLedger:
        """Return the boxes as a person left them; empty before the first agent."""
        path = self.folder / "ledger.json"
        try:
            return restored(read_file(path), BoxLedger)
        except (FileNotFoundError, NotADirectoryError):
            return BoxLedger()
        except (OSError, ValueError) as error:
            raise SpoolError(
                f"{path} cannot be read: {error}", hint="remove it to start with the list as it is"
            ) from None

    def keep_ledger(self, ledger: BoxLedger) -> None:
        """Save the boxes."""
        make_folder(self.folder)
        replace_file(self.folder / "ledger.json", exactly(ledger))

    def start_fresh(self) -> None:
        """Forget the boxes: the list as it is now is the person's."""
        (self.folder / "ledger.json").unlink(missing_ok=True)

    def _path(self, gate: GateSpec, tree: str) -> Path:
        key = hashlib.sha256(tree.encode() + b"\0" + msgspec.json.encode(gate)).hexdigest()[:24]
        return self.folder / f"run-{key}.json"
