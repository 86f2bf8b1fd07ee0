"""The transcript between a decoder and the promise reader."""

from collections.abc import Iterable

from spool.domain.agent.stream import AgentRetry, Denied, Done, ErrorKind, Failure, Message, StreamEvent, ToolUse, Usage
from spool.domain.judging.promise.reader import PromiseReader
from spool.engine.agent_transcript import AgentTranscript

TAG = "<promise>COMPLETE</promise>"


class Script:
    """A decoder that gives what it is told to, one list for each chunk."""

    def __init__(self, *turns: list[StreamEvent], last: Iterable[StreamEvent] = ()) -> None:
        self._turns = iter(turns)
        self._last = last

    def feed(self, chunk: bytes) -> Iterable[StreamEvent]:
        return next(self._turns)

    def pause(self) -> Iterable[StreamEvent]:
        return ()

    def finish(self, stderr: str, side: str = "") -> Iterable[StreamEvent]:
        return self._last


def play(*events: StreamEvent, last: Iterable[StreamEvent] = ()) -> tuple[AgentTranscript, PromiseReader]:
    reader = PromiseReader()
    transcript = AgentTranscript(Script(list(events), last=last), reader, lambda _: None)
    transcript.feed(b"")
    return transcript, reader


def test_a_promise_stands_as_soon_as_it_is_made() -> None:
    assert play(Message(text=TAG, partial=True))[0].promised
    assert not play(Message(text=TAG, subagent=True))[0].promised


def test_disbelief_reaches_what_was_only_half_read() -> None:
    transcript, reader = play(Message(text=TAG, partial=True))
    transcript.disbelieve("the log was cut")
    transcript.finish("")
    assert reader.finish().kept is None
    assert [veto.why for veto in reader.finish().vetoes] == ["the log was cut"]


def test_nothing_is_believed_after_disbelief() -> None:
    reader = PromiseReader()
    told = Script([Message(text=TAG), Done(content=TAG)], last=[Message(text=TAG)])
    transcript = AgentTranscript(told, reader, lambda _: None)
    transcript.disbelieve("told to stop")
    transcript.feed(b"")
    transcript.finish("")
    assert reader.finish().kept is None


def test_an_error_at_the_end_takes_the_promise_back() -> None:
    transcript, reader = play(Message(text=TAG), last=[Failure(message="x", error=ErrorKind.INCOMPLETE)])
    transcript.finish("")
    assert [veto.why for veto in reader.finish().vetoes] == ["the agent's output is incomplete"]


def test_the_final_answer_counts_only_where_nothing_was_said() -> None:
    assert play(Done(content=TAG))[0].promised
    assert not play(Message(text="Working."), Done(content=TAG))[0].promised


def test_a_subagents_tools_take_nothing_back() -> None:
    assert play(Message(text=TAG), ToolUse(tool="x", subagent=True))[0].promised
    assert not play(Message(text=TAG), ToolUse(tool="x"))[0].promised


def test_facts_are_kept() -> None:
    usage = Usage(tokens_in=1)
    transcript, _ = play(Denied(tool="bash"), AgentRetry(delay_s=2.0, rate_limited=True))
    assert (transcript.denied, transcript.rate_limited_retry_s) == (["bash"], 2.0)
    transcript, _ = play(AgentRetry(rate_limited=True), Done(usage=usage))
    assert (transcript.usage, transcript.rate_limited_retry_s) == (usage, None)


def test_an_update_of_a_to_do_list_is_not_work_and_any_other_tool_is() -> None:
    for tool in ("TodoWrite", "todowrite", "write_todos", "todo_write"):
        assert play(Message(text=TAG), ToolUse(tool=tool))[0].promised
    for tool in ("Bash", "edit"):
        assert not play(Message(text=TAG), ToolUse(tool=tool))[0].promised
