"""A person leaves a loop to itself; it is killed, and the morning brings it home."""

from __future__ import annotations

import json
import os
import signal

from tests.journeys.person import Person
from tests.support import wait_for


def runner_pid(person: Person) -> int:
    """Return the process that drives the only loop."""
    loops = person.shop.home / ".local/state/spool/loops"
    (entry,) = wait_for(lambda: list(loops.glob("*.json")))
    pid: int = json.loads(entry.read_text())["runner"]["pid"]
    return pid


def test_a_detached_loop_that_is_killed_continues_and_ends_proved(person: Person) -> None:
    person.hires("works", "sleeps")
    person.does("spool run PLAN.md --allow-all --verify 'make test' --commit-stories --detach")
    person.starts("spool logs --follow PLAN.md")
    person.sees("Thinking.")
    person.presses("C-c")
    os.kill(runner_pid(person), signal.SIGKILL)
    wait_for(lambda: "No loop is running" in person.does("spool ps"))
    person.does("spool run PLAN.md --status", "its runner died", "Receipts")
    person.does("spool run PLAN.md --allow-all --verify 'make test' --commit-stories", "proved")
    person.does("spool report", "2 proved", "interrupted")
    assert person.shop.git("log", "--format=%s").count("\n") == 4, "start, shop, two stories"
