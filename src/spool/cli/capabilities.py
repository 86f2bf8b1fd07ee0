"""The parts that Spool works without: each is a line here, its folders, and nothing else."""

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from spool.app.observing.observers import Observer


class RemoteLoops(Protocol):
    """Loops on other hosts, for `spool attach`, `logs` and `stop`."""

    def is_id(self, name: str) -> bool:
        """Whether a name can only mean one of them."""

    def watch(self, loop_id: str, view: "Observer", *, follow: bool) -> int:
        """Show the events of a loop and return its exit code."""

    def stop(self, ids: Sequence[str]) -> int:
        """Stop loops, say how each ended, and return the exit code."""


class Capability(NamedTuple):
    """A command with a package of its own: NAME in `spool.cli.commands.NAME.NAME`."""

    name: str
    heading: str
    summary: str
    remote: str = ""
    """The module of the package with `REMOTE`, its `RemoteLoops`."""

    @property
    def target(self) -> str:
        """The module and name of the command."""
        return f"spool.cli.commands.{self.name}.{self.name}:{self.name}"


CAPABILITIES = [
    Capability("fleet", "Start", "Run changes on many hosts: a queue, workers, and what they do.", remote="remote"),
    Capability("web", "Watch", "Show all loops of this machine in a browser, live."),
]


def remote_of(name: str) -> RemoteLoops | None:
    """Return the loops on other hosts among which a name can only mean one, or None."""
    for one in CAPABILITIES:
        if one.remote:
            remote: RemoteLoops = import_module(f"spool.cli.commands.{one.name}.{one.remote}").REMOTE
            if remote.is_id(name):
                return remote
    return None
