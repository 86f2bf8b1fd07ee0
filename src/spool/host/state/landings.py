"""Stores the result of each landing, and the move that is under way, in the user's state directory."""

from contextlib import suppress
from pathlib import Path

from spool.domain.account.landing_order import Landing, Move
from spool.domain.loop.summary import SCHEMA
from spool.errors import StateError
from spool.host.state.files import remove_temporaries, replace_file, sync_folder
from spool.host.state.places import path_key, user_state
from spool.host.state.records import exactly, restored
from spool.nofollow import make_folder, read_file

_MOVE = "move.json"
_RECORD = "change-{}.json"


class Landings:
    """The landings of one repository, by change. Only the holder of the lock of landing writes them."""

    def __init__(self, common_dir: Path) -> None:
        self.folder = user_state() / "landings" / path_key(common_dir)

    def of(self, change: str) -> Landing | None:
        """Return the last landing of a change; None if there was none, or its record is damaged."""
        with suppress(OSError, ValueError):
            return restored(read_file(self.folder / _RECORD.format(change)), Landing)
        return None

    def all(self) -> list[Landing]:
        """Return the last landing of each change, oldest first."""
        names = sorted(path.name for path in self.folder.glob(_RECORD.format("*")))
        found = [self.of(name.removeprefix("change-").removesuffix(".json")) for name in names]
        return sorted((one for one in found if one is not None), key=lambda one: one.at)

    def record(self, landing: Landing) -> None:
        """Keep what became of a landing."""
        make_folder(self.folder)
        replace_file(self.folder / _RECORD.format(landing.change), exactly(landing))

    def begin(self, move: Move) -> None:
        """Write down a move before anything moves."""
        make_folder(self.folder)
        remove_temporaries(self.folder)
        replace_file(self.folder / _MOVE, exactly(move))

    def begun(self) -> Move | None:
        """Return the move that has begun and not ended."""
        path = self.folder / _MOVE
        try:
            move = restored(read_file(path), Move)
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise StateError(
                f"{path} cannot be read: {error}", hint="look at the target branch, then remove it"
            ) from None
        if move.schema > SCHEMA:
            raise StateError(f"{path} was written by a newer Spool", hint="upgrade Spool")
        return move

    def end(self) -> None:
        """Forget the move: it has ended."""
        (self.folder / _MOVE).unlink(missing_ok=True)
        sync_folder(self.folder)
