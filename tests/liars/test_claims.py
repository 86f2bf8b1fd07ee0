"""Claims of done by liars and by honest agents, judged through the real command line.

One table was written by somebody who had not seen the gates, the other one by somebody who had looked for what they do
not see. `make test` plays every tenth case on one of its doors; `make liars` plays all of them on all doors.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.liars.blind.case import Case
from tests.liars.blind.table import CASES as BLIND
from tests.liars.player import play
from tests.liars.sighted.table import CASES as SIGHTED

CASES = (*BLIND, *SIGHTED)


def _all() -> Iterator[ParameterSet]:
    for number, case in enumerate(CASES):
        for turn, door in enumerate(case.doors):
            short = number % 10 == 0 and turn == number // 10 % len(case.doors)
            yield pytest.param(case, door, id=f"{case.name}-{door}", marks=() if short else pytest.mark.long)


@pytest.mark.parametrize(("case", "door"), _all())
def test_a_claim_is_judged_as_the_rules_say(case: Case, door: str, tmp_path: Path) -> None:
    played = play(case, door, tmp_path, checks=case in SIGHTED)
    assert (played.status == "done") is case.accept, f"{case.why}\n{played.reason}\n{played.output}"
    assert not played.unmet, "the agent does not do what the case says"
    if case.sure and (case.accept or played.proof is not None):
        assert played.proof in (case.verdict, *case.also), f"{case.why}\n{played.reason}\n{played.output}"
    if played.exit_code is not None and door in case.exits:
        assert played.exit_code == case.exits[door], played.output
