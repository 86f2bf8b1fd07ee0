"""A fleet on one laptop: a server, a worker, a change in the queue, and its branch on the way to main."""

from __future__ import annotations

import pytest

from tests.journeys.person import Person
from tests.journeys.test_together import write_changes

pytest.importorskip("temporalio", reason="the extra fleet is not installed")


@pytest.mark.long
def test_a_change_in_the_queue_is_worked_on_and_lands(person: Person) -> None:
    write_changes(person)
    person.does(f"git init -q --bare {person.shop.home}/origin.git")
    person.does(f"git remote add origin {person.shop.home}/origin.git && git push -q origin main")
    person.does("{ spool fleet up > ~/up.log 2>&1 & echo $! > ~/up; } ; true")
    started = person.shop.home / ".local/state/spool/fleet/server.json"
    person.terminal.until(started.exists, "the server")
    person.does("spool fleet submit add-tax --allow-all --verify 'make test'", "add-tax")
    person.does("timeout 250 spool fleet worker --slots 1 --once", "add-tax")
    person.does("spool fleet list", "done")
    person.does("kill $(cat ~/up); wait; git fetch -q origin")
    person.does("git branch change/add-tax origin/change/add-tax")
    person.does("git show change/add-tax:shop.py", "discounted")
