"""The agent's stream as it comes: from the journal, resumed where a browser was, and bounded."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import Scratch, make_scratch, wait_for
from tests.support.tui import two_stories
from tests.support.web import Event, Server, events_of, log_of, serving

pytest.importorskip("starlette")


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Scratch]:
    scratch = make_scratch(tmp_path)
    yield scratch
    scratch.spool("stop", "--all-projects")


def start(machine: Scratch, *iterations: list[dict[str, Any]]) -> None:
    """Start a loop in the background, and wait until its agent works."""
    two_stories(machine, *iterations)
    assert machine.run("--detach").returncode == 0
    journal = machine.run_state / "journal.jsonl"
    wait_for(lambda: journal.exists() and b"Working" in journal.read_bytes())


def waits(name: str) -> dict[str, Any]:
    """Return a step in which the agent waits for a file."""
    return {"run": ["sh", "-c", f"while ! test -e {name}; do sleep 0.05; done"]}


def shown(found: list[Event], name: str) -> str:
    return "".join(one.data.get(name, "") for one in found if one.name == "panels")


def test_a_page_follows_a_loop_to_its_end(machine: Scratch, tmp_path: Path) -> None:
    more, last = tmp_path / "more", tmp_path / "last"
    start(
        machine,
        [{"say": "Working"}, waits(str(more)), {"say": "Half"}, waits(str(last)), {"tick": 1}, {"promise": "COMPLETE"}],
        [{"say": "On"}, {"tick": 1}, {"promise": "COMPLETE"}],
    )
    with serving(machine) as server:
        loop = server.loop()
        page = server.get(loop).text
        assert "Working" in page
        assert "► running" in page
        assert "Tasks of 1 Loop" in page
        cursor = re.findall(r'data-from="([^"]+)"', page)[0]
        more.touch()
        found = events_of(server, f"{loop}/stream?from={cursor}", lambda seen: "Half" in log_of(seen))
        assert "Working" not in log_of(found)  # the page has it
        resumed = next(one.id for one in reversed(found) if one.id)
        last.touch()

        def over(seen: list[Event]) -> bool:
            """Whether all parts have come; the panels may be ahead of the stream, which is read before them."""
            parts = {"now": "~ done", "figures": "2 of 2 ticked", "title": "~ 002-01_add-ralph-loop"}
            return "On" in log_of(seen) and all(part in shown(seen, name) for name, part in parts.items())

        rest = events_of(server, f"{loop}/stream?from={cursor}", over, Last_Event_ID=resumed)
        assert "Half" not in log_of(rest)


def write(machine: Scratch, *said: dict[str, Any], name: str = "journal.jsonl") -> None:
    with (machine.run_state / name).open("a") as file:
        for event in said:
            file.write(json.dumps({"type": "StoryEvent", "story_id": "1", "iteration": 1, "event": event}) + "\n")


def ended(machine: Scratch) -> None:
    two_stories(machine, [{"say": "I stop."}])
    machine.run("--max-retries", "0")


def test_what_is_still_open_is_completed_under_its_own_id(machine: Scratch) -> None:
    ended(machine)
    write(machine, {"kind": "message", "text": "One, ", "partial": True})
    write(machine, {"kind": "tool_use", "tool": "Bash", "summary": "make", "call_id": "a"})
    with serving(machine) as server:
        page = server.get(server.loop()).text
        cursor = re.findall(r'data-from="([^"]+)"', page)[0]
        place = re.findall(r'id="(e\d+)"[^>]*><p class="call">Bash make', page)[0]
        write(machine, {"kind": "tool_result", "output": "all green", "call_id": "a"})
        stream = f"{server.loop()}/stream?from={cursor}"
        found = events_of(server, stream, lambda seen: "all green" in log_of(seen))
        assert f'id="{place}"' in log_of(found)
        write(machine, {"kind": "message", "text": "Two, ", "partial": True})
        after = events_of(server, stream, lambda seen: "Two" in log_of(seen))
        write(machine, {"kind": "message", "text": "three."})
        # The id of the last event leads back to the start of the message that was open.
        rest = events_of(server, stream, lambda seen: "three" in log_of(seen), Last_Event_ID=after[-1].id or cursor)
        assert "Two, three." in log_of(rest)


def test_a_browser_far_behind_starts_anew_at_the_end(machine: Scratch) -> None:
    ended(machine)
    with serving(machine) as server:
        cursor = re.findall(r'data-from="([^"]+)"', server.get(server.loop()).text)[0]
        write(machine, *({"kind": "message", "text": f"message {number} {'x' * 900}"} for number in range(3_000)))
        found = events_of(server, f"{server.loop()}/stream?from={cursor}", log_of)
        assert found[0].data["anew"] is True
        assert "message 2999" in log_of(found)
        assert "message 1000 " not in log_of(found)
        assert "before=" in found[0].data["earlier"]
        assert len(log_of(found)) < 400_000


def test_a_fresh_run_begins_a_new_stream(machine: Scratch) -> None:
    ended(machine)
    with serving(machine) as server:
        loop = server.loop()
        cursor = re.findall(r'data-from="([^"]+)"', server.get(loop).text)[0]
        machine.script([{"say": "From the start"}])
        machine.run("--fresh", "--max-retries", "0")
        found = events_of(server, f"{loop}/stream?from={cursor}", lambda seen: "From the start" in log_of(seen))
        assert any(one.data.get("anew") for one in found)


def test_the_list_follows_loops_that_start_and_end(machine: Scratch, tmp_path: Path) -> None:
    go = tmp_path / "go"
    with serving(machine) as server:
        assert "No loop has ended yet." in server.get().text
        start(machine, [{"say": "Working"}, waits(str(go))])
        events_of(
            server,
            "stream",
            lambda seen: "►" in shown(seen, "running") and "1 loop running" in shown(seen, "title"),
        )
        machine.spool("stop", "--all")
        events_of(server, "stream", lambda seen: "stopped" in shown(seen, "ended"))


def test_a_browser_that_reads_nothing_holds_up_no_loop_and_no_other_browser(machine: Scratch, tmp_path: Path) -> None:
    go = tmp_path / "go"
    start(
        machine, [{"say": "Working"}, waits(str(go)), {"tick": 9}, {"promise": "COMPLETE"}], [{"promise": "COMPLETE"}]
    )
    with serving(machine) as server:
        dead = []
        for _ in range(8):
            client = socket.create_connection(("127.0.0.1", server.port))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            client.sendall(server.head(f"{server.loop()}/stream"))
            dead.append(client)
        write(machine, *({"kind": "message", "text": "x" * 4_000} for _ in range(500)))
        go.touch()
        events_of(server, f"{server.loop()}/stream", lambda seen: "~ done" in shown(seen, "now"))
        for client in dead:
            client.close()


def test_a_server_that_hangs_or_dies_holds_up_no_loop(machine: Scratch, tmp_path: Path) -> None:
    go = tmp_path / "go"
    start(
        machine, [{"say": "Working"}, waits(str(go)), {"tick": 9}, {"promise": "COMPLETE"}], [{"promise": "COMPLETE"}]
    )
    with serving(machine) as server:
        os.kill(server.process.pid, signal.SIGSTOP)
        go.touch()
        wait_for(lambda: json.loads((machine.run_state / "state.json").read_text())["status"] == "done")
        server.process.kill()


def test_more_pages_than_are_followed_are_refused_and_the_rest_works(machine: Scratch) -> None:
    ended(machine)
    with serving(machine) as server:
        path = f"{server.base}{server.loop()}/stream"
        held = []
        for _ in range(32):
            connection = server.connect()
            connection.request("GET", path, headers={"Host": server.host, "Cookie": server.cookie})
            answer = connection.getresponse()
            assert answer.fp.readline()
            held.append(answer)
        assert server.get(f"{server.loop()}/stream").status == 503
        assert server.get(server.loop()).status == 200
        for answer in held:
            answer.close()
        wait_for(lambda: follows(server))


def test_a_burst_of_pages_that_follow_does_not_pass_the_limit(machine: Scratch) -> None:
    ended(machine)
    with serving(machine) as server:
        path = f"{server.base}{server.loop()}/stream"
        opened = [server.connect() for _ in range(60)]
        os.kill(server.process.pid, signal.SIGSTOP)
        for connection in opened:
            connection.request("GET", path, headers={"Host": server.host, "Cookie": server.cookie})
        os.kill(server.process.pid, signal.SIGCONT)
        answers = [connection.getresponse() for connection in opened]
        assert sorted(answer.status for answer in answers) == [200] * 32 + [503] * 28
        for answer in answers:
            answer.close()
        wait_for(lambda: follows(server))


def follows(server: Server) -> bool:
    connection = server.connect()
    connection.request("GET", f"{server.base}stream", headers={"Host": server.host, "Cookie": server.cookie})
    status = connection.getresponse().status
    connection.close()
    return status == 200
