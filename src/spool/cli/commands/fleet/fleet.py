"""`spool fleet`: runs changes on many hosts."""

import os

import click

from spool.cli import edge
from spool.cli.main import Commands
from spool.domain.text.plain_text import one_line
from spool.fleet.values import is_account

_COMMANDS = {
    "up": ("spool.cli.commands.fleet.up:up", "Run a Temporal server on this machine, for the fleet's queue."),
    "worker": ("spool.cli.commands.fleet.worker:worker", "Take changes from the queue, and run them on this host."),
    "submit": ("spool.cli.commands.fleet.submit:submit", "Put changes into the queue."),
    "list": ("spool.cli.commands.fleet.look:list_rows", "List the changes in the fleet."),
    "show": ("spool.cli.commands.fleet.look:show", "Show one change in the fleet, with its last iterations."),
    "stop": ("spool.cli.commands.fleet.steer:stop", "Stop changes, and wait until their agents have exited."),
    "retry": (
        "spool.cli.commands.fleet.steer:retry",
        "Continue changes that are stuck, stopped or failed, or push their results again.",
    ),
    "account": (
        "spool.cli.commands.fleet.steer:account",
        "Show an account, or limit how many of its changes run at once.",
    ),
}


@click.group("fleet", cls=Commands, table=_COMMANDS)
def fleet() -> None:
    """Run changes on many hosts.

    A Temporal server holds the queue; each worker runs changes in clones, and saves a snapshot before each agent
    starts. If a host dies, another one continues from the last snapshot.

    The server is found as Temporal's own tools find it: TEMPORAL_ADDRESS and its like, temporal.toml, or else the one
    that `spool fleet up` started on this machine.
    """


def require_fleet() -> None:
    """Load Temporal's SDK, or raise a UsageError if the extra is not installed."""
    from spool.fleet.queue.connection import require_extra

    require_extra()
    # The interpreter's own end crashes now and then while threads of the SDK still run (sdk-python issue 300).
    edge.leave_by(os._exit)


class AccountName(click.ParamType[str]):
    """Takes what can name an account; a flag without a value names none."""

    name = "account"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name, or fail."""
        if is_account(value) or (param is not None and value == param.default):
            return value
        return self.fail(
            f"'{one_line(value, 60)}' is not the name of an account: letters, digits and . _ @ + -", param, ctx
        )
