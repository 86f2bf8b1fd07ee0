"""Keeps the accounts of loops up to date while their journals grow, for views of many live loops.

Only what was added to a journal is read again. What is kept grows with the iterations, not with the agent's output.
"""

import copy
import threading
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

from spool.app.loops.following import journal_page
from spool.app.reporting.loop_reports import new_progress, settle_account, stories_of
from spool.domain.account.account import LoopAccount
from spool.domain.account.progress import LoopProgress
from spool.domain.change.story import StoryList
from spool.domain.loop.events import IterationStarted
from spool.domain.loop.summary import LoopSummary

_KEPT = 64
"""Loops whose figures are kept; those of another one are read from the start of its journal again."""


class FollowedLoop(msgspec.Struct, frozen=True, kw_only=True):
    """A loop's account, with what only a page needs of its files."""

    account: LoopAccount
    stories: StoryList
    """Its stories with their tasks, as they stand in its files."""
    starts: Mapping[int, int] = {}
    """The journal offset of each iteration."""


@dataclass
class _FoldedJournal:
    """The events of one journal, folded as far as they were read."""

    progress: LoopProgress
    journal: int = -1
    offset: int = 0
    starts: dict[int, int] = field(default_factory=dict)
    closed: tuple[int, LoopProgress] | None = None
    """The same after the end of a killed run, and up to where it was read."""
    lock: threading.Lock = field(default_factory=threading.Lock)


class Accounts:
    """The accounts of loops, by their folders; used by several threads."""

    def __init__(self) -> None:
        self._followed: OrderedDict[str, _FoldedJournal] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, loop: LoopSummary) -> FollowedLoop:
        """Return a loop's account by now."""
        followed = self._find(loop)
        with followed.lock:
            gone = not _catch_up(followed, loop)
            stories = stories_of(loop)
            account = settle_account(loop, _settled(followed, loop), stories, gone=gone)
            return FollowedLoop(account=account, stories=stories, starts=dict(followed.starts))

    def _find(self, loop: LoopSummary) -> _FoldedJournal:
        with self._lock:
            followed = self._followed.setdefault(loop.folder, _FoldedJournal(new_progress(loop)))
            self._followed.move_to_end(loop.folder)
            while len(self._followed) > _KEPT:
                self._followed.popitem(last=False)
            return followed


def _catch_up(followed: _FoldedJournal, loop: LoopSummary) -> bool:
    """Fold what was added to the journal, or all of a new one; return whether there is a journal."""
    while True:
        page = journal_page(loop, at=followed.offset)
        if page is None:
            return False
        if page.journal != followed.journal or page.size < followed.offset:
            followed.progress, followed.journal = new_progress(loop), page.journal
            followed.offset, followed.closed = 0, None
            followed.starts.clear()
            if page.start:
                continue
        for placed in page.rows:
            with suppress(ArithmeticError, ValueError):  # times beyond all bounds, which only a forged event has
                followed.progress.fold(placed.event)
            if isinstance(placed.event, IterationStarted):
                followed.starts[placed.event.iteration] = placed.start
        if page.stop == followed.offset:
            return True
        followed.offset = page.stop


def _settled(followed: _FoldedJournal, loop: LoopSummary) -> LoopProgress:
    """Return what to take the account from: after a kill a copy, as the next run records what was in flight itself."""
    if loop.running or followed.progress.ended is not None:
        return followed.progress
    if followed.closed is None or followed.closed[0] != followed.offset:
        followed.closed = (followed.offset, copy.deepcopy(followed.progress))
    return followed.closed[1]
