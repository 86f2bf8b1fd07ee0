"""Estimates the end of a wait, for a progress bar."""

import sys
import time
from datetime import datetime
from typing import Literal, Self

import msgspec

from spool.domain.account.progress import WHOLE, LoopProgress
from spool.domain.loop.events import Working
from spool.domain.text.plain_text import one_line
from spool.views import words
from spool.views.look import bar_text
from spool.views.say import rewrite_line

_WIDTH = 20
_SHORT = 10
_SHORTEST_S = 2.0
"""A shorter wait needs no bar."""
_MOST = 0.99
"""An estimate never says that what still runs is over."""


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about a wait: its expected length, or the share done at some moment."""

    expected_s: float = 0.0
    reached: float = 0.0
    """The share that was done after `reached_s` seconds."""
    reached_s: float = 0.0

    def share(self, elapsed_s: float) -> float | None:
        """Return the share that is done by now, extrapolated; None if nothing is known."""
        if self.expected_s > 0:
            return min(_MOST, elapsed_s / self.expected_s)
        if self.reached > 0 and self.reached_s > 0:
            return min(_MOST, max(self.reached, self.reached * elapsed_s / self.reached_s))
        return None

    def words(self, elapsed_s: float) -> str:
        """Return a bar with the time left; an empty text for a short wait, or if nothing is known."""
        share = self.share(elapsed_s)
        if share is None or elapsed_s < _SHORTEST_S:
            return ""
        left_s = self.expected_s - elapsed_s if self.expected_s else elapsed_s * (1 - share) / share
        full, empty = bar_text(share, _WIDTH)
        left = f"about {words.duration(left_s)} left" if left_s > 0 else "longer than the last time"
        return f"{full}{empty} {share:.0%}, {left}"


def waiting_for(progress: LoopProgress, now: datetime) -> str:
    """Return what a loop waits for, with a bar and the time left; empty while an agent works."""
    if (wait := progress.waiting) is not None:
        left_s = max(0.0, (wait.until - now).total_seconds())
        full, empty = bar_text(1 - left_s / wait.seconds if wait.seconds > 0 else 1.0, _SHORT)
        left = f"{words.duration(left_s)} left, until {words.clock(wait.until)}"
        return one_line(f"{full}{empty} waiting, {left}: {wait.reason}", 300)
    if (work := progress.working) is not None:
        return f"{''.join(bar_text(work.share, _SHORT))} {words.working(work)}, {work.share:.0%}"
    if (gate := progress.checking) is not None:
        elapsed_s = max(0.0, (now - gate.at).total_seconds()) if gate.at else 0.0
        estimate = Estimate(expected_s=gate.expected_s).words(elapsed_s)
        return " · ".join(
            (estimate, words.checking(gate)) if estimate else (words.checking(gate), words.duration(elapsed_s))
        )
    return ""


def activity(progress: LoopProgress, now: datetime) -> str:
    """Return what a loop does now: what it waits for, or its iteration and how long ago the agent last wrote."""
    if progress.ended is not None:
        return str(progress.ended.status)
    if waits := waiting_for(progress, now):
        return waits
    last = progress.history.attempts[-1] if progress.history.attempts else None
    if last is None or last.story_id != (progress.current or WHOLE):
        return "starting"
    if last.outcome:
        return "continuing"
    where = f"story {one_line(progress.current, 20)} · " if progress.current else ""
    iteration = f"{where}iteration {progress.iteration} · {words.duration(last.lasts_s(now))}"
    return f"{iteration} · {last_output(progress, now)}".removesuffix(" · ")


def last_output(progress: LoopProgress, now: datetime) -> str:
    """Return how long ago a loop last wrote: `last output 4s ago`; empty before that and after its end."""
    heard = progress.heard_at
    if heard is None or progress.ended is not None:
        return ""
    seconds = max(0.0, (now - heard).total_seconds())
    return f"last output {f'{seconds:.0f}s' if seconds < 60 else words.duration(seconds)} ago"


class WorkLine:
    """One line on a terminal's standard error with the progress of work on a large tree; elsewhere nothing."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._since = time.monotonic()
        self._shown = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            rewrite_line("")

    def advance(self, step: Literal["checkpoint", "restore", "clone"], share: float, files: int) -> None:
        """Show the share that is done."""
        elapsed_s = time.monotonic() - self._since
        if share == 0:
            self._since = time.monotonic()
        bar = Estimate(reached=share, reached_s=elapsed_s).words(elapsed_s)
        if self._live and bar:
            self._shown = True
            rewrite_line(f"{bar} · {words.working(Working(step=step, share=share, files=files))}")
