"""Stores the spec of each loop's last run in the user's state directory, outside the agent's working tree."""

from pathlib import Path

from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.summary import SCHEMA
from spool.errors import StateError
from spool.host.state.files import replace_file
from spool.host.state.places import path_key, user_state
from spool.host.state.records import exactly, restored
from spool.nofollow import make_folder, read_file


def keep_spec(spec: LoopSpec) -> None:
    """Store the loop's spec; call it only as the loop's runner."""
    path = spec_path(spec.folder)
    make_folder(path.parent)
    replace_file(path, exactly(spec))


def kept_spec(state: str) -> LoopSpec | None:
    """Return the spec of a loop's last run; None if there was none."""
    path = spec_path(state)
    try:
        spec = restored(read_file(path), LoopSpec)
    except FileNotFoundError:
        return None
    except ValueError as error:  # msgspec's errors are such
        raise StateError(f"{path} cannot be read: {error}") from None
    if spec.schema > SCHEMA:
        raise StateError(f"{path} was written by a newer Spool", hint="upgrade Spool; the file is left unchanged")
    return spec


def spec_path(state: str) -> Path:
    """Return the file with the spec of a loop, by its state folder."""
    return user_state() / "specs" / f"{path_key(state)}.json"
