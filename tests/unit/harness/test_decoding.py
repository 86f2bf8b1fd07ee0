"""What the decoders share, and what opencode's adds to it."""

import json
from collections.abc import Iterable
from typing import Any

from spool.domain.agent.stream import Done, ErrorKind, Failure, Message, StreamEvent, ToolResult, ToolUse
from spool.engine.ports import Decoder
from spool.harness.decoding import LineDecoder, PlainText, as_text, is_event, summarise
from spool.harness.opencode import HARNESS
from spool.harness.scripted import NativeEvents

SAID = Message(text="said")


class Letters:
    """A translator that knows events of one type and remembers what it was asked."""

    def event(self, line: bytes) -> Iterable[StreamEvent] | None:
        if line == b'{"deep":1}':
            raise RecursionError
        return [SAID] if line == b'{"type":"x"}' else None

    def end(self, stderr: str, side: str = "") -> Iterable[StreamEvent]:
        yield Failure(message=stderr)


def decoded(decoder: Decoder, *chunks: bytes, stderr: str = "") -> list[StreamEvent]:
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return [*events, *decoder.finish(stderr)]


def test_text_before_the_first_event_is_the_assistants() -> None:
    events = decoded(LineDecoder(Letters()), b'one\ntwo\n{"type":"x"}\n', stderr="end")
    assert events == [Message(text="one\ntwo\n", partial=True), Message(text=""), SAID, Failure(message="end")]


def test_text_between_events_is_nobodys() -> None:
    events = decoded(LineDecoder(Letters()), b'{"type":"x"}\nnoise\n{"type":"x"}\n')
    assert events[:3] == [SAID, Message(text="noise\n", stray=True), SAID]


def test_text_between_events_of_a_mixed_stream_is_the_assistants() -> None:
    events = decoded(LineDecoder(Letters(), mixed=True), b'{"type":"x"}\nwords\n{"type":"x"}\n')
    assert events[:4] == [SAID, Message(text="words\n", partial=True), Message(text=""), SAID]


def test_a_line_too_deep_to_read_is_left_out() -> None:
    assert decoded(LineDecoder(Letters()), b'{"deep":1}\n{"type":"x"}\n')[:1] == [SAID]


def test_plain_text_takes_json_for_text() -> None:
    assert decoded(LineDecoder(PlainText()), b'{"type":"x"}', b"\n") == [
        Message(text='{"type":"x"}\n', partial=True),
        Message(text=""),
        Done(content='{"type":"x"}\n'),
    ]


def test_a_plain_text_agent_is_done_too_with_the_end_of_what_it_said() -> None:
    *_, done = decoded(LineDecoder(PlainText()), b"x" * 100_000 + b"\n", b"the answer\n")
    assert isinstance(done, Done)
    assert done.content.endswith("x\nthe answer\n")
    assert len(done.content) == 1 << 16
    assert decoded(LineDecoder(PlainText())) == [Done()]


def test_characters_cut_in_two_come_whole() -> None:
    data = "é✓👍".encode()
    events = decoded(LineDecoder(PlainText()), *(data[at : at + 1] for at in range(len(data))))
    assert "".join(event.text for event in events if isinstance(event, Message)) == "é✓👍\n"


def test_bytes_that_are_no_text_do_not_grow() -> None:
    """A replacement character takes three bytes."""
    events = decoded(LineDecoder(PlainText()), b"a" + b"\xff" * 9_000 + "完".encode() + b"\xff\n")
    assert "".join(event.text for event in events if isinstance(event, Message)) == "a\ufffd完\ufffd\n"


def test_a_pause_gives_the_beginning_of_a_line() -> None:
    decoder = LineDecoder(Letters())
    assert list(decoder.feed(b"<promise>")) == []
    assert list(decoder.pause()) == [Message(text="<promise>", partial=True)]
    assert list(decoder.feed(b'{"type":')) == []
    assert list(decoder.feed(b'"x"}\n')) == [Message(text='{"type":"x"}\n', partial=True)]


def test_spools_own_events_may_be_mixed_with_text() -> None:
    line = b'{"kind":"message","text":"said"}\n'
    events = decoded(LineDecoder(NativeEvents(), mixed=True), line, b"words\n", line)
    assert [event.text for event in events if isinstance(event, Message)] == ["said", "words\n", "", "said"]


def test_what_is_an_event() -> None:
    assert is_event(b'{"type":"new","x":1}')
    assert is_event(b'{"x":1,"type":"new"}')
    assert is_event(b'{"type":"torn","x":"')
    assert not is_event(b'{"answer":42}')
    assert not is_event(b"{" * 100_000)


def test_a_tool_is_told_by_its_most_telling_argument() -> None:
    assert summarise({"description": "d", "command": "make"}) == "make"
    assert summarise({"other": "x", "n": 1}) == "x"
    assert summarise("x") == ""


def test_a_tools_result_has_many_shapes() -> None:
    assert as_text("a") == "a"
    assert as_text([{"type": "text", "text": "a"}, "b", {"type": "image"}]) == "a\nb\n"
    assert as_text(None) == ""


def opencode(*events: dict[str, Any]) -> list[bytes]:
    return [json.dumps(event).encode() + b"\n" for event in events]


START, STOP = {"type": "step_start", "part": {}}, {"type": "step_finish", "part": {"reason": "stop"}}
PROMISE = {"type": "text", "part": {"text": "<promise>COMPLETE</promise>"}}
TOOL = {"type": "tool_use", "part": {"tool": "bash", "state": {"status": "completed", "output": "ok"}}}


def test_opencode_holds_a_promise_until_its_step_is_over() -> None:
    decoder = HARNESS.decoder()
    start, promise, tool, stop = opencode(START, PROMISE, TOOL, STOP)
    assert list(decoder.feed(start + promise)) == []
    assert [type(event) for event in decoder.feed(tool)] == [Message, ToolUse, ToolResult]
    assert list(decoder.feed(promise)) == []
    assert [type(event) for event in decoder.feed(stop)] == [Message]
    assert [type(event) for event in decoder.finish("")] == [Done]


def test_opencode_tells_other_text_at_once() -> None:
    text = {"type": "text", "part": {"text": "Let me run the tests."}}
    assert decoded(HARNESS.decoder(), *opencode(START, text))[0] == Message(text="Let me run the tests.")


def test_opencode_needs_no_steps() -> None:
    assert [type(event) for event in decoded(HARNESS.decoder(), *opencode(PROMISE))] == [Message, Done]


def test_opencode_in_the_middle_of_a_step_is_incomplete() -> None:
    events = decoded(HARNESS.decoder(), *opencode(START, PROMISE))
    assert [event.error for event in events if isinstance(event, Failure)] == [ErrorKind.INCOMPLETE]


def test_an_error_of_opencode_is_not_hidden_by_an_open_step() -> None:
    error = {"type": "error", "error": {"name": "APIError", "data": {"message": "slow down", "statusCode": 429}}}
    events = decoded(HARNESS.decoder(), *opencode(START, error))
    assert [event.error for event in events if isinstance(event, Failure)] == [ErrorKind.RATE_LIMIT]
