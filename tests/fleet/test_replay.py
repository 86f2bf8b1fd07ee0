"""Histories of workflows that earlier versions have written are replayed: an upgrade finds changes in flight.

`SPOOL_RECORD=1 pytest tests/fleet/test_replay.py` records them anew, which is right only with a new protocol version.
"""

import asyncio
import json
import os
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client, WorkflowHistory
from temporalio.worker import Replayer

from spool.fleet.queue.workflows import AccountQueue, ChangeRun
from spool.fleet.values import PROTOCOL
from tests.fleet.support import Fleet
from tests.support import wait_for

HISTORIES = Path(__file__).parent / "histories"
CHANGES = ("001-01_one", "002-01_two", "003-01_three")


@pytest.mark.parametrize("path", sorted(HISTORIES.glob("*.json")), ids=lambda path: path.stem)
async def test_a_recorded_history_is_replayed(path: Path) -> None:
    history = WorkflowHistory.from_json(path.stem, path.read_text())
    await Replayer(workflows=[ChangeRun, AccountQueue]).replay_workflow(history)


def test_there_are_histories_of_this_protocol() -> None:
    names = {path.stem for path in HISTORIES.glob("*.json")}
    assert names >= {f"{PROTOCOL}-{name}" for name in ("done", "in-flight", "limited", "account")}


@pytest.mark.skipif("SPOOL_RECORD" not in os.environ, reason="records histories only when asked to")
def test_record(fleet: Fleet) -> None:
    fleet.make(*CHANGES, stories=1)
    limited = {"error": "too many requests", "error_kind": "rate_limit", "retry_after_s": 2}
    rest = [{"write": "out.txt", "text": "x"}, {"tick": 2}, {"promise": "COMPLETE"}]
    script = fleet.base / "script.json"
    script.write_text(json.dumps({"iteration": [{"steps": [limited]}, {"steps": rest}]}))
    fleet.host("a", slots=2)
    fleet.submit(CHANGES[0], heartbeat=60)
    fleet.ends(CHANGES[0])
    _record(fleet, "done", fleet.row(CHANGES[0])["id"])
    fleet.hold(CHANGES[1])
    fleet.submit(CHANGES[1], heartbeat=60)
    fleet.working(CHANGES[1])
    _record(fleet, "in-flight", fleet.row(CHANGES[1])["id"])
    fleet.release(CHANGES[1])
    config = fleet.person / ".config" / "spool" / "config.toml"
    config.write_text(f'harness = "scripted"\n[harnesses.scripted]\nscript = "{script}"\n')
    fleet.submit(CHANGES[2], heartbeat=60)
    fleet.ends(CHANGES[2])
    _record(fleet, "limited", fleet.row(CHANGES[2])["id"])
    fleet.host("b", slots=2, env={"FLEET_ACCOUNT": "team"})
    assert fleet.spool("fleet", "account", "team", "--cap", "1").returncode == 0
    fleet.submit(CHANGES[0], CHANGES[1], "--account", "team", "--fresh", heartbeat=60)
    wait_for(lambda: {row["account"] for row in fleet.rows().values()} >= {"team"}, "the account")
    fleet.ends(CHANGES[0], CHANGES[1])
    _record(fleet, "account", "account/team")


def _record(fleet: Fleet, name: str, workflow_id: str) -> None:
    async def fetch() -> str:
        client = await Client.connect(f"127.0.0.1:{fleet.server.port}")
        return (await client.get_workflow_handle(workflow_id).fetch_history()).to_json()

    history = _moved(json.loads(asyncio.run(fetch())), str(fleet.base))
    (HISTORIES / f"{PROTOCOL}-{name}.json").write_text(json.dumps(history, indent=1) + "\n")


def _moved(value: Any, base: str) -> Any:
    """Return a history as if it had been recorded elsewhere; payloads are in base64."""
    if isinstance(value, list):
        return [_moved(one, base) for one in value]
    if isinstance(value, str):
        return value.replace(base, "/srv/fleet")
    if not isinstance(value, dict):
        return value
    found = {key: _moved(one, base) for key, one in value.items()}
    if isinstance(data := found.get("data"), str):
        found["data"] = b64encode(b64decode(data).replace(base.encode(), b"/srv/fleet")).decode()
    return found
