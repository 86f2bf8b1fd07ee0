"""The rule by place and punctuation: what makes a promise, and what the agent is told when it does not."""

import pytest

from spool.domain.judging.promise import PromiseKind, PromiseReading
from spool.domain.judging.promise.reader import PromiseReader

TAG = "<promise>COMPLETE</promise>"
FAILED = "<promise>FAILED: no network</promise>"

MADE = [
    "@",
    "  @  ",
    "Done.\n\n@",
    "@\n\nHere is a summary of what I did.",
    "**@**",
    "`@`",
    "## @",
    "- @",
    "3. @",
    "- [x] @",
    "✅ **@** ✅",
    "All tests pass. @",
    "All tests pass: @",
    "All tests pass — @",
    "Completion promise: `@`",
    "Status: ✅ @",
    "Alles ist geprüft. @",
    "完成承诺：`@`",  # noqa: RUF001 - Chinese punctuation
    "I was asked to finish when it works. It does.\n\n@",
    "I will now write the promise:\n\n@",
    "@\n\n@",
    "<think>Should I print it? Not yet.</think>\nAll done.\n\n@",
    "2 tests still fail.\n\n@",
    "\u200b<promise>\u200bCOM\u00adPLETE</promise>",
]
NOT_MADE = [
    ("I will print @ when all is done.", "inside a sentence"),
    ("The loop looks for @", "inside a sentence"),
    ("> @", "inside a quotation"),
    ("- [ ] @", "an open box of a list"),
    ("~~@~~", "struck out"),
    ("Should I print @?", "inside a question"),
    ('"@"', "in quotation marks"),
    ("If the tests pass: @", "says when it would be made"),
    ("Wenn alles grün ist: @", "says when it would be made"),
    ("Part A: @\nPart B: pending", "not the last thing in the message"),
    ("When everything is done I will output:\n\n@\n\nNow I begin.", "introduced as what would be written"),
    ("@, but 3 tests still fail", "taken back by what follows it"),
    ("@\n\nWait, one test fails.", "taken back by what follows it"),
    ("@\n\nI take that back.", "taken back by what follows it"),
    ("The docs say: @", "speaks about the promise"),
    ("```\n@\n```", "inside a code block"),
    ("<promise>complete</promise>", "misspelled"),
    ("<promise>COMPLETED</promise>", "misspelled"),
    ("<PROMISE>COMPLETE</PROMISE>", "misspelled"),
    ("</promise>COMPLETE<promise>", "misspelled"),
    ("&lt;promise&gt;COMPLETE&lt;/promise&gt;", "misspelled"),
    ('<promise status="COMPLETE" />', "misspelled"),
    ("PROMISE: COMPLETE", "misspelled"),
]
SILENT = [
    "<think>All done, so @</think>\nI have one more test to write.",
    "So I would print @ now.\n</think>\nI have one more test to write.",
    "<promise>NOT COMPLETE</promise>",
    "Promise-based code is complete now.",
    "COMPLETE",
]


def read(*messages: str) -> PromiseReading:
    reader = PromiseReader()
    for message in messages:
        reader.feed(message.replace("@", TAG))
        reader.end_message()
    return reader.finish()


@pytest.mark.parametrize("text", MADE)
def test_a_promise_that_counts(text: str) -> None:
    reading = read(text)
    assert reading.kept is not None
    assert (reading.kept.claim, reading.refused) == (PromiseKind.COMPLETE, None)


@pytest.mark.parametrize(("text", "why"), NOT_MADE)
def test_a_promise_that_does_not_count_is_refused_with_its_reason(text: str, why: str) -> None:
    reading = read(text)
    assert reading.kept is None
    assert reading.refused is not None
    assert (reading.refused.promise.claim, reading.refused.why) == (PromiseKind.COMPLETE, why)
    assert reading.refused.quote
    assert reading.refused in reading.vetoes


@pytest.mark.parametrize("text", SILENT)
def test_what_is_no_promise_is_silence(text: str) -> None:
    assert read(text).refused is None
    assert read(text).kept is None


def test_a_failure_that_is_listed_or_misspelled_is_none() -> None:
    listed = read(f"Supported tags: `@` | `{FAILED}`\n\nThe page builds.")
    assert (listed.kept, [veto.why for veto in listed.vetoes]) == (None, ["inside a sentence"] * 2)
    near = read("Stuck.\n\n<promise>FAILED - no network</promise>")
    assert near.kept is None
    assert near.refused is not None
    assert near.refused.promise.claim is PromiseKind.FAILED


def test_what_an_earlier_message_was_refused_is_silence() -> None:
    assert read("I will print @ later.", "Working on it.").refused is None
    assert read("I will print @ later.", " \n ").refused is not None


def test_a_later_message_may_take_a_promise_back_or_leave_it() -> None:
    assert read("@", "Thanks for your patience.").kept is not None
    assert read("@", "Wait, one test fails.").kept is None


def test_the_same_text_in_another_form_of_unicode_is_the_same_promise() -> None:
    reader = PromiseReader("ALLES GRÜN")
    reader.feed("<promise>ALLES GRU\u0308N</promise>")
    assert reader.finish().kept is not None
