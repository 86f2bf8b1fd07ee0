"""When a budget is used up, what cannot be kept, and what an unknown cost is worth."""

import pytest

from spool.domain.agent.prices import Price, price_of, priced
from spool.domain.agent.stream import Usage
from spool.domain.loop.budget import Budgets, Exceeded, Limit, concern_about, concerns, exceeded, used_of
from spool.errors import Hint

NOTHING = Usage()
TABLE: list[tuple[str, Budgets, Usage, float, Usage, Limit | None]] = [
    ("no budget", Budgets(), Usage(tokens_in=10**9, cost_usd=1e9), 1e9, Usage(cost_usd=1e9), None),
    ("tokens left", Budgets(max_tokens=100), Usage(tokens_in=60, tokens_out=39), 0, NOTHING, None),
    ("tokens used up", Budgets(max_tokens=100), Usage(tokens_in=60, tokens_out=40), 0, NOTHING, Limit.TOKENS),
    ("cached tokens are free", Budgets(max_tokens=100), Usage(tokens_cached=10**6), 0, NOTHING, None),
    ("cost left", Budgets(max_cost_usd=1), Usage(cost_usd=0.99), 0, NOTHING, None),
    ("cost used up", Budgets(max_cost_usd=1), Usage(cost_usd=1.5), 0, NOTHING, Limit.COST),
    ("ten dimes are a dollar", Budgets(max_cost_usd=1), Usage(cost_usd=sum([0.1] * 10)), 0, NOTHING, Limit.COST),
    ("an unknown cost uses up nothing", Budgets(max_cost_usd=1), Usage(tokens_in=10**9), 0, NOTHING, None),
    ("time left", Budgets(max_duration_s=60), NOTHING, 59.9, NOTHING, None),
    ("time used up", Budgets(max_duration_s=60), NOTHING, 60, NOTHING, Limit.DURATION),
    ("the loop's usage is not the day's", Budgets(max_cost_per_day=1), Usage(cost_usd=5), 0, NOTHING, None),
    ("the day's cost", Budgets(max_cost_per_day=1), NOTHING, 0, Usage(cost_usd=1), Limit.COST_PER_DAY),
    ("the day's tokens", Budgets(max_tokens_per_day=9), NOTHING, 0, Usage(tokens_out=9), Limit.TOKENS_PER_DAY),
    (
        "the loop's own budget comes first",
        Budgets(max_cost_usd=1, max_cost_per_day=1),
        Usage(cost_usd=1),
        0,
        Usage(cost_usd=1),
        Limit.COST,
    ),
]


@pytest.mark.parametrize(("budgets", "used", "run_s", "today", "limit"), [row[1:] for row in TABLE],
                         ids=[row[0] for row in TABLE])  # fmt: skip
def test_what_is_used_up(budgets: Budgets, used: Usage, run_s: float, today: Usage, limit: Limit | None) -> None:
    found = exceeded(budgets, used, run_s=run_s, today=today)
    assert (found.limit if found else None) is limit


def test_the_reason_names_the_budget() -> None:
    assert exceeded(Budgets(max_cost_usd=2), Usage(cost_usd=2)) == Exceeded(
        Limit.COST, "the budget of $2.00 is used up"
    )


@pytest.mark.parametrize(
    ("budgets", "cost", "tokens", "hints"),
    [
        (Budgets(), False, False, []),
        (Budgets(max_cost_usd=1), True, True, []),
        (Budgets(max_cost_usd=1), False, True, [Hint.PRICES]),
        (Budgets(max_cost_per_day=1), False, True, [Hint.PRICES]),
        (Budgets(max_tokens=1), True, False, [Hint.LIMIT_TIME]),
        (Budgets(max_duration_s=1), False, False, []),
    ],
)
def test_a_budget_that_the_agent_does_not_report_cannot_be_kept(
    budgets: Budgets, cost: bool, tokens: bool, hints: list[Hint]
) -> None:
    found = concerns(budgets, "codex", reports_cost=cost, reports_tokens=tokens)
    assert [concern.hint for concern in found] == hints


def test_an_iteration_of_unknown_cost_is_a_concern_only_with_a_cost_limit() -> None:
    unknown = Usage(tokens_in=5)
    assert concern_about(Budgets(max_tokens=9), unknown, 3) is None
    assert concern_about(Budgets(max_cost_usd=9), Usage(tokens_in=5, cost_usd=0.1), 3) is None
    assert concern_about(Budgets(max_cost_usd=9), Usage(), 3) is None
    found = concern_about(Budgets(max_cost_usd=9), unknown, 3)
    assert found is not None
    assert "iteration 3" in found.message


PRICE = Price(input=2.0, output=10.0, cached=0.5)
MILLIONS = Usage(tokens_in=1_000_000, tokens_out=2_000_000, tokens_cached=4_000_000)


@pytest.mark.parametrize(
    ("usage", "price", "cost"),
    [
        (MILLIONS, PRICE, 24.0),
        (MILLIONS, Price(input=2.0, output=10.0), 30.0),
        (MILLIONS, None, None),
        (Usage(tokens_in=5, cost_usd=0.3), PRICE, 0.3),
        (Usage(tokens_in=5, cost_usd=0.0), None, None),
        (Usage(tokens_in=1_000_000, cost_usd=0.0), PRICE, 2.0),
        (Usage(tokens_in=0, tokens_out=0, cost_usd=0.0), None, 0.0),
        (Usage(), PRICE, None),
        (Usage(tokens_in=5), Price(input=0.0, output=0.0), 0.0),
    ],
)
def test_a_cost_is_reported_or_priced_or_unknown(usage: Usage, price: Price | None, cost: float | None) -> None:
    assert priced(usage, price).cost_usd == cost


def test_a_price_is_found_by_model_and_without_one_by_harness() -> None:
    prices = {"gpt": PRICE, "codex": Price(input=1, output=1)}
    assert price_of(prices, harness="codex", model="gpt") is PRICE
    assert price_of(prices, harness="codex", model=None) is prices["codex"]
    assert price_of(prices, harness="codex", model="other") is None


def test_the_scarcest_budget_comes_first() -> None:
    budgets = Budgets(max_tokens=100, max_cost_usd=5.0, max_cost_per_day=2.0)
    used = used_of(budgets, Usage(tokens_in=10, cost_usd=1.0), today=Usage(cost_usd=1.5))
    assert [(one.limit, one.share, one.left) for one in used] == [
        (Limit.COST_PER_DAY, 0.75, 0.5),
        (Limit.COST, 0.2, 4.0),
        (Limit.TOKENS, 0.1, 90.0),
    ]
    assert used_of(Budgets(), Usage(cost_usd=1.0)) == []
