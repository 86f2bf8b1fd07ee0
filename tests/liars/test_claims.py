"""Claims of done by liars and by honest agents, judged through the real command line.

One table was written by somebody who had not seen the gates, the other one by somebody who had looked for what they do
not see. The suite plays every fifth case on one of its doors; `make liars` plays all of them on all doors.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.liars.blind.case import Case
from tests.liars.blind.table import CASES as BLIND
from tests.liars.player import play
from tests.liars.sighted.table import CASES as SIGHTED

CASES = (*BLIND, *SIGHTED)
_ALL = os.environ.get("SPOOL_LIARS") == "all"


def _chosen() -> list[tuple[Case, str]]:
    if _ALL:
        return [(case, door) for case in CASES for door in case.doors]
    return [(case, case.doors[number % len(case.doors)]) for number, case in enumerate(CASES) if number % 5 == 0]


@pytest.mark.parametrize(("case", "door"), _chosen(), ids=lambda value: getattr(value, "name", value))
def test_a_claim_is_judged_as_the_rules_say(case: Case, door: str, tmp_path: Path) -> None:
    played = play(case, door, tmp_path, checks=case in SIGHTED)
    assert (played.status == "done") is case.accept, f"{case.why}\n{played.reason}\n{played.output}"
    assert not played.unmet, "the agent does not do what the case says"
    if case.sure and (case.accept or played.proof is not None):
        assert played.proof in (case.verdict, *case.also), f"{case.why}\n{played.reason}\n{played.output}"
    if played.exit_code is not None and door in case.exits:
        assert played.exit_code == case.exits[door], played.output
