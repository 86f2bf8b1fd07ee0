"""A person reads the README, and types what it says."""

from __future__ import annotations

from tests.journeys.person import Person


def test_from_the_readme_to_a_proved_story_and_its_report(person: Person) -> None:
    person.does("spool --version", "spool 0.")
    person.does("spool init", ".spool/config.toml", Which_command="Enter")
    person.does("git add -A && git commit -qm settings")
    text = person.does("spool run PLAN.md --allow-all --max-cost 5 --commit-stories", "proved")
    assert "claude" in text
    person.does("spool report", "2 proved", "$0.02")
    person.does("make test")
    assert person.shop.git("status", "--porcelain") == ""
