"""Fifty loops and a hundred thousand events: the page shows the end first, and stays small."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from spool.domain.agent.stream import Message, ToolResult, ToolUse
from spool.domain.loop.events import Event
from spool.domain.loop.verdict import Status
from tests.support import Scratch, make_scratch
from tests.support.scene import half_way, said
from tests.support.web import Server, events_of, log_of, serving
from tests.web.fleet import add_loop

pytest.importorskip("starlette")
pytestmark = pytest.mark.xdist_group("web-scale")  # its machine is made once
EVENTS = 100_000
_LARGEST_PAGE = 1 << 20


def many(count: int) -> Iterator[Event]:
    """Yield the events of a loop whose agent talks a lot."""
    yield from half_way()
    for number in range(count // 4):
        yield from said(
            "2",
            3,
            Message(text=f"message {number} says what comes next", partial=True),
            Message(text=", and why."),
            ToolUse(tool="bash", summary=f"pytest -q tests/test_{number}.py", call_id=f"call-{number}"),
            ToolResult(output=f"{number} passed\n" * 4, call_id=f"call-{number}"),
        )


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    made = make_scratch(tmp_path_factory.mktemp("fleet"), git=False)
    statuses = (Status.RUNNING, Status.DONE, Status.STUCK, Status.STOPPED)
    for number in range(1, 50):
        add_loop(made, number, statuses[number % 4])
    add_loop(made, 0, events=many(EVENTS), project="large", step=timedelta(milliseconds=20))
    return made


@pytest.fixture(scope="module")
def server(machine: Scratch) -> Iterator[Server]:
    with serving(machine) as made:
        yield made


def large(server: Server) -> str:
    found = re.findall(rf'href="{server.base}(loop/000000)"', server.get().text)
    return str(found[0])


def test_all_loops_are_listed(server: Server) -> None:
    text = server.get().text
    assert len(set(re.findall(r'href="[^"]+/loop/[0-9a-f]+"', text))) == 50
    assert len(text) < _LARGEST_PAGE


def test_the_end_of_a_long_stream_comes_first(server: Server) -> None:
    text = server.get(large(server)).text
    last = EVENTS // 4 - 1
    assert f"message {last} says" in text
    assert f"message {last // 2} says" not in text
    assert len(text) < _LARGEST_PAGE
    assert "3 of 20 iterations" in text


def test_any_part_of_a_long_stream_can_be_read(server: Server, machine: Scratch) -> None:
    path, seen = f"{large(server)}/log", set[int]()
    for _ in range(3):
        text = server.get(path).text
        shown = {int(number) for number in re.findall(r"message (\d+) says", text)}
        assert shown
        assert len(text) < _LARGEST_PAGE
        assert len(seen & shown) <= 1
        seen |= shown
        path = re.findall(rf'href="{server.base}([^"]+)">Earlier<', text)[0]
    assert max(seen) - min(seen) == len(seen) - 1  # nothing is missing between two pages
    first = server.get(f"{large(server)}/log?at=0").text
    assert "I read the proposal" in first


def test_the_server_stays_small(server: Server) -> None:
    events_of(server, f"{large(server)}/stream", log_of)
    for number in range(1, 50):
        assert server.get(f"loop/{number:06x}").status == 200
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    peak_mib = int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1024
    assert peak_mib < 200
