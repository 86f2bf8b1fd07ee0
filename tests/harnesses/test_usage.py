"""What the recorded agents report of their usage, while they run and at their end, and when they are ended for it."""

from __future__ import annotations

import re

import pytest

from spool.domain.agent.prices import Price
from spool.domain.agent.stream import Done, StreamEvent, Usage, UsageSoFar
from spool.domain.judging.promise.reader import PromiseReader
from spool.domain.loop.budget import Budgets, Limit, exceeded
from spool.domain.loop.outcome import StopCause
from spool.engine.agent_limits import BudgetWatch
from spool.engine.agent_transcript import AgentTranscript
from spool.harness import registry
from tests.harnesses.recordings import RECORDINGS, Recording, decode

HARNESSES = sorted({recording.harness for recording in RECORDINGS})
SO_FAR = ["claude", "opencode", "pi", "qwen"]
every = pytest.mark.parametrize("name", HARNESSES)


def reported(name: str, scene: str = "complete") -> tuple[list[Usage], Usage]:
    recording = Recording(name, scene)
    events = decode(recording, [recording.read("out")])[1]
    (done,) = [event for event in events if isinstance(event, Done)]
    return [event.usage for event in events if isinstance(event, UsageSoFar)], done.usage


@every
def test_the_traits_say_what_is_reported(name: str) -> None:
    traits = registry.find(name, {}).traits
    so_far, end = reported(name)
    assert traits.tokens is (end.tokens is not None)
    assert traits.usage_so_far is bool(so_far) is (name in SO_FAR)
    if name != "aider":  # it knows no price of the test model
        assert traits.cost is (end.cost_usd is not None)


@pytest.mark.parametrize("name", SO_FAR)
def test_usage_grows_to_what_is_reported_at_the_end(name: str) -> None:
    so_far, end = reported(name)
    assert len(so_far) == 2
    assert 0 < (so_far[0].tokens or 0) < (so_far[1].tokens or 0)
    assert so_far[-1].tokens == end.tokens
    assert so_far[-1].tokens_cached == end.tokens_cached


@pytest.mark.parametrize("name", SO_FAR)
def test_a_stream_that_is_cut_keeps_what_was_reported(name: str) -> None:
    recording = Recording(name, "complete")
    transcript = _transcript(name, [])
    lines = recording.read("out").splitlines(keepends=True)
    for line in lines[: len(lines) * 3 // 4]:
        transcript.feed(line)
    assert transcript.usage.tokens
    before = transcript.usage
    transcript.finish("", "")
    assert transcript.usage.tokens == before.tokens


@pytest.mark.parametrize("name", SO_FAR)
def test_an_agent_is_ended_at_the_message_that_uses_up_the_budget(name: str) -> None:
    events: list[StreamEvent] = []
    transcript = _transcript(name, events, price=Price(input=10.0, output=10.0))
    (first, *_), _ = reported(name)
    budgets = Budgets(max_tokens=first.tokens or 0)
    watch = BudgetWatch(lambda used: exceeded(budgets, used))
    stopped_at = None
    for number, line in enumerate(Recording(name, "complete").read("out").splitlines(keepends=True)):
        transcript.feed(line)
        if stopped_at is None and watch.verdict(transcript) is StopCause.BUDGET:
            stopped_at = number
            assert watch.found is not None
            assert watch.found.limit is Limit.TOKENS
            assert [event for event in events if isinstance(event, UsageSoFar)] == events[-1:]
    assert stopped_at is not None


def test_the_parts_of_a_message_count_once() -> None:
    """claude prints one event per part of a message, each with the counts of the whole so far."""
    line = '{"type":"assistant","message":{"id":"%s","content":[{"type":"text","text":"x"}],"usage":{"input_tokens":%d,'
    line += '"output_tokens":%d,"cache_creation_input_tokens":5}}}\n'
    stream = "".join(line % part for part in (("a", 10, 1), ("a", 10, 1), ("b", 20, 1), ("a", 10, 7)))
    events: list[StreamEvent] = []
    _transcript("claude", events).feed(stream.encode())
    assert [event.usage.tokens for event in events if isinstance(event, UsageSoFar)] == [16, 42, 48]


@pytest.mark.parametrize("name", ["opencode", "pi"])
def test_a_cost_of_nothing_for_many_tokens_is_unknown(name: str) -> None:
    out = Recording(name, "complete").read("out")
    transcript = _transcript(name, [])
    transcript.feed(re.sub(rb'("cost"|"total"):0\.\d+', rb"\1:0", out))
    transcript.finish("", "")
    assert (transcript.usage.tokens, transcript.usage.cost_usd) == (2_036, None)


def _transcript(name: str, events: list[StreamEvent], price: Price | None = None) -> AgentTranscript:
    return AgentTranscript(registry.find(name, {}).decoder(), PromiseReader(), events.append, price=price)
