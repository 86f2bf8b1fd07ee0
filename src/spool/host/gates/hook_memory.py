"""Remembers in the user's state directory what the stop hook saw in a working tree, out of reach of its agent."""

import hashlib
import shutil
from contextlib import suppress
from pathlib import Path

from spool.domain.judging.gates.hook import Release, Session
from spool.host.state.files import keep_newest, replace_file
from spool.host.state.places import path_key, user_state
from spool.host.state.records import exactly, restored
from spool.nofollow import make_folder, read_file

_SESSIONS_KEPT = 20


class HookMemory:
    """The hook's memory of one working tree."""

    def __init__(self, top: Path) -> None:
        self.folder = user_state() / "verify" / path_key(top)
        self._release = self.folder / "released.json"

    def fresh_logs(self) -> Path:
        """Return an empty folder for the logs of one verification."""
        logs = self.folder / "logs"
        shutil.rmtree(logs, ignore_errors=True)
        make_folder(logs)
        return logs

    def session(self, name: str) -> Session | None:
        """Return what is known of a conversation."""
        with suppress(OSError, ValueError):
            return restored(read_file(self._path(name)), Session)
        return None

    def keep(self, name: str, session: Session) -> None:
        """Save what is known of a conversation; the oldest are forgotten."""
        make_folder(self.folder)
        replace_file(self._path(name), exactly(session))
        keep_newest(self.folder, "session-*.json", _SESSIONS_KEPT)

    def released(self) -> Release | None:
        """Return the last stop that was released unverified."""
        with suppress(OSError, ValueError):
            return restored(read_file(self._release), Release)
        return None

    def release(self, release: Release) -> None:
        """Record a stop that was released unverified."""
        make_folder(self.folder)
        replace_file(self._release, exactly(release))

    def settle(self) -> None:
        """Forget the release: the gates are green again."""
        self._release.unlink(missing_ok=True)

    def _path(self, session: str) -> Path:
        return self.folder / f"session-{hashlib.sha256(session.encode('utf-8', 'replace')).hexdigest()[:16]}.json"
