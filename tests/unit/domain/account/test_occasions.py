"""When a person is told of a loop, and what never leaves the machine."""

import msgspec
import pytest

from spool.domain.account.occasions import Notice, NoticeFinder, NoticeKind
from spool.domain.agent.stream import Usage, UsageSoFar
from spool.domain.loop.events import Event, IterationEnded, RunEnded, RunStarted, StoryEvent, Waiting
from spool.domain.loop.outcome import OutcomeKind
from spool.domain.loop.verdict import ExitCode, Limits, Status
from spool.domain.text.redaction import HIDDEN, redacted, secrets_in
from tests.support.scene import CHANGE, START, record
from tests.unit.domain.accounts import stamped

EARLIER = Usage(cost_usd=3.0)


def found(*events: Event, limits: Limits | None = None, used: Usage = EARLIER) -> list[Notice]:
    finder = NoticeFinder(CHANGE, "shop", "run-1", wait_s=600.0, secrets=("hunter2hunter2",))
    start = RunStarted(change=CHANGE, harness="claude", model=None, limits=limits or Limits(), iteration=0, usage=used)
    return [notice for event in stamped([start, *events]) for notice in finder.see(event)]


def ended(status: Status, code: ExitCode, reason: str = "why") -> Event:
    return RunEnded(status=status, reason=reason, exit_code=int(code))


def waiting(seconds: float) -> Event:
    return Waiting(seconds=seconds, until=START, reason="rate limit")


@pytest.mark.parametrize(
    ("events", "kinds"),
    [
        ([ended(Status.DONE, ExitCode.COMPLETE)], [NoticeKind.DONE]),
        ([ended(Status.STUCK, ExitCode.STUCK)], [NoticeKind.STUCK]),
        ([ended(Status.STOPPED, ExitCode.FAILED)], [NoticeKind.STUCK]),
        ([ended(Status.STOPPED, ExitCode.INTERRUPTED)], []),
        ([waiting(599)], []),
        ([waiting(600)], [NoticeKind.WAIT]),
        (
            [
                IterationEnded(record=record(1, "1", 1, OutcomeKind.HARNESS_ERROR, hopeless=True, reason="no login")),
                ended(Status.STUCK, ExitCode.STUCK),
            ],
            [NoticeKind.PERSON],
        ),
    ],
)
def test_when(events: list[Event], kinds: list[NoticeKind]) -> None:
    assert [notice.kind for notice in found(*events)] == kinds


def test_a_budget_at_80_percent_is_said_once_and_earlier_runs_count() -> None:
    def used(cost: float) -> Event:
        return StoryEvent(story_id="1", iteration=1, event=UsageSoFar(usage=Usage(cost_usd=cost)))

    notices = found(used(0.5), used(1.0), used(1.2), limits=Limits(max_cost_usd=5.0))
    assert [(notice.kind, notice.text) for notice in notices] == [(NoticeKind.BUDGET, "$4.00 of $5.00")]
    assert notices[0].title == f"{CHANGE} has used 80% of a budget"


def test_a_budget_per_day_counts_all_loops_and_the_running_agent() -> None:
    finder = NoticeFinder(CHANGE, "shop", "run-1", wait_s=600.0)
    limits = Limits(max_cost_per_day=10.0, max_tokens_per_day=1_000)
    start = RunStarted(change=CHANGE, harness="claude", model=None, limits=limits, iteration=0)
    using = StoryEvent(story_id="1", iteration=1, event=UsageSoFar(usage=Usage(tokens_in=300, cost_usd=1.5)))
    assert [finder.see(event) for event in stamped([start])] == [[]]
    assert finder.tick(START, Usage(cost_usd=6.6, tokens_in=500)) == []
    told = [notice.text for event in stamped([using]) for notice in finder.see(event)]
    assert told == ["$8.10 of $10.00 today, all loops together", "800 of 1000 tokens today, all loops together"]
    assert finder.tick(START, Usage(cost_usd=9.0, tokens_in=900)) == []


def test_a_budget_of_time() -> None:
    notices = found(waiting(1), waiting(1), waiting(1), limits=Limits(max_duration_s=24.0))
    assert [notice.kind for notice in notices] == [NoticeKind.BUDGET]


def test_what_leaves_the_machine_is_redacted() -> None:
    reason = "401 for sk-ant-REDACTED in /home/ada/shop/.env, hunter2hunter2"
    notice = found(ended(Status.STUCK, ExitCode.STUCK, reason))[0]
    assert notice.text == f"401 for {HIDDEN} in .env, {HIDDEN}"
    assert b"abcdef" not in msgspec.json.encode(notice)


@pytest.mark.parametrize(
    "text",
    [
        "ghp_0123456789abcdefghij",
        "github_pat_11ABCDEFG0123456789_abc",
        "AKIAIOSFODNN7EXAMPLE",
        "Authorization: Bearer abc.def-ghi_jkl",
        "API_KEY=s3cr3t-value",
        'password: "correct horse"'.replace(" horse", "-horse"),
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.sig",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
        "xoxb-1234567890-abcdef",
    ],
)
def test_secrets_are_hidden(text: str) -> None:
    shown = redacted(f"before {text} after")
    assert HIDDEN in shown
    assert shown.startswith("before ")
    assert shown.endswith("after")
    secret = text.split()[-1].strip('"')
    assert secret not in shown


@pytest.mark.parametrize(
    "text",
    ["3 tests fail: test_login", "the limit of 3 retries is reached", "https://example.com/a/b", "story 1/3, 50%", ""],
)
def test_plain_words_stay(text: str) -> None:
    assert redacted(text) == text


def test_an_address_loses_its_password() -> None:
    assert redacted("https://ada:secret@example.com/x") == f"https://{HIDDEN}@example.com/x"


def test_secrets_of_the_environment_are_known_by_name() -> None:
    environment = {"OPENAI_API_KEY": "abcdefgh", "HOME": "/home/ada", "TOKEN": "short", "DB_PASSWORD": "longest-value"}
    assert secrets_in(environment) == ("longest-value", "abcdefgh")
