"""A person works with an agent by hand; Spool's hook sends it back while a test is red."""

from __future__ import annotations

import json

from tests.journeys.person import Person


def test_the_hook_blocks_a_red_stop_and_passes_a_green_one(person: Person) -> None:
    person.does("spool init", Which_command="Enter")
    person.does("git add -A && git commit -qm settings")
    shop = person.shop.root / "shop.py"

    def hook(event: str) -> str:
        said = {"session_id": "s1", "hook_event_name": event, "cwd": str(person.shop.root)}
        (person.shop.home / "said").write_text(json.dumps(said))
        return person.does("spool verify --hook < ~/said")

    assert "block" not in hook("SessionStart")
    good = shop.read_text()
    shop.write_text("def total(prices):\n    return 0\n")
    assert "block" in (refused := hook("Stop")) and "test_total" in refused
    shop.write_text(good + "\n\ndef discounted(amount):\n    return amount * 0.9 if amount >= 100 else amount\n")
    assert "block" not in hook("Stop")
    person.does("spool verify", "proved")
