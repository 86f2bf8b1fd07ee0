"""The agent misbehaves in every way it knows, and the person gets everything back."""

from __future__ import annotations

from tests.journeys.person import Person

NOTES = "what I must not lose\n"


def test_whatever_the_agent_did_undo_brings_back_every_file(person: Person) -> None:
    notes = person.shop.root / "notes.txt"
    notes.write_text(NOTES)
    before = {path.name: path.read_bytes() for path in person.shop.root.iterdir() if path.is_file()}
    person.hires("deletes", "guts", "lies", "fails")
    code, text = person.types("spool run PLAN.md --allow-all --verify 'make test'")
    assert code == 1, text
    assert "deleted notes.txt" in text and "spool undo" in text
    assert not notes.exists()
    person.does("spool undo PLAN.md --yes")
    assert {path.name: path.read_bytes() for path in person.shop.root.iterdir() if path.is_file()} == before
    person.hires("crashes", "works", "works")
    person.does("spool run PLAN.md --allow-all --verify 'make test' --on-resume keep", "proved")
    assert notes.read_text() == NOTES
    person.does("spool report", "2 proved")
    person.does("spool undo PLAN.md --run --yes")
    assert (person.shop.root / "shop.py").read_bytes() == before["shop.py"]
