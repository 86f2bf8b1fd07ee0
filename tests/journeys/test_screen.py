"""A person works from the screen: set up, start, stop, continue, read the report, land."""

from __future__ import annotations

from tests.journeys.person import Person


def test_init_then_the_screen_starts_stops_and_continues_a_loop_until_it_is_done(person: Person) -> None:
    person.does("spool init", Which_command="Enter")
    person.does("git add -A && git commit -qm settings")
    person.hires("sleeps")
    person.starts("spool tui PLAN.md --allow-all")
    person.sees("A better shop", "R")
    person.presses("R")
    person.sees("Thinking.")
    person.presses("q")
    person.sees("Continue with", "PLAN.md")  # the card on the selection screen
    person.presses("q")
    person.starts("spool tui PLAN.md --allow-all")
    person.sees("A better shop", "R")
    person.presses("R")
    person.sees("done", "proved")
    person.presses("q")
    person.sees("Completed work is kept", "Review with")
    assert "Continue with" not in person.terminal.text()
    person.presses("q")
    person.does("spool report", "2 proved")
    person.does("make test")


def test_a_loop_of_another_terminal_survives_whoever_watches_it(person: Person) -> None:
    person.hires("sleeps")
    person.does("spool run PLAN.md --allow-all --verify 'make test' --detach")
    for watched in ("attach PLAN.md", "attach", "tui PLAN.md"):
        person.starts(f"spool {watched}")
        if watched == "tui PLAN.md":
            person.sees("R watches it")
            person.presses("R")
        person.sees("Thinking.")
        if watched == "attach":
            person.presses("q")
            person.sees("Enter attaches")
        person.presses("C-c")
        person.does("spool ps", "PLAN.md", "running")
    person.does("spool stop PLAN.md")
    person.does("spool ps", "No loop is running")
