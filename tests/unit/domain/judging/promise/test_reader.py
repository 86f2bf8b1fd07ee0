"""The promise reader, fed by hand."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spool.domain.judging.promise import REASON_LIMIT, Promise, PromiseKind, PromiseReading
from spool.domain.judging.promise.reader import PromiseReader

TAG = "<promise>COMPLETE</promise>"
COMPLETE = Promise(PromiseKind.COMPLETE)


def read(*pieces: str, promise: str = "COMPLETE", prompt: str = "") -> PromiseReading:
    reader = PromiseReader(promise, prompt=prompt)
    for piece in pieces:
        reader.feed(piece)
    return reader.finish()


def whys(reading: PromiseReading) -> list[str]:
    return [veto.why for veto in reading.vetoes]


def test_nothing_is_no_promise() -> None:
    assert read() == read("") == read("hello") == PromiseReading()


def test_a_promise_is_kept() -> None:
    assert read(TAG) == PromiseReading(COMPLETE)


@pytest.mark.parametrize("cut", range(len(TAG) + 1))
def test_a_tag_may_be_cut_anywhere(cut: int) -> None:
    assert read(f"Done.\n{TAG[:cut]}", f"{TAG[cut:]}\n").kept == COMPLETE


@pytest.mark.parametrize("promise", ["", " \n "])
def test_an_empty_promise_is_never_kept(promise: str) -> None:
    assert read("<promise></promise>", "<promise> \n</promise>", promise=promise).kept is None


@given(st.text(st.sampled_from("aB .*+?()[]{}|^$\\/:>é✓\"'`"), min_size=1).filter(str.strip))
def test_a_promise_is_literal_text(promise: str) -> None:
    assert read(f"<promise>{promise}</promise>", promise=promise).kept == COMPLETE
    assert read(TAG, promise=f"{promise} ({promise})").kept is None


def test_a_failure_is_kept_with_its_reason() -> None:
    assert read("<promise>FAILED:  no\n network </promise>").kept == Promise(PromiseKind.FAILED, "no\n network")


def test_a_reason_is_capped_and_cleaned() -> None:
    kept = read("<promise>FAILED: " + "\x1b[31mred\x00 " * 100_000 + "</promise>").kept
    assert kept is not None
    assert kept.reason.startswith("red red red ")
    assert len(kept.reason) < REASON_LIMIT + 50
    assert kept.reason.endswith("more characters)")


def test_of_two_promises_the_last_one_holds() -> None:
    assert read(f"{TAG}\n<promise>FAILED: x</promise>").kept == Promise(PromiseKind.FAILED, "x")
    assert read(f"<promise>FAILED: x</promise>\n{TAG}").kept == COMPLETE


def test_a_mention_takes_nothing_back() -> None:
    reading = read(f"{TAG}\n\nI will not print {TAG} twice.")
    assert reading.kept == COMPLETE
    assert whys(reading) == ["inside a sentence"]


def test_working_on_takes_the_promise_back() -> None:
    reader = PromiseReader()
    reader.feed(TAG)
    reader.tool_used()
    assert whys(reader.current()) == ["went on working after it"]
    reader.tool_used()
    reader.feed(TAG)
    assert reader.finish().kept == COMPLETE


def test_a_veto_reaches_what_is_not_read_yet() -> None:
    reader = PromiseReader()
    reader.feed(TAG)
    reader.veto("the log was cut")
    assert reader.finish() == PromiseReading(None, reader.current().vetoes)
    assert whys(reader.current()) == ["the log was cut"]


def test_a_veto_of_nothing_leaves_no_trace() -> None:
    reader = PromiseReader()
    reader.veto("whatever")
    assert reader.finish() == PromiseReading()


def test_asking_for_the_current_state_changes_nothing() -> None:
    reader = PromiseReader()
    for piece in ("```\n", TAG, "\n", "``", "`\n", "<promise>COM", "PLETE</promise>\x1b[", "0m\r", "\n"):
        reader.feed(piece)
        assert reader.current() == reader.current()
    assert reader.current().kept == COMPLETE
    assert whys(reader.finish()) == ["inside a code block"]


def test_the_current_state_is_what_holds_if_the_message_ended_here() -> None:
    reader = PromiseReader()
    reader.feed(f"Done. {TAG}")
    assert reader.current().kept == COMPLETE
    reader.feed(" is what I will print when I am done.")
    assert reader.current().kept is None


def test_a_tag_does_not_reach_into_the_next_message() -> None:
    reader = PromiseReader()
    reader.feed("<promise>COM")
    reader.end_message()
    reader.feed("PLETE</promise>")
    assert reader.finish() == PromiseReading()


def test_a_fence_does_not_reach_into_the_next_message() -> None:
    reader = PromiseReader()
    reader.feed("```\nunclosed\n")
    reader.end_message()
    reader.feed(f"{TAG}\n```\n")
    assert reader.finish().kept == COMPLETE


def test_only_the_last_vetoes_are_remembered() -> None:
    reading = read(f"I will not print {TAG}.\n" * 100, f"> {TAG}\n")
    assert len(reading.vetoes) == 20
    assert whys(reading)[-1] == "inside a quotation"


def test_a_prompt_printed_back_is_no_promise() -> None:
    prompt = f"Fix everything that is broken, one thing at a time, and test it. Then print\n{TAG}\nand stop.\n"
    assert whys(read(prompt, prompt=prompt)) == ["echoes the prompt"]
    assert read(prompt, TAG, prompt=prompt).kept == COMPLETE


def test_a_prompt_with_many_tags_costs_little() -> None:
    prompt = f"print {TAG} or not\n" * 20_000
    assert read(TAG, prompt=prompt).kept == COMPLETE


@pytest.mark.parametrize("before", [0, 1, 599, 600, 601, 65_535, 65_536, 65_537, 66_136])
@pytest.mark.parametrize("after", [0, 599, 600, 601, 70_000])
def test_a_promise_is_found_wherever_the_buffers_end(before: int, after: int) -> None:
    assert read("x" * before, f"\n{TAG}\n", "y" * after).kept == COMPLETE


@pytest.mark.parametrize("padding", range(65_400, 65_700, 7))
def test_a_denial_is_seen_wherever_the_buffers_end(padding: int) -> None:
    text = "x" * padding + f".\nI will most certainly not print {TAG} before all is done.\n" + "y" * 70_000
    assert whys(read(*(text[start : start + 1_000] for start in range(0, len(text), 1_000)))) == ["inside a sentence"]


def test_endless_output_needs_little_memory() -> None:
    reader = PromiseReader()
    chunk = "an endless line without a newline " * 2_000
    tracemalloc.start()
    for _ in range(300):
        reader.feed(chunk)
    reader.feed(f"<promise> is opened and never closed {chunk}")
    for _ in range(300):
        reader.feed(chunk)
    reader.feed(f"\n{TAG}")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert reader.finish().kept == COMPLETE
    assert peak < 2 << 20


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 990 + "<" + " " * 1_000,
        "\r" * 65_000 + "a\r",
        "<promise>" * 20_000,
        "promise: " + "<promise" * 200,
        f"{TAG}\n" * 20_000,
        TAG * 20_000,
    ],
    ids=["blanks", "carriage returns", "opening tags", "near misses", "tags on lines", "tags in a line"],
)
def test_text_made_to_be_slow_is_read_in_linear_time(text: str) -> None:
    """Each of these took seconds: a pattern of this kind needs a million steps where one needs a thousand."""
    reader = PromiseReader(prompt=text[:20_000])
    reader.feed(text)
    for _ in range(20):
        reader.current()


def test_blanks_before_a_message_change_nothing() -> None:
    whole = read("x" * 10, " " * 300 + "\nI will print " + TAG + " later.\n" + "y" * 10)
    pieces = read("x" * 10, *(" " * 300 + "\nI will print " + TAG + " later.\n" + "y" * 10))
    assert whole == pieces


@pytest.mark.parametrize("before", ["", f"{TAG}\n", "<promise>COMP", "```\n", "<think>", "\x1b["])
@pytest.mark.parametrize("noise", ["x" * 99 + "\n", "warning: \r\n", "not yet, ", "\x00 ", "für "])
@pytest.mark.parametrize("after", ["", TAG, "LETE</promise>", f"```\n{TAG}", "promise: complete"])
def test_of_long_output_without_marks_the_end_is_enough(before: str, noise: str, after: str) -> None:
    text = "Working. " * 40 + before + noise * (100_000 // len(noise)) + "\n" + after
    large, small = ([text[at : at + size] for at in range(0, len(text), size)] for size in (40_000, 5_000))
    assert read(*large) == read(*small)
