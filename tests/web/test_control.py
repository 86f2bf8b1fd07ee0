"""`--control`: the page stops loops and leaves notes, for its own forms alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.support import CHANGE, Scratch, make_scratch, wait_for
from tests.support.web import Server, serving

pytest.importorskip("starlette")


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Scratch]:
    scratch = make_scratch(tmp_path)
    scratch.script([{"say": "Working"}, {"sleep": 600}])
    assert scratch.run("--detach").returncode == 0
    journal = scratch.run_state / "journal.jsonl"
    wait_for(lambda: journal.exists() and b"Working" in journal.read_bytes())
    yield scratch
    scratch.spool("stop", "--all-projects")


@pytest.fixture
def server(machine: Scratch) -> Iterator[Server]:
    with serving(machine, "--control") as made:
        yield made


def status(machine: Scratch) -> str:
    return str(json.loads(machine.spool("ps", "--all", "--json").stdout)[0]["status"])


def test_a_loop_is_stopped(machine: Scratch, server: Server) -> None:
    assert "Stop this loop" in server.get(server.loop()).text
    got = server.post(f"{server.loop()}/stop")
    assert (got.status, "A stop is requested" in got.text) == (200, True)
    wait_for(lambda: status(machine) == "stopped")
    assert "spool web" in machine.spool("ps", "--all").stdout
    wait_for(lambda: "Nothing to stop" in server.post(f"{server.loop()}/stop").text)  # its runner may still be leaving
    wait_for(lambda: "Stop this loop" not in server.get(server.loop()).text)


def test_a_note_reaches_the_next_prompt(machine: Scratch, server: Server) -> None:
    note = "Use <b>metric</b> units\r\nand no others; é"
    assert server.post(f"{server.loop()}/note", urlencode({"note": note})).status == 200
    machine.spool("stop", "--all")
    machine.script([{"say": "I stop."}])
    machine.run("--max-retries", "0")
    prompt = sorted((machine.run_state / "logs").glob("*.prompt.md"))[-1].read_text()
    assert "Use <b>metric</b> units\nand no others; é" in prompt


def test_a_note_that_is_empty_or_endless_is_refused(machine: Scratch, server: Server) -> None:
    assert server.post(f"{server.loop()}/note", "note=").status == 400
    assert server.post(f"{server.loop()}/note", "&".join(["a=b"] * 100)).status == 413
    with suppress(ConnectionError):  # the server does not read it to its end
        assert server.post(f"{server.loop()}/note", f"note={'x' * (3 << 20)}").status == 413
    assert not (machine.run_state / "context.md").exists()


FOREIGN: tuple[dict[str, str], ...] = (
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "http://localhost"},
    {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"},
    {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "navigate"},
    {"Sec_Fetch_Site": "none"},
    {},
)


def test_a_post_of_another_site_or_without_a_session_changes_nothing(machine: Scratch, server: Server) -> None:
    for what in ("stop", "note"):
        path = f"{server.base}{server.loop()}/{what}"
        for headers in FOREIGN:
            assert server.ask(path, "POST", "note=x", Cookie=server.cookie, **headers).status == 403, headers
        assert server.ask(path, "POST", "note=x", Origin=f"http://{server.host}").status == 401
        assert server.get(f"{server.loop()}/{what}").status == 405
    assert status(machine) == "running"
    assert not (machine.run_state / "context.md").exists()
    assert CHANGE in server.get().text


def test_a_form_that_never_ends_holds_up_nobody(server: Server) -> None:
    connection = server.connect()
    connection.putrequest("POST", f"{server.base}{server.loop()}/note", skip_host=True)
    for name, value in {"Host": server.host, "Cookie": server.cookie, "Origin": f"http://{server.host}"}.items():
        connection.putheader(name, value)
    connection.putheader("Content-Length", "1000")
    connection.endheaders(b"note=")
    assert server.get().status == 200
    assert connection.getresponse().status == 413
    connection.close()
