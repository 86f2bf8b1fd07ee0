"""Connects to Temporal, as its own settings say: `TEMPORAL_ADDRESS` and its like, or `temporal.toml`."""

import re
from typing import TYPE_CHECKING

from spool.app.machine.extras import install_command
from spool.domain.text.plain_text import one_line
from spool.errors import Hint, SpoolError, UsageError
from spool.fleet.queue.embedded_server import local_server

if TYPE_CHECKING:
    from temporalio.client import Client

_DEFAULT = "127.0.0.1:7233"
_OWN_WORDS = re.compile(r'(?:message|error): "([^"]+)"')


def require_extra() -> None:
    """Raise a UsageError unless the extra is installed."""
    try:
        import temporalio.client  # noqa: F401 - 0.4 s, only for the fleet
    except ImportError:
        raise UsageError("the fleet needs the extra [fleet]", hint=install_command("fleet")) from None


async def connect() -> "Client":
    """Return a client; raise if the server does not answer."""
    require_extra()
    from temporalio.client import Client
    from temporalio.envconfig import ClientConfig

    try:
        config = ClientConfig.load_client_connect_config()
    except RuntimeError as error:
        raise UsageError(f"Temporal's settings cannot be read: {error}") from None
    local = local_server()
    address = config.setdefault("target_host", local.address if local else _DEFAULT)
    try:
        return await Client.connect(**config)
    except RuntimeError as error:
        raise SpoolError(f"no Temporal server at {address}: {_why(str(error))}", hint=Hint.FLEET_UP) from None


def _why(said: str) -> str:
    """Return the operating system's words from what the SDK says of a failed connection, or else all of it."""
    found = _OWN_WORDS.search(said)
    return one_line(found[1] if found else said, 200)
