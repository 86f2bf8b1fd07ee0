"""Budgets: what a loop may spend, and when they are used up. Pure, with a table test."""

from enum import StrEnum

import msgspec

from spool.domain.agent.stream import Usage
from spool.errors import Hint

_ROUNDING = 1e-9
"""Ten times 0.1 is less than 1 in binary; a budget is used up all the same."""


class Limit(StrEnum):
    """The limit that ended a loop."""

    TOKENS = "tokens"
    COST = "cost"
    DURATION = "duration"
    TOKENS_PER_DAY = "tokens per day"
    COST_PER_DAY = "cost per day"
    STALL = "stall"


class Budgets(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens and cost count over all runs of the loop, time per run, the day's over all loops; 0 disables each."""

    max_tokens: int = 0
    max_cost_usd: float = 0.0
    max_duration_s: float = 0.0
    max_tokens_per_day: int = 0
    max_cost_per_day: float = 0.0

    @property
    def of_cost(self) -> bool:
        """Whether the cost is limited."""
        return bool(self.max_cost_usd or self.max_cost_per_day)

    @property
    def of_tokens(self) -> bool:
        """Whether the tokens are limited."""
        return bool(self.max_tokens or self.max_tokens_per_day)

    @property
    def of_day(self) -> bool:
        """Whether the spending of all loops in a day is limited."""
        return bool(self.max_tokens_per_day or self.max_cost_per_day)


class Exceeded(msgspec.Struct, frozen=True):
    """A budget that is used up."""

    limit: Limit
    reason: str


class Used(msgspec.Struct, frozen=True):
    """The used part of a budget, in its own unit."""

    limit: Limit
    used: float
    most: float

    @property
    def share(self) -> float:
        """The used share, from 0 on."""
        return self.used / self.most

    @property
    def left(self) -> float:
        """The unused rest; at least 0."""
        return max(0.0, self.most - self.used)


class Concern(msgspec.Struct, frozen=True):
    """A budget that cannot be kept."""

    message: str
    hint: Hint


def exceeded(
    budgets: Budgets,
    used: Usage,
    *,
    run_s: float = 0.0,
    today: Usage = Usage(),  # noqa: B008 - a frozen value
) -> Exceeded | None:
    """Return the first budget that is used up, or None."""
    if budgets.max_tokens and (used.tokens or 0) >= budgets.max_tokens:
        return Exceeded(Limit.TOKENS, f"the budget of {budgets.max_tokens} tokens is used up")
    if _reached(used.cost_usd, budgets.max_cost_usd):
        return Exceeded(Limit.COST, f"the budget of ${budgets.max_cost_usd:.2f} is used up")
    if _reached(run_s, budgets.max_duration_s):
        return Exceeded(Limit.DURATION, f"the time limit of {budgets.max_duration_s:g} s is reached")
    if budgets.max_tokens_per_day and (today.tokens or 0) >= budgets.max_tokens_per_day:
        return Exceeded(Limit.TOKENS_PER_DAY, f"today's budget of {budgets.max_tokens_per_day} tokens is used up")
    if _reached(today.cost_usd, budgets.max_cost_per_day):
        return Exceeded(Limit.COST_PER_DAY, f"today's budget of ${budgets.max_cost_per_day:.2f} is used up")
    return None


def used_of(
    budgets: Budgets,
    used: Usage,
    *,
    run_s: float = 0.0,
    today: Usage = Usage(),  # noqa: B008 - a frozen value
) -> list[Used]:
    """Return how much of each budget is used, the scarcest first."""
    found = (
        Used(Limit.TOKENS, used.tokens or 0, budgets.max_tokens),
        Used(Limit.COST, used.cost_usd or 0.0, budgets.max_cost_usd),
        Used(Limit.DURATION, run_s, budgets.max_duration_s),
        Used(Limit.TOKENS_PER_DAY, today.tokens or 0, budgets.max_tokens_per_day),
        Used(Limit.COST_PER_DAY, today.cost_usd or 0.0, budgets.max_cost_per_day),
    )
    return sorted((one for one in found if one.most), key=lambda one: -one.share)


def concerns(budgets: Budgets, harness: str, *, reports_cost: bool, reports_tokens: bool) -> list[Concern]:
    """Return the budgets that cannot be kept, because the agent does not report what they limit."""
    found = []
    if budgets.of_cost and not reports_cost:
        found.append(Concern(f"{harness} reports no cost, so the cost limit cannot be kept", Hint.PRICES))
    if budgets.of_tokens and not reports_tokens:
        found.append(Concern(f"{harness} reports no tokens, so the token limit cannot be kept", Hint.LIMIT_TIME))
    return found


def concern_about(budgets: Budgets, usage: Usage, iteration: int) -> Concern | None:
    """Return a concern if the cost is limited and an iteration used tokens of unknown cost."""
    if not budgets.of_cost or not usage.tokens or usage.cost_usd is not None:
        return None
    message = f"the cost of iteration {iteration} is unknown, so the cost limit cannot be kept"
    return Concern(message, Hint.PRICES)


def _reached(spent: float | None, limit: float) -> bool:
    return bool(limit) and (spent or 0.0) >= limit - _ROUNDING
