"""`spool checkpoint`: look at what reverts have discarded, and get it back."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from spool.cli.target import load_settings
from spool.domain.text import clean, counted, one_line
from spool.errors import SpoolError
from spool.host.clock import SystemClock
from spool.host.git.checkpoints.checkpoints import Checkpoints
from spool.host.git.repository import NoRepository, Repository, find_repository
from spool.host.runner.identity import this_runner
from spool.host.state.lock import Holder, held

_Result = TypeVar("_Result")


@click.group("checkpoint")
@click.help_option("-h", "--help")
def checkpoint() -> None:
    """Look at the attempts that a revert has discarded, and get them back.

    They are kept for 14 days.
    """


@checkpoint.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.help_option("-h", "--help")
def list_all(as_json: bool) -> None:
    """List checkpoints that loops hold, and discarded attempts."""

    async def both(checkpoints: Checkpoints) -> tuple[list[Any], list[Any]]:
        return await checkpoints.saved(), await checkpoints.discarded()

    saved, discarded = _with_checkpoints(both)
    if as_json:
        click.echo(msgspec.json.encode({"checkpoints": saved, "discarded": discarded}).decode())
        return
    if not saved and not discarded:
        click.echo("There is no checkpoint, and nothing has been discarded.")
    for one in saved:
        click.echo(f"checkpoint  {one.change}  {one_line(one.label)}  ({one.saved_at:%Y-%m-%d %H:%M} UTC)")
    for one in discarded:
        click.echo(f"discarded   {one.name}  {counted(one.files, 'file')}  {one_line(one.label)}")


@checkpoint.command()
@click.argument("name")
@click.help_option("-h", "--help")
def show(name: str) -> None:
    """Show what a discarded attempt had changed."""
    click.echo(clean(_with_checkpoints(lambda checkpoints: checkpoints.show(name))).rstrip())


@checkpoint.command()
@click.argument("name")
@click.help_option("-h", "--help")
def diff(name: str) -> None:
    """Print a discarded attempt as a patch."""
    click.echo(_with_checkpoints(lambda checkpoints: checkpoints.diff(name)), nl=False)


@checkpoint.command()
@click.argument("name")
@click.help_option("-h", "--help")
def restore(name: str) -> None:
    """Bring a discarded attempt back into the working tree.

    What is in the tree now is discarded in its turn, and kept.
    """
    kept = _with_checkpoints(lambda checkpoints: checkpoints.restore(name), lock=True)
    click.echo(f"Restored {name}." + (f" What was there is kept as {kept.name}." if kept else ""))


def _with_checkpoints(use: Callable[[Checkpoints], Coroutine[Any, Any, _Result]], *, lock: bool = False) -> _Result:
    """Use the checkpoints of the working tree around the current directory."""

    async def main() -> _Result:
        settings, clock = load_settings(None, {}), SystemClock()
        repository = await find_repository(Path.cwd(), timeout_s=settings.command_timeout)
        if isinstance(repository, NoRepository):
            raise SpoolError(f"there are no checkpoints here: {repository.why}")
        checkpoints = Checkpoints(repository, "by hand", now=clock.now, timeout_s=settings.command_timeout)
        if not lock:
            return await use(checkpoints)
        with held(repository.spool_dir / "locks", [repository.top], _holder(repository, clock)):
            return await use(checkpoints)

    return asyncio.run(main())


def _holder(repository: Repository, clock: SystemClock) -> Holder:
    return Holder(
        runner=this_runner(),
        run_id="",
        door="checkpoint",
        change="restore",
        directory=str(repository.top),
        since=clock.now(),
    )
