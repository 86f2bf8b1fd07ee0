"""Keeps a host's stores and runs, and removes those of workers that died.

fleet/stores/<key>.git         the snapshots of one remote, shared by the runs of this host
fleet/runs/<change>-<key>/     one attempt: record.json, the clone, Spool's data (spool/), the state (<repository>/)
"""

import hashlib
import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.app.verifying.gate_construction import noted_tasks
from spool.decoders import decoded
from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.summary import Runner
from spool.errors import SpoolError
from spool.fleet.snapshots.snapshot_store import SnapshotStore
from spool.host.gates.gate_memory import GateMemory
from spool.host.runner.identity import is_alive, this_runner
from spool.host.state.files import replace_file
from spool.host.state.places import user_data
from spool.host.state.records import restored
from spool.host.state.specs import spec_path
from spool.nofollow import make_folder, read_file

_OWNER = "owner.json"
SPEC = "spec.json"


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """A worker's own choices."""

    name: str
    sandbox: bool = False
    setup: str = ""

    @property
    def holder(self) -> str:
        """This worker's name in snapshots."""
        return f"{self.name}/{os.getpid()}"

    def store(self, url: str) -> SnapshotStore:
        """Return the store for the snapshots of a remote."""
        key = hashlib.sha256(url.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        return SnapshotStore(_place() / "stores" / f"{key}.git", url)

    def new_run(self, change: str) -> Path:
        """Make the folder of an attempt; it belongs to this process."""
        home = _place() / "runs" / f"{change}-{secrets.token_hex(4)}"
        make_folder(home)
        replace_file(home / _OWNER, msgspec.json.encode(this_runner()))
        return home


def sweep() -> list[str]:
    """Remove the runs of workers of this machine that have died; return their names."""
    swept = []
    for home in sorted((_place() / "runs").glob("*")):
        owner = None
        with suppress(OSError, ValueError):
            owner = decoded(read_file(home / _OWNER), Runner)
        if owner is None or (owner.host == os.uname().nodename and not is_alive(owner)):
            remove_run(home)
            swept.append(home.name)
    return swept


async def tidy_stores() -> None:
    """Let git remove what no run of this machine uses any more."""
    for path in sorted((_place() / "stores").glob("*.git")):
        with suppress(SpoolError):
            await SnapshotStore(path, "").tidy()


def remove_run(home: Path) -> None:
    """Remove an attempt, and what it left in the user's own directories."""
    with suppress(OSError, ValueError):
        spec = restored(read_file(home / SPEC), LoopSpec)
        for memory in (GateMemory(spec.folder), noted_tasks(spec.root, spec.change)):
            shutil.rmtree(memory.folder, ignore_errors=True)
        spec_path(spec.folder).unlink(missing_ok=True)
    shutil.rmtree(home, ignore_errors=True)


def _place() -> Path:
    return user_data() / "fleet"
