"""One loop over many iterations: rate limits, errors, stops and resumes, while a person edits the same tree."""

from __future__ import annotations

import json
import random
import signal
import time

import pytest

from tests.faults import invariants
from tests.support import Scratch, wait_for
from tests.support.machine import PROMISE, Warm, end, peak_kib, shell_agent
from tests.support.scale import SEED, trials

LIMITED = json.dumps({"type": "error", "error": {"name": "APIError", "data": {"message": "slow", "statusCode": 429}}})
AGENT = f"""
n=$(cat $HOME/turn); n=$((n + 1)); echo $n > $HOME/turn
case $((n % 25)) in
  3) echo '{LIMITED}'; exit 1;;
  7) exit 1;;
  11) echo "work $n" >> agent.txt;;
  13) git add -A; git commit -qm "work $n";;
  17) sleep 0.3;;
  19) echo 'I will not print {PROMISE} yet';;
  *) echo "at work";;
esac
"""
GROWTH_KIB = 64 << 10
"""The runner's memory may grow by this much, whatever it has done."""


@pytest.mark.long
def test_a_long_loop_with_stops_and_a_person_editing(scratch: Scratch, warm: Warm) -> None:
    shell_agent(scratch, AGENT)
    (scratch.home / "turn").write_text("0")
    scratch.env["SPOOL_RATE_LIMIT_PAUSE"] = "10ms"
    total, chance, runs = trials(10_000), random.Random(SEED), 0
    with Warm(scratch) as starter:
        while reached(scratch) < total:
            until = min(total, reached(scratch) + chance.randint(total // 20 + 1, total // 5 + 1))
            runs += 1
            one_run(scratch, starter, chance, until)
    invariants.complete(scratch)
    edits = (scratch.root / "person.txt").read_text().splitlines()
    assert edits == [f"edit {number}" for number in range(len(edits))]
    outcomes = {record["outcome"] for record in invariants.records(scratch)}
    assert runs > 1
    assert total < 50 or {"no promise", "harness error", "rate limited"} <= outcomes
    assert warm.wait(warm.ralph("--status", "--json")) == 0


def one_run(scratch: Scratch, warm: Warm, chance: random.Random, until: int) -> None:
    """Run the loop up to an iteration, then stop it, sometimes twice; edit beside it all the time."""
    runner = warm.ralph("Work", "--no-max-iterations", "--stall", "0", "--no-stream")
    wait_for(lambda: reached(scratch) or warm.ended(runner), "the first iteration")
    peak, edited = peak_kib(runner), scratch.root / "person.txt"
    while reached(scratch) < until:
        assert not warm.ended(runner), warm.errors()
        number = len(edited.read_text().splitlines()) if edited.exists() else 0
        with edited.open("a") as file:
            file.write(f"edit {number}\n")
        (scratch.change / "tasks.md").write_text(f"## 1. Loop\n\n- [ ] 1.{number % 9} Edited by a person\n")
        if not number % 40:
            assert warm.wait(warm.ralph("--add-context", f"note {number}", name="note")) == 0, warm.errors("note")
        time.sleep(chance.uniform(0, 0.1))  # a person is in no hurry
    assert peak_kib(runner) - peak < GROWTH_KIB
    for _ in range(chance.choice((1, 1, 2))):
        end(runner, signal.SIGTERM)
    assert warm.wait(runner) == 130, warm.errors()
    invariants.complete(scratch)


def reached(scratch: Scratch) -> int:
    state = invariants.load(scratch)
    return 0 if state is None else state.iteration
