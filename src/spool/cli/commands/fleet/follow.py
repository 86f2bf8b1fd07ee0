"""Shows a change that runs on another host, for `spool attach` and `spool logs`."""

from spool.app.observing.observers import Observer
from spool.domain.text.plain_text import one_line
from spool.fleet.queue.connection import require_extra
from spool.views.say import say


def watch(change_id: str, view: Observer, *, follow: bool) -> int:
    """Show the events of a change as its snapshots arrive, and return its exit code; Ctrl-C detaches."""
    require_extra()
    from spool.fleet.queue.remote_loops import watch_change

    try:
        row = watch_change(change_id, view.see, view.tick, follow=follow)
    except KeyboardInterrupt:
        say(f"Detached; stop it with: spool stop {change_id}", err=True)
        return 0
    finally:
        view.close()
    say(f"{change_id}: {row.status}{f', {one_line(row.reason)}' if row.reason else ''}", err=True)
    return row.exit_code or 0
