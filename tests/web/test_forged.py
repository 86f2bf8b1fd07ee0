"""Files that an agent has forged: they spoil the page of their own loop at most."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spool.domain.loop.summary import LoopSummary
from spool.domain.loop.verdict import Status
from tests.support import make_scratch
from tests.support.web import events_of, serving
from tests.web.fleet import add_loop

pytest.importorskip("starlette")
STATES: list[dict[str, Any]] = [
    {"updated_at": "2026-03-02T09:30:00"},
    {"started_at": "0001-01-01T00:00:00+14:00", "waiting_until": "9999-12-31T23:59:59-14:00"},
    {"limits": {"max_cost_usd": 1e308}, "usage": {"cost_usd": 1e308, "tokens_in": 1 << 62, "tokens_out": 1 << 62}},
    {"reason": "x" * 1_000_000, "harness": "\ud800" * 10},
    {"iteration": -5, "run_iteration": -(1 << 62)},
]
EVENTS: list[dict[str, Any]] = [
    {"type": "Waiting", "at": "9999-12-31T23:59:59Z", "seconds": 1e308, "until": "9999-12-31T23:59:59Z", "reason": ""},
    {"type": "WaitEnded", "at": "9999-12-31T23:59:59Z", "seconds": 1e308},
    {"type": "GateStarted", "at": "0001-01-01T00:00:00Z", "gate": "x", "purpose": "claim", "expected_s": -1e308},
    {
        "type": "GateEnded",
        "at": "0001-01-01T00:00:00Z",
        "gate": "x",
        "purpose": "claim",
        "green": True,
        "duration_s": 1e308,
    },
    {
        "type": "IterationStarted",
        "at": "2026-01-01T00:00:00",
        "iteration": 1,
        "run_iteration": 1,
        "max_iterations": 1,
        "prompt": "",
    },
    {
        "type": "IterationStarted",
        "iteration": 1 << 62,
        "run_iteration": 1,
        "max_iterations": None,
        "prompt": "/etc/passwd",
    },
    {"type": "CheckpointSaved", "story_id": "1", "tree": "--output=/tmp/x"},
    {"type": "StoryDone", "story_id": "1", "title": "x", "commit": "--help"},
    {"type": "RunEnded", "at": "0001-01-01T00:00:00Z", "status": "done", "reason": "", "exit_code": 0},
]


def forge(loop: LoopSummary, values: dict[str, Any]) -> None:
    path = Path(loop.folder) / "state.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_one_forged_loop_hides_no_other(tmp_path: Path) -> None:
    machine = make_scratch(tmp_path)
    add_loop(machine, 99, change="sound")
    for number, values in enumerate(STATES):
        forge(add_loop(machine, number, change=f"state-{number}"), values)
    for number, event in enumerate(EVENTS):
        loop = add_loop(
            machine, 50 + number, Status.RUNNING if number % 2 else Status.STOPPED, change=f"event-{number}"
        )
        with (Path(loop.folder) / "journal.jsonl").open("a") as file:
            file.write(json.dumps(event) + "\n")
    for zone in ("UTC", "America/Los_Angeles", "Asia/Tokyo"):
        with serving(machine, env={"TZ": zone}) as server:
            listed = server.get()
            assert listed.status == 200
            for name in (
                "sound",
                *(f"state-{n}" for n in range(len(STATES))),
                *(f"event-{n}" for n in range(len(EVENTS))),
            ):
                assert f">{name}<" in listed.text
            assert server.get("loop/000063").status == 200
            events_of(server, "stream", bool)
            for number in (*range(len(STATES)), *range(50, 50 + len(EVENTS))):
                for path in ("", "/log", "/story?id=1", "/story?id=2"):
                    got = server.get(f"loop/{number:06x}{path}")
                    assert got.status in (200, 404, 422), (zone, number, path)
                    assert "root:" not in got.text
            damaged = {
                number for number in range(50, 50 + len(EVENTS)) if server.get(f"loop/{number:06x}").status != 200
            }
            assert len(damaged) <= 4
