"""Prices a usage whose cost the agent does not report."""

from collections.abc import Mapping
from typing import Annotated

import msgspec

from spool.domain.agent.stream import Usage

_Dollars = Annotated[float, msgspec.Meta(ge=0, lt=1e9)]
_MILLION = 1_000_000


class Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The price of a model, in US dollars per million tokens."""

    input: _Dollars
    output: _Dollars
    cached: _Dollars | None = None
    """The price of input read from a cache; the price of other input if unset."""


def price_of(prices: Mapping[str, Price], *, harness: str, model: str | None) -> Price | None:
    """Return the price of a model; without a model, the price listed under the harness's name."""
    return prices.get(model or harness)


def priced(usage: Usage, price: Price | None) -> Usage:
    """Return a usage with its cost: as reported, else by price, else unknown.

    opencode and pi report 0 for a model whose price they do not know, so 0 for more than 0 tokens is unknown as well.
    """
    if usage.cost_usd or (usage.cost_usd == 0 and not usage.tokens):
        return usage
    known = price is not None and usage.tokens is not None
    return msgspec.structs.replace(usage, cost_usd=_cost(usage, price) if price and known else None)


def _cost(usage: Usage, price: Price) -> float:
    cached = price.input if price.cached is None else price.cached
    parts = ((usage.tokens_in, price.input), (usage.tokens_out, price.output), (usage.tokens_cached, cached))
    return sum((tokens or 0) * rate for tokens, rate in parts) / _MILLION
