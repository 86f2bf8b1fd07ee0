"""Keeps a run within its budgets, between iterations and within one."""

from spool.domain.agent.prices import Price
from spool.domain.agent.stream import Usage
from spool.domain.loop.budget import Budgets, Concern, Exceeded, concern_about, concerns, exceeded
from spool.domain.loop.state import IterationRecord
from spool.engine.ports import Clock, Expenses, Harness


class Spending:
    """The budgets of one run and what is used of them."""

    def __init__(self, budgets: Budgets, expenses: Expenses, clock: Clock) -> None:
        self._budgets = budgets
        self._expenses = expenses
        self._clock = clock
        self._began = clock.monotonic()  # a machine that sleeps, or a clock that is set, uses up no time
        self._said = False

    def exceeded(self, used: Usage, so_far: Usage = Usage()) -> Exceeded | None:  # noqa: B008 - a frozen value
        """Return the budget that is used up, if any; `so_far` is the usage of the running agent."""
        today = self._expenses.today() + so_far if self._budgets.of_day else Usage()
        shared = used + so_far + self._expenses.others()
        return exceeded(self._budgets, shared, run_s=self._run_s, today=today)

    def at_most(self, seconds: float) -> float:
        """Return a wait, cut at the run's time limit."""
        limit = self._budgets.max_duration_s
        return min(seconds, max(0.0, limit - self._run_s)) if limit else seconds

    def concerns(self, harness: Harness, price: Price | None) -> list[Concern]:
        """Return the budgets that cannot be kept with this agent."""
        traits = harness.traits
        found = concerns(
            self._budgets,
            harness.name,
            reports_cost=traits.cost or (traits.tokens and price is not None),
            reports_tokens=traits.tokens,
        )
        self._said = bool(found)
        return found

    def concern_about(self, record: IterationRecord) -> Concern | None:
        """Return a concern, once per run, if a limited cost is unknown after all."""
        found = None if self._said else concern_about(self._budgets, record.usage, record.iteration)
        self._said = self._said or found is not None
        return found

    @property
    def _run_s(self) -> float:
        return self._clock.monotonic() - self._began
