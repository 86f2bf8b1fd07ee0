"""Cuts large work into git commands of bounded size, so that each one stays within the time that a command has."""

import time
from collections.abc import Awaitable, Callable, Mapping

from spool.errors import CommandTimeout

MOST_PATHS, MOST_BYTES = 2_000, 64 << 20
"""The first limits of one git command."""


async def in_pieces(
    sizes: Mapping[bytes, int],
    work: Callable[[list[bytes]], Awaitable[None]],
    *,
    timed_out: Callable[[], Awaitable[None]],
) -> None:
    """Do some work for all names, one piece after the other. Work that is repeated has to end the same.

    A piece that times out is done again in halves, after `timed_out`; pieces grow again while they take little of the
    time that was too short. One name that times out by itself ends it.
    """
    names, most, done, patience_s = list(sizes), MOST_PATHS, 0, 0.0
    while done < len(names):
        piece = _piece(names, done, sizes, most)
        began = time.monotonic()
        try:
            await work(piece)
        except CommandTimeout:
            await timed_out()
            if len(piece) == 1:
                raise
            most, patience_s = len(piece) // 2, time.monotonic() - began
            continue
        done += len(piece)
        if time.monotonic() - began < patience_s / 4:
            most = min(MOST_PATHS, 2 * most)


def _piece(names: list[bytes], start: int, sizes: Mapping[bytes, int], most: int) -> list[bytes]:
    end, total = start, 0
    while end < min(start + most, len(names)) and (end == start or total + sizes[names[end]] <= MOST_BYTES):
        total += sizes[names[end]]
        end += 1
    return names[start:end]
