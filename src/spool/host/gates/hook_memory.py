"""Remembers in the user's state directory what the stop hook saw in a working tree, out of reach of its agent."""

import hashlib
import os
import shutil
from contextlib import suppress
from pathlib import Path

from spool.domain.gates.verification import Release, Session
from spool.host.state.files import replace_file
from spool.host.state.places import user_state
from spool.host.state.records import exactly, restored
from spool.nofollow import make_folder

_SESSIONS_KEPT = 20


class HookMemory:
    """What is remembered for one working tree."""

    def __init__(self, top: Path) -> None:
        self.folder = user_state() / "verify" / _key(os.fsencode(top.resolve()))
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
            return restored(self._path(name).read_bytes(), Session)
        return None

    def keep(self, name: str, session: Session) -> None:
        """Save what is known of a conversation; the oldest are forgotten."""
        make_folder(self.folder)
        replace_file(self._path(name), exactly(session))
        known = sorted(self.folder.glob("session-*.json"), key=lambda path: path.stat().st_mtime)
        for path in known[:-_SESSIONS_KEPT]:
            path.unlink(missing_ok=True)

    def released(self) -> Release | None:
        """Return the last stop that was released unverified."""
        with suppress(OSError, ValueError):
            return restored(self._release.read_bytes(), Release)
        return None

    def release(self, release: Release) -> None:
        """Record a stop that was released unverified."""
        make_folder(self.folder)
        replace_file(self._release, exactly(release))

    def settle(self) -> None:
        """Forget the release: the gates are green again."""
        self._release.unlink(missing_ok=True)

    def _path(self, session: str) -> Path:
        return self.folder / f"session-{_key(session.encode('utf-8', 'replace'))}.json"


def _key(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
