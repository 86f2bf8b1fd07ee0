"""What must hold of a loop's files at any moment, and after any crash."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from spool.domain.state import LoopState
from spool.host.state.store import StateFolder
from tests.support import Scratch


def load(scratch: Scratch) -> LoopState | None:
    """Return the state as Spool itself reads it; one that cannot be read raises."""
    return StateFolder(scratch.state).load()


def finished_lines(scratch: Scratch, name: str) -> list[dict[str, Any]]:
    """Return the records of an append-only file; a torn line may stand only where a crash was."""
    path = scratch.state / name
    if not path.exists():
        return []
    found = []
    for line in path.read_bytes().split(b"\n")[:-1]:
        try:
            found.append(json.loads(line))
        except ValueError:
            continue  # ended by the run that came after the crash
    return found


def hold(scratch: Scratch, *, running: bool = False) -> None:
    """Check everything that must hold between any two moments of a loop's life."""
    state = load(scratch)
    history = finished_lines(scratch, "history.jsonl")
    journal = finished_lines(scratch, "journal.jsonl")
    numbers = [record["iteration"] for record in history]
    assert numbers == sorted(set(numbers)), f"history numbers do not rise: {numbers}"
    if state is not None:
        assert not numbers or numbers[-1] <= state.iteration
        missing = set(range(1, state.iteration + 1)) - set(numbers)
        in_flight = {state.in_flight.iteration} if state.in_flight else set()
        assert missing <= in_flight, f"iterations {sorted(missing - in_flight)} are lost"
    _journal_holds(journal, in_flight_allowed=1)
    if not running:
        assert not [path.name for path in scratch.state.glob("*.unreadable-*")]


def complete(scratch: Scratch) -> None:
    """Check what must hold once a run has come to its end: nothing is open any more."""
    hold(scratch)
    state = load(scratch)
    assert state is not None
    assert state.in_flight is None
    _journal_holds(finished_lines(scratch, "journal.jsonl"), in_flight_allowed=0)
    assert not list(scratch.state.glob(".*.tmp")), "a crash's temporary files are still there"


def _journal_holds(journal: list[dict[str, Any]], *, in_flight_allowed: int) -> None:
    started = [event["iteration"] for event in journal if event["type"] == "IterationStarted"]
    assert started == sorted(set(started)), f"started numbers do not rise: {started}"
    ended = Counter(event["record"]["iteration"] for event in journal if event["type"] == "IterationEnded")
    assert all(count == 1 for count in ended.values()), f"an iteration ended twice: {ended}"
    unfinished = set(started) - set(ended)
    assert len(unfinished) <= in_flight_allowed, f"iterations {sorted(unfinished)} never ended"
    by_run: dict[str, list[str]] = {}
    for event in journal:
        by_run.setdefault(event["run_id"], []).append(event["type"])
    for types in by_run.values():
        assert types.count("RunEnded") <= 1
        assert "RunEnded" not in types[:-1], f"events after the end of a run: {types[-5:]}"
