"""What travels of Spool's files about a loop, and arrives where a loop on another host looks for it."""

from pathlib import Path

import msgspec
import pytest

from spool.app.starting.construction import new_run_id
from spool.domain.loop.settings import Settings
from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.summary import LoopKind
from spool.fleet.snapshots.carried_state import SPEC, CarriedState, places_of, restore, submitted_spec
from spool.fleet.snapshots.pieces import Piece
from spool.host.state.records import exactly

GROWING = {"history.jsonl": b'{"iteration":1}\n', "journal.jsonl": b"x" * 3_000_000 + b"\n"}
NOT_CARRIED = ("lock", "state.json.new", "output.log")


def spec_at(root: Path) -> LoopSpec:
    return LoopSpec(run_id=new_run_id(), door=LoopKind.RUN, change="add-auth", root=str(root), settings=Settings())


def written(root: Path) -> LoopSpec:
    """Return a loop with one of each file."""
    spec = spec_at(root)
    folder = Path(spec.folder)
    (folder / "logs").mkdir(parents=True)
    for name, path in places_of(spec).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(f"the {name}\n".encode())
    for name, data in GROWING.items():
        (folder / name).write_bytes(data)
    for name in NOT_CARRIED:
        (folder / name).write_bytes(b"mine\n")
    (folder / "logs" / "001.out").write_bytes(b"raw\n")
    return spec


def stored(pieces: list[Piece]) -> dict[str, bytes]:
    return {piece.name: piece.data for piece in pieces if piece.data is not None}


@pytest.mark.parametrize("logs", [False, True])
def test_the_files_of_a_loop_arrive_on_another_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logs: bool
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "one"))
    there = written(tmp_path / "a")
    files = stored(CarriedState(there, exactly(there), algorithm="sha1", logs=logs).pieces())
    assert submitted_spec(files) == there
    assert all(len(data) <= 1 << 20 for name, data in files.items() if "jsonl" in name)
    monkeypatch.setenv("HOME", str(tmp_path / "two"))
    here = msgspec.structs.replace(there, root=str(tmp_path / "b"))
    restore(here, files)
    for name, path in places_of(here).items():
        assert path.read_bytes() == f"the {name}\n".encode()
    folder = Path(here.folder)
    assert {name: (folder / name).read_bytes() for name in GROWING} == GROWING
    assert (folder / "logs" / "001.out").exists() is logs
    assert not any((folder / name).exists() for name in NOT_CARRIED)
    assert set(files) - {SPEC} <= {*places_of(here), *(name for name in files if name.startswith((*GROWING, "logs/")))}
