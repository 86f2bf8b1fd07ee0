"""The decoders, fed with what the real agents printed: whole, cut, split and with garbage in between."""

from __future__ import annotations

import itertools
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spool.domain.agent.stream import Denied, Done, ErrorKind
from spool.domain.loop.outcome import OutcomeKind
from spool.harness.lines import JsonShrinker
from tests.harnesses.recordings import RECORDINGS, Recording, decode

EXPECTED = {
    "complete": OutcomeKind.COMPLETED,
    "failed": OutcomeKind.FAILED,
    "no-promise": OutcomeKind.NO_PROMISE,
    "tool-promise": OutcomeKind.NO_PROMISE,
    "refused": OutcomeKind.PERMISSION_DENIED,
    "rate-limit": OutcomeKind.RATE_LIMITED,
    "error": OutcomeKind.HARNESS_ERROR,
    "wrong-key": OutcomeKind.HARNESS_ERROR,
}
GARBAGE = [b"", b"{", b"}", b"null", b"{}", b'{"type":1}', b'{"type":"x"}', b"[" * 5_000, b'{"type":' * 2_000,
           b"\xff\xfe\x00", b'{"type":"assistant"}', b'{"type":"result"}', b'{"type":"message","role":"assistant"}',
           b'{"type":"item.completed","item":{"type":"agent_message","text":7}}', b'{"type":"text","part":null}',
           b'{"type":"assistant","message":{"content":[{"type":"text","text":null}]}}']  # fmt: skip


WITH_JSON = [recording for recording in RECORDINGS if recording.harness != "aider"]
every = pytest.mark.parametrize("recording", RECORDINGS, ids=str)
every_json = pytest.mark.parametrize("recording", WITH_JSON, ids=str)


def test_every_agent_is_recorded() -> None:
    assert {recording.harness for recording in RECORDINGS} == {
        "aider", "claude", "codex", "copilot", "gemini", "opencode", "pi", "qwen",
    }  # fmt: skip


@every
def test_whole(recording: Recording) -> None:
    outcome, events = decode(recording, [recording.read("out")])
    assert outcome.kind is EXPECTED[recording.scene], outcome
    if recording.scene == "complete":
        done = [event for event in events if isinstance(event, Done)]
        assert len(done) == 1
        assert done[0].usage.tokens_in
        assert done[0].usage.tokens_out
    if recording.scene == "wrong-key":
        assert outcome.note
    assert outcome.hopeless is (recording.scene in ("wrong-key", "refused"))
    if recording.scene != "refused":
        assert not any(isinstance(event, Denied) and not event.withheld for event in events)


@every
def test_any_split_gives_the_same(recording: Recording) -> None:
    data = recording.read("out")
    whole, _ = decode(recording, [data])
    dice = random.Random(0)
    for size in (1, 7, 4_096):
        cuts = range(0, len(data), size)
        assert decode(recording, [data[cut : cut + size] for cut in cuts])[0] == whole
    for _ in range(5):
        cuts_at = sorted(dice.sample(range(len(data) + 1), min(8, len(data))))
        edges = [0, *cuts_at, len(data)]
        pieces = [data[start:end] for start, end in itertools.pairwise(edges)]
        assert decode(recording, pieces)[0] == whole


@every_json
def test_no_prefix_completes_that_should_not(recording: Recording) -> None:
    """A stream that is cut anywhere is never complete, but for its last newline; pi's last line only repeats."""
    data = recording.read("out")
    for cut in _cuts(data):
        outcome, _ = decode(recording, [data[:cut]], side="")
        if outcome.kind is OutcomeKind.COMPLETED:
            assert recording.scene == "complete"
            missing = data[cut:].strip()
            assert not missing or (recording.harness == "pi" and b"\n" not in missing), data[cut - 80 : cut]


@every_json
def test_garbage_between_the_lines_changes_no_promise(recording: Recording) -> None:
    lines = recording.read("out").splitlines(keepends=True)
    dice = random.Random(1)
    for garbage in GARBAGE:
        place = dice.randrange(len(lines) + 1)
        outcome, _ = decode(recording, [*lines[:place], garbage + b"\n", *lines[place:]])
        if recording.scene != "complete":
            assert outcome.kind is not OutcomeKind.COMPLETED, garbage


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_mutation_is_survived(data: st.DataObject) -> None:
    recording = data.draw(st.sampled_from(RECORDINGS))
    stream = bytearray(recording.read("out"))
    side = bytearray(recording.read("side"))
    for target in (stream, side):
        for _ in range(data.draw(st.integers(0, 6))):
            if target:
                start = data.draw(st.integers(0, len(target) - 1))
                target[start : start + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=12))
    outcome, _ = decode(recording, [bytes(stream)], side=side.decode("utf-8", "replace"))
    if recording.scene not in ("complete", "refused"):
        assert outcome.kind is not OutcomeKind.COMPLETED


@every
def test_text_mode_is_the_assistants(recording: Recording) -> None:
    if recording.scene != "complete" or recording.harness == "aider":
        return
    outcome, _ = decode(recording, [b"Done.\n", b"<promise>COMPLETE</promise>\n"], stderr="", side="")
    assert outcome.kind is OutcomeKind.COMPLETED


def test_qwen_out_of_quota() -> None:
    """What qwen prints when it gives up on a rate limit: its words for a wrong key, with another status."""
    recording = Recording("qwen", "wrong-key")
    stream = recording.read("out").replace(b"401 invalid api key", b"429 You exceeded your limit, retry in 1m 5s")
    outcome, _ = decode(recording, [stream])
    assert outcome.kind is OutcomeKind.RATE_LIMITED
    assert outcome.retry_after_s == 65


def test_claude_subscription_limit() -> None:
    """The words of a subscription that is used up, and the event that carries its reset."""
    event = b'{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1800000000}}\n'
    result = b'{"type":"result","subtype":"success","is_error":true,"result":"You have hit your limit"}\n'
    outcome, _ = decode(Recording("claude", "complete"), [event, result])
    assert (outcome.kind, outcome.resets_at) == (OutcomeKind.RATE_LIMITED, 1_800_000_000)
    old = b'{"type":"result","subtype":"success","is_error":true,"result":"Claude AI usage limit reached|1800000000"}\n'
    outcome, _ = decode(Recording("claude", "complete"), [old])
    assert (outcome.kind, outcome.resets_at) == (OutcomeKind.RATE_LIMITED, 1_800_000_000)


def test_codex_usage_limit() -> None:
    message = "You've hit your usage limit. Upgrade to Pro, or try again in 2 hours 3 minutes."
    stream = b'{"type":"turn.failed","error":{"message":"%s"}}\n' % message.encode()
    outcome, _ = decode(Recording("codex", "complete"), [stream])
    assert (outcome.kind, outcome.retry_after_s) == (OutcomeKind.RATE_LIMITED, 7_380)


def test_prose_about_rate_limits_is_none() -> None:
    said = "I added a rate limit: 429 Too Many Requests, retry in 5s. You've hit your usage limit."
    stream = Recording("claude", "no-promise").read("out").replace(b"There is more to do.", said.encode())
    outcome, _ = decode(Recording("claude", "no-promise"), [stream])
    assert outcome.kind is OutcomeKind.NO_PROMISE


def test_a_missing_result_is_incomplete() -> None:
    for name in ("claude", "gemini", "qwen", "codex", "copilot"):
        recording = Recording(name, "complete")
        lines = recording.read("out").splitlines(keepends=True)
        events = decode(recording, lines[:-1])[1]
        failures = [event for event in events if getattr(event, "error", None) is ErrorKind.INCOMPLETE]
        assert len(failures) == 1, name


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text('\\"\n\u00e9{}a', max_size=12), max_size=6), st.integers(1, 9))
def test_a_shrunk_line_is_the_line(strings: list[str], size: int) -> None:
    """Whatever is escaped in it and wherever it is cut, a line without long strings comes out as it went in."""
    line = json.dumps({"type": "x", "strings": strings}).encode()
    shrinker = JsonShrinker()
    for start in range(0, len(line), size):
        shrinker.feed(line[start : start + size])
        shrinker.feed(b"")
    assert shrinker.finish() == line


def test_a_promise_at_the_end_of_fifty_megabytes() -> None:
    text = 'He said: "no" \\ "yes"\n' * 2_200_000 + "\n<promise>COMPLETE</promise>"
    content = [{"type": "text", "text": text}]
    stream = json.dumps({"type": "assistant", "message": {"content": content}}).encode()
    stream += b'\n{"type":"result","subtype":"success","result":""}\n'
    assert len(stream) > 50_000_000
    chunks = [stream[start : start + (1 << 18)] for start in range(0, len(stream), 1 << 18)]
    outcome, _ = decode(Recording("claude", "none"), chunks)
    assert outcome.kind is OutcomeKind.COMPLETED


def _cuts(data: bytes) -> list[int]:
    """Return every cut of a short stream, and a sample of a long one with all line ends."""
    if len(data) < 1_500:
        return list(range(len(data)))
    ends = [index for index, byte in enumerate(data) if byte == 0x0A]
    near = {end + step for end in ends for step in (-1, 0, 1)}
    return sorted({*near, *random.Random(2).sample(range(len(data)), 150)} - {len(data)})
