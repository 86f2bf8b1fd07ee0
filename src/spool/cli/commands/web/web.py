"""`spool web`: shows all loops of this machine in a browser."""

import ipaddress
import os
import sys
from contextlib import ExitStack
from importlib.util import find_spec

import click

from spool.cli.options.groups import GroupedCommand
from spool.errors import SpoolError, UsageError
from spool.views.say import say

_PORT = 8770
_PASSWORD = "SPOOL_WEB_PASSWORD"  # noqa: S105 - the name of a variable
_SHORTEST = 12
_EXAMPLES = (
    "spool web --open",
    "spool web --control",
    "ssh -L 8770:127.0.0.1:8770 workstation spool web",
)


@click.command("web", cls=GroupedCommand, examples=_EXAMPLES)
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=_PORT, show_default=True, help="Listen on this port; 0 takes any."
)
@click.option("--open", "in_browser", is_flag=True, help="Open the page in your browser.")
@click.option("--control", is_flag=True, help="Let the page stop loops and add notes to their prompts.")
@click.option(
    "--listen",
    "address",
    metavar="ADDR",
    default="127.0.0.1",
    show_default=True,
    help=f"Listen on this IP address. Other machines need a password: {_PASSWORD}, or it is asked for.",
)
def web(port: int, in_browser: bool, control: bool, address: str) -> None:
    """Show all loops of this machine in a browser, live: stories, gates, the agent's stream, diffs and receipts.

    The page only reads, unless you say --control; nothing on it starts an agent. Open the printed address: its token is
    exchanged for a cookie. Ctrl-C ends the page, and no loop. Needs the extra [web].
    """
    _require_extra()
    loopback = _is_loopback(address)
    password = "" if loopback else _read_password(address)
    from spool.web.access import Access, url_of
    from spool.web.server import listen, serve

    with listen(address, port) as listening, ExitStack() as stack:
        access = Access(address, listening.getsockname()[1], password)
        url = url_of(address, listening.getsockname()[1]) + ("" if password else f"?token={access.token}")
        say(url)
        sys.stdout.flush()
        say("Ctrl-C ends the page; loops continue.", err=True)
        if in_browser:
            from spool.app.machine.browser import opened_in_browser

            if not stack.enter_context(opened_in_browser(url)):
                say("No browser was found; open the address yourself.", err=True)
        serve(listening, access, control=control)


def _require_extra() -> None:
    from spool.app.machine.extras import install_command

    if missing := [name for name in ("starlette", "uvicorn") if find_spec(name) is None]:
        raise SpoolError(f"spool web needs {' and '.join(missing)}", hint=f"install it: {install_command('web')}")


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        raise UsageError(f"'{address}' is not an IP address", hint="for example: --listen 192.168.1.20") from None


def _read_password(address: str) -> str:
    password = os.environ.pop(_PASSWORD, "")  # nothing that the page starts inherits it
    if not password and not sys.stdin.isatty():
        raise UsageError(f"listening on {address} needs a password", hint=f"set {_PASSWORD}, or run it on a terminal")
    if not password:
        password = click.prompt("Password for the page", hide_input=True, confirmation_prompt=True, err=True)
    if len(password) < _SHORTEST:
        raise UsageError(f"the password is shorter than {_SHORTEST} characters")
    return password
