"""Changes that run on other hosts, for `spool attach`, `logs` and `stop`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from spool.cli.capabilities import RemoteLoops
from spool.cli.commands.fleet.fleet import require_fleet
from spool.domain.text.plain_text import one_line
from spool.fleet.values import is_fleet_id
from spool.views.say import say

if TYPE_CHECKING:
    from spool.app.observing.observers import Observer


class _Fleet:
    """The changes in the fleet."""

    def is_id(self, name: str) -> bool:
        """Whether a name can only mean a change in the fleet."""
        return is_fleet_id(name)

    def watch(self, loop_id: str, view: "Observer", *, follow: bool) -> int:
        """Show the events of a change as its snapshots arrive, and return its exit code; Ctrl-C detaches."""
        require_fleet()
        from spool.fleet.queue.remote_loops import watch_change

        try:
            row = watch_change(loop_id, view.see, view.tick, follow=follow)
        except KeyboardInterrupt:
            say(f"Detached; stop it with: spool stop {loop_id}", err=True)
            return 0
        finally:
            view.close()
        say(f"{loop_id}: {row.status}{f', {one_line(row.reason)}' if row.reason else ''}", err=True)
        return row.exit_code or 0

    def stop(self, ids: Sequence[str]) -> int:
        """Stop changes, say how each ended, and return the exit code."""
        from spool.cli.commands.fleet.steer import stop_in_fleet

        return stop_in_fleet(ids)


REMOTE: RemoteLoops = _Fleet()
