"""Messages written blind: the figures of docs/agents.md, through five decoders and in random pieces."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from spool.domain.judging.promise import DEFAULT_PROMISE
from spool.domain.judging.promise.reader import PromiseReader
from spool.domain.loop.outcome import Facts, OutcomeKind, classify
from spool.engine.agent_transcript import AgentTranscript
from spool.harness.registry import find
from tests.corpus.streams import ENCODERS, Row

FOLDER = Path(__file__).parents[4] / "corpus" / "blind"
DOCS = Path(__file__).parents[5] / "docs" / "agents.md"
HALVES = ("tuning", "heldback")


@cache
def rows(half: str) -> tuple[Row, ...]:
    return tuple(json.loads(line) for line in (FOLDER / f"{half}.jsonl").read_text().splitlines())


def verdict(row: Row, agent: str, data: bytes, cuts: list[int]) -> str:
    """Play a row as the engine does, in pieces: decoder, transcript, reader, outcome."""
    reader = PromiseReader(row.get("promise", DEFAULT_PROMISE))
    decoder = find(agent, {"command": {"argv": ["agent"]}}).decoder()
    transcript = AgentTranscript(decoder, reader, lambda _: None, allow_all=True)
    for start, stop in pairwise([0, *cuts, len(data)]):
        transcript.feed(data[start:stop])
    transcript.finish("\n".join(step["stderr"] for step in row["steps"] if "stderr" in step))
    outcome = classify(Facts(exit_code=0, reading=reader.finish(), changed_files=1, failure=transcript.failure))
    names = {OutcomeKind.COMPLETED: "complete", OutcomeKind.FAILED: "failed"}
    return names.get(outcome.kind, "none")


def score(half: str, agent: str) -> Counter[str]:
    counted: Counter[str] = Counter()
    for row in rows(half):
        data = ENCODERS[agent](row)
        if data is None:
            continue
        found = verdict(row, agent, data, [])
        right = found == row["expect"]
        counted["right" if right else "false accept" if row["expect"] == "none" else "false reject"] += 1
        counted["rows"] += 1
    return counted


def published(half: str, agent: str) -> Counter[str]:
    """Return the row of docs/agents.md for a half and a decoder."""
    line = re.search(rf"^\| {half} \| {agent} \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|", DOCS.read_text(), re.MULTILINE)
    assert line is not None
    names = ("rows", "right", "false accept", "false reject")
    return Counter(dict(zip(names, map(int, line.groups()), strict=True)))


@pytest.mark.parametrize("agent", list(ENCODERS))
@pytest.mark.parametrize("half", HALVES)
def test_the_published_figures_are_those_of_today(half: str, agent: str) -> None:
    assert +score(half, agent) == +published(half, agent)


@pytest.mark.parametrize("agent", list(ENCODERS))
@pytest.mark.parametrize("half", HALVES)
def test_a_row_in_pieces_reads_as_a_whole(half: str, agent: str) -> None:
    for row in rows(half):
        data = ENCODERS[agent](row)
        if data is None:
            continue
        chance = random.Random(row["id"])
        cuts = sorted(chance.sample(range(1, len(data)), min(6, len(data) - 1)))
        assert verdict(row, agent, data, cuts) == verdict(row, agent, data, []), row["id"]


def test_the_halves_are_of_equal_size_and_hold_every_agent_and_language() -> None:
    assert {half: len(rows(half)) for half in HALVES} == {"tuning": 160, "heldback": 160}
    every = rows("tuning") + rows("heldback")
    assert len({row["id"] for row in every}) == 320
    assert len({row["agent"] for row in every}) == 8
    assert len({row["language"] for row in every}) == 7
