"""Rows of choices in which every pair of choices occurs that can occur at all."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations

Row = dict[str, str]
Pair = tuple[tuple[str, str], tuple[str, str]]


def pairs_of(row: Row) -> set[Pair]:
    """Return the pairs of choices in a row."""
    return set(combinations(sorted(row.items()), 2))


def rows(factors: Mapping[str, tuple[str, ...]], allowed: Callable[[Row], bool], seed: int = 0) -> list[Row]:
    """Return few rows that hold every pair which some allowed row holds.

    Greedy, as pairwise generators are: of 60 random rows that hold the rarest pair still missing, the one with the most
    missing pairs is next. A pair for which no allowed row turns up in 400 tries cannot occur.
    """
    dice = random.Random(seed)
    missing = set(_all_pairs(factors))
    chosen: list[Row] = []
    while missing:
        wanted = min(missing)
        found = [row for row in _tries(factors, wanted, dice) if allowed(row)]
        if not found:
            missing.discard(wanted)
            continue
        best = max(found[:60], key=lambda row: len(pairs_of(row) & missing))
        missing -= pairs_of(best)
        chosen.append(best)
    return chosen


def _all_pairs(factors: Mapping[str, tuple[str, ...]]) -> Iterator[Pair]:
    for first, second in combinations(sorted(factors), 2):
        yield from (((first, a), (second, b)) for a in factors[first] for b in factors[second])


def _tries(factors: Mapping[str, tuple[str, ...]], wanted: Pair, dice: random.Random) -> Iterator[Row]:
    for _ in range(400):
        yield {name: dice.choice(choices) for name, choices in factors.items()} | dict(wanted)
