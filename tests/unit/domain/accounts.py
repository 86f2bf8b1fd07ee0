"""Accounts of loops, from events as they are written."""

from datetime import timedelta

import msgspec

from spool.domain.account.history import LoopHistory
from spool.domain.account.progress import LoopProgress
from spool.domain.change.story import parse_stories
from spool.domain.loop.events import (
    Event,
)
from tests.support.scene import CHANGE, START, TASKS


def stamped(events: list[Event], *, every_s: float = 10.0) -> list[Event]:
    return [
        msgspec.structs.replace(event, at=START + timedelta(seconds=every_s * place), run_id="run-1")
        for place, event in enumerate(events)
    ]


def account(events: list[Event], *, close: bool = False, since_s: float | None = None) -> LoopHistory:
    since = None if since_s is None else START + timedelta(seconds=since_s)
    progress = LoopProgress(CHANGE, since=since)
    placed = stamped(events)
    for event in placed:
        progress.fold(event)
    progress.know(parse_stories(TASKS))
    if close:
        progress.close()
    return progress.at(START + timedelta(seconds=10.0 * len(placed)))
