"""`wt-loop stop` and `wt-loop done`."""

from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from spool.cli.loops import matching
from spool.cli.stop import stop_all
from spool.cli.wt.located import DOOR, Located, locate
from spool.domain.text import counted
from spool.domain.verdict import Status
from spool.errors import LockedError, UsageError
from spool.host.runner.identity import is_alive, this_runner
from spool.host.state.lock import Holder, held
from spool.host.state.loop_book import mark_done, read_loop, told, write_loop
from spool.host.state.registry import Entry, this_machine
from spool.sources.project import STATE

_BY_HAND = "a person said that it is done"


@click.command("stop")
@click.argument("names", metavar="[CHANGE]...", nargs=-1)
@click.option("--all", "-a", "everything", is_flag=True, help="Stop every loop that wt-loop started.")
@click.option("--path", metavar="DIR", help="The worktree, where the change's id does not give it.")
@click.help_option("-h", "--help")
def stop(names: tuple[str, ...], everything: bool, path: str | None) -> int:
    """Stop a loop, and wait until its agent is gone. Without a change: the loop of the current worktree.

    A loop that has ended already is no error; a window that was left open is closed.
    """
    if everything and (names or path):
        raise UsageError("--all and a change do not go together")
    entries = this_machine().entries()
    if everything:
        chosen = [entry for entry in entries if entry.door == DOOR and is_alive(entry.runner)]
    else:
        chosen = [entry for name in names or (None,) for entry in _named(name, path, entries)]
    code = stop_all(chosen)
    for entry in chosen:
        _tell_file(Path(entry.worktree))
    if everything and (others := len(this_machine().running())):
        click.echo(f"Still running: {counted(others, 'loop')} of other commands; spool stop --all ends those.")
    return code


@click.command("done")
@click.argument("name", metavar="[CHANGE]", required=False)
@click.option("--now", is_flag=True, help="Do not wait for the iteration that is running.")
@click.option("--path", metavar="DIR", help="The worktree, where the change's id does not give it.")
@click.help_option("-h", "--help")
def done(name: str | None, now: bool, path: str | None) -> int:
    """Say that the work is done: a running loop ends after this iteration, one that has ended is marked."""
    found = locate(name, path)
    entry = found.entry
    if entry is not None and entry.running and not now:
        mark_done(found.state)
        click.echo(f"{found.change_id} ends as done when this iteration is over; --now ends it at once.")
        return 0
    code = stop_all([entry]) if entry is not None and entry.running else 0
    if not code:
        _mark(found)
        click.echo(f"{found.change_id} is done.")
    return code


def _named(name: str | None, path: str | None, entries: list[Entry]) -> list[Entry]:
    found = [entry for entry in matching(name, entries) if entry.running] if name and not path else []
    if found and all(entry.door != DOOR for entry in found):
        return found[:1]
    located = locate(name, path)
    if (entry := located.entry) is not None:
        return [entry]
    click.echo(f"{located.change_id} is not running: {located.file.status}")
    return []


def _mark(found: Located) -> None:
    file = read_loop(found.root) or found.file
    with _lock(found.root, file.change_id, file.run_id):
        now = datetime.now(UTC)
        changed = {"status": Status.DONE, "reason": _BY_HAND, "updated_at": now}
        write_loop(found.root, msgspec.structs.replace(file, ended_at=file.ended_at or now, **changed))
    if (entry := found.entry) is not None:
        changed = {"status": Status.DONE, "reason": _BY_HAND, "ended_at": entry.ended_at or now}
        this_machine().enter(msgspec.structs.replace(entry, **changed))


def _tell_file(root: Path) -> None:
    """Let the file of a runner that was killed say so too: other tools read it, and look no further."""
    file = read_loop(root)
    if file is None or told(file).status is file.status:
        return
    with suppress(LockedError), _lock(root, file.change_id, file.run_id):
        write_loop(root, msgspec.structs.replace(told(file), ended_at=file.updated_at))


def _lock(root: Path, change_id: str, run_id: str) -> AbstractContextManager[None]:
    from spool.host.git.checkouts import common_dir

    holder = Holder(
        runner=this_runner(), run_id=run_id, door=DOOR, change=change_id, directory=str(root), since=datetime.now(UTC)
    )
    return held(common_dir(root) / "spool" / "locks", [root, root / STATE / change_id], holder)
