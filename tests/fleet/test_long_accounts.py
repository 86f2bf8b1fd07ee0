"""The history of an account is limited: it continues in a new part, with its queue and with what runs."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from temporalio.client import Client

from tests.fleet.census import Census
from tests.fleet.support import Fleet, Server, environment, free_port
from tests.support import wait_for

pytestmark = pytest.mark.long  # hundreds of updates

CAP = 2
EVENTS = 25


class ShortServer(Server):
    """A server that asks for a new part of a history after a few events."""

    _at: tuple[int, subprocess.Popen[bytes]]

    def start(self) -> None:
        port = free_port()
        words = [str(Path(sys.executable).parent / "temporal"), "server", "start-dev", "--headless"]
        words += ["--log-level", "never", "--ip", "127.0.0.1", "--port", str(port)]
        words += ["--dynamic-config-value", f"limit.historyCount.suggestContinueAsNew={EVENTS}"]
        self._at = (port, subprocess.Popen(words, env=environment(self.home), stdout=subprocess.DEVNULL))

    def start_anew_if_ended(self) -> None:
        """Take another port if somebody else took this one between the trial and the start."""
        if self._at[1].poll() is not None:
            self.start()

    @property
    def port(self) -> int:
        return self._at[0]

    def kill(self) -> None:
        self._at[1].kill()
        self._at[1].wait()


@pytest.fixture
def short(tmp_path: Path) -> Iterator[Fleet]:
    (tmp_path / "server").mkdir()
    server = ShortServer(tmp_path / "server")
    server.start()

    async def answers() -> bool:
        server.start_anew_if_ended()
        try:
            await Client.connect(f"127.0.0.1:{server.port}")
        except RuntimeError:
            return False
        return True

    wait_for(lambda: asyncio.run(answers()), "the server")
    made = Fleet(tmp_path, server, "long_accounts")
    yield made
    made.close()
    server.kill()


def test_a_long_account_continues_with_its_queue_and_its_cap(short: Fleet) -> None:
    changes = [f"{n:03d}-01_change" for n in range(8)]
    short.make(*changes, stories=1)
    assert short.spool("fleet", "account", "long", "--cap", str(CAP)).returncode == 0
    census = Census(short.notes)
    short.host("a", slots=4, env={"FLEET_ACCOUNT": "long"})
    short.submit("--all", "--account", "long", heartbeat=60)
    short.ends(*changes)
    assert 0 < census.end() <= CAP
    for change in changes:
        short.is_exact(change, 1)
    assert len(short.agents()) == len(changes)

    async def parts() -> int:
        client = await Client.connect(f"127.0.0.1:{short.server.port}")
        return len([one async for one in client.list_workflows("WorkflowId = 'account/long'")])

    assert asyncio.run(parts()) > 1
