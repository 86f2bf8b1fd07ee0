"""The settings of a file travel through a loop that the page stops."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spool.host.state.specs import kept_spec
from tests.support import Scratch, make_scratch, wait_for
from tests.support.every_setting import KINDS, configure
from tests.support.web import serving

pytest.importorskip("starlette")


@pytest.fixture(params=KINDS)
def scratch(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Scratch]:
    made = make_scratch(tmp_path)
    configure(made, request.param)
    yield made
    made.spool("stop", "--all-projects")


def play(scratch: Scratch, *steps: dict[str, Any]) -> None:
    """Change what the agent does, and no settings."""
    (scratch.home / "script.json").write_text(json.dumps({"iteration": [{"steps": steps}]}))


def test_a_loop_that_control_stops_continues_with_them(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in scratch.env.items():
        monkeypatch.setenv(name, value)
    play(scratch, {"say": "Working"}, {"sleep": 600})
    started = scratch.run("--detach")
    assert started.returncode == 0, started.stderr
    before = kept_spec(str(scratch.run_state))
    assert before is not None and before.settings.gates
    with serving(scratch, "--control") as server:
        assert server.post(f"{server.loop()}/stop").status == 200
        wait_for(lambda: "Stop this loop" not in server.get(server.loop()).text)
    play(scratch, {"write": "work.txt", "text": "done\n"}, {"tick": 9}, {"promise": "COMPLETE"})
    done = scratch.run()
    assert done.returncode == 0, done.stdout + done.stderr
    after = kept_spec(str(scratch.run_state))
    assert after is not None and after.settings == before.settings
