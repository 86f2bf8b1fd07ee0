"""What must hold of a loop's files at any moment, and after any crash."""

from __future__ import annotations

import json
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

from spool.domain.loop.state import LoopState
from spool.host.state.loop_store import StateFolder
from tests.support import Scratch

Record = dict[str, Any]
Where = Scratch | Path
"""The scratch project, for its `ralph` loop, or a loop's state folder."""


def load(where: Where) -> LoopState | None:
    """Return the state as Spool itself reads it; one that cannot be read raises."""
    return StateFolder(_folder(where)).load()


def records(where: Where) -> list[Record]:
    """Return the recorded iterations."""
    return lines(_folder(where) / "history.jsonl")


def hold(where: Where, *, running: bool = False) -> None:
    """Check everything that must hold between any two moments of a loop's life."""
    folder, state = _folder(where), load(where)
    history, journal = records(where), lines(folder / "journal.jsonl")
    numbers = [record["iteration"] for record in history]
    assert numbers == sorted(set(numbers)), f"history numbers do not rise: {numbers}"
    in_flight = {state.in_flight.iteration} if state is not None and state.in_flight else set()
    if state is not None:
        assert not numbers or numbers[-1] <= state.iteration
        missing = set(range(1, state.iteration + 1)) - set(numbers)
        assert missing <= in_flight, f"iterations {sorted(missing - in_flight)} are lost"
    _started_first(folder, state, journal)
    _interrupted_is_no_success(history)
    _starts_and_ends(journal, history, in_flight_allowed=1)
    _runs_in_turn(journal)
    if not running:
        assert not [path.name for path in folder.glob("*.unreadable-*")]


def complete(where: Where) -> None:
    """Check what must hold once a run has come to its end: nothing is open any more."""
    hold(where)
    folder, state = _folder(where), load(where)
    assert state is not None
    assert state.in_flight is None
    journal = lines(folder / "journal.jsonl")
    _starts_and_ends(journal, records(where), in_flight_allowed=0)
    assert journal[-1]["type"] == "RunEnded"
    assert (journal[-1]["status"], journal[-1]["run_id"]) == (state.status, state.run_id)
    assert not list(folder.glob(".*.tmp")), "a crash's temporary files are still there"


def _folder(where: Where) -> Path:
    return where.state if isinstance(where, Scratch) else where


def lines(path: Path) -> list[Record]:
    """Return the records of an append-only file; a torn line may stand only where a crash was."""
    if not path.exists():
        return []
    found = []
    for line in path.read_bytes().split(b"\n")[:-1]:
        try:
            found.append(json.loads(line))
        except ValueError:
            continue  # ended by the run that came after the crash
    return found


def _started_first(folder: Path, state: LoopState | None, journal: list[Record]) -> None:
    """Check that no agent ran before its start was on disk (P10): its output file is made just before it starts."""
    ran = {int(path.name[:-4]) for path in (folder / "logs").glob("[0-9]*.out")}
    started = {event["iteration"] for event in journal if event["type"] == "IterationStarted"}
    assert ran <= started, f"agents ran in {sorted(ran - started)}, which the journal does not know"
    assert not ran or (state is not None and max(ran) <= state.iteration)


def _interrupted_is_no_success(history: list[Record]) -> None:
    for record in history:
        assert record["outcome"] != "interrupted" or not record["completion_found"], f"{record} is both"


def _starts_and_ends(journal: list[Record], history: list[Record], *, in_flight_allowed: int) -> None:
    """Check that each start has one end, which is also in the history (P12)."""
    started = [event["iteration"] for event in journal if event["type"] == "IterationStarted"]
    assert started == sorted(set(started)), f"started numbers do not rise: {started}"
    ended = Counter(event["record"]["iteration"] for event in journal if event["type"] == "IterationEnded")
    assert all(count == 1 for count in ended.values()), f"an iteration ended twice: {ended}"
    unfinished = set(started) - set(ended)
    assert len(unfinished) <= in_flight_allowed, f"iterations {sorted(unfinished)} never ended"
    outcomes = {record["iteration"]: record["outcome"] for record in history}
    for event in journal:
        if event["type"] == "IterationEnded":
            record = event["record"]
            assert outcomes.get(record["iteration"]) == record["outcome"], f"the history differs from {record}"


def _runs_in_turn(journal: list[Record]) -> None:
    """Check that runs do not interleave, count their events, and end once, with their last event (P12)."""
    runs = [(run_id, list(events)) for run_id, events in groupby(journal, key=lambda event: event["run_id"])]
    assert len({run_id for run_id, _ in runs}) == len(runs), "two runs wrote at the same time"
    for _, events in runs:
        numbers, types = [event["seq"] for event in events], [event["type"] for event in events]
        assert numbers == sorted(set(numbers)), f"event numbers do not rise: {numbers}"
        assert types.count("RunStarted") <= 1
        assert types.count("RunEnded") <= 1
        assert "RunEnded" not in types[:-1], f"events after the end of a run: {types[-5:]}"
