"""Shows changes while they land, and the result of each."""

from collections.abc import Sequence

import msgspec

from spool.domain.account.landing_order import GOOD, Fate, Landing, Train
from spool.domain.loop import events
from spool.domain.text.plain_text import counted, one_line, with_reason
from spool.views.gate_view import CheckLine
from spool.views.hints import worded
from spool.views.look import Role
from spool.views.say import say

_ROLES = {
    Fate.LANDED: Role.GOOD,
    Fate.ALREADY: Role.GOOD,
    Fate.PLANNED: Role.GOOD,
    Fate.NOT_READY: Role.WARN,
    Fate.HELD: Role.WARN,
}
_SHORT = 10


class LandLines:
    """A line for each step of each change on standard error, and what became of it on standard output."""

    def __init__(self, *, quiet: bool = False, planned: bool = False) -> None:
        self._quiet = quiet
        self._planned = planned
        self._checks = CheckLine(quiet=quiet)

    def step(self, change: str, text: str) -> None:
        """Print what is done now."""
        if not self._quiet:
            self._checks.close()
            say(f"{change}: {text}", err=True)

    def ended(self, landing: Landing) -> None:
        """Print what became of a change."""
        if not self._quiet:
            self._checks.close()
            show_landings([landing], planned=self._planned)

    def see(self, event: events.Event) -> None:
        """Note the check that starts."""
        if not self._quiet:
            self._checks.see(event)

    def tick(self) -> None:
        """Update the time."""
        if not self._quiet:
            self._checks.tick()

    def close(self) -> None:
        """Remove the line."""
        self._checks.close()


def show_train(train: Train, *, planned: bool) -> None:
    """Print how many changes landed, and where the target is."""
    if not train.landings:
        say("Nothing to land.")
    elif not planned:
        landed = sum(one.fate is Fate.LANDED for one in train.landings)
        rest = len([one for one in train.landings if one.fate not in GOOD])
        missing = f", {rest} did not" if rest else ""
        say(f"{counted(landed, 'change')} landed{missing}; {train.onto} is at {train.target[:_SHORT]}.")


def show_landings(landings: Sequence[Landing], *, planned: bool = False) -> None:
    """Print landings, each with what a person needs to act on it; nothing, if they are only planned."""
    for landing in landings:
        shown = _lines(landing)[: 1 if planned else None]
        for number, line in enumerate(shown):
            say(line, colour=_ROLES.get(landing.fate, Role.BAD).colour if not number else None)


def with_next(landings: Sequence[Landing]) -> list[Landing]:
    """Return landings with the next step in words."""
    return [msgspec.structs.replace(landing, next=_next(landing)) for landing in landings]


def _lines(landing: Landing) -> list[str]:
    lines = [f"{landing.change}: {fate_words(landing)}"]
    lines += [f"    fails: {one_line(name, 300)}" for name in landing.failing]
    lines += [f"    log: {landing.log}"] if landing.log else []
    lines += [f"    next: {_next(landing)}"] if _next(landing) else []
    return lines


def fate_words(landing: Landing) -> str:
    """Return a change's result, in one line."""
    if landing.fate is Fate.LANDED:
        repaired = f", after {counted(landing.repairs, 'repair')}" if landing.repairs else ""
        return f"landed on {landing.onto} as {landing.commit[:_SHORT]}{repaired}"
    if landing.fate is Fate.PLANNED:
        return f"{landing.branch} can be rebased onto {landing.onto}, and would be checked"
    if landing.fate is Fate.ALREADY:
        return f"{landing.onto} has it already"
    return one_line(with_reason(landing.fate, landing.why), 500)


def _next(landing: Landing) -> str:
    match landing.fate:
        case Fate.CONFLICT:
            rebase = f"git rebase {landing.onto} {landing.branch}"
            return f"let its agent repair it: {_repair(landing)}; or rebase it by hand: {rebase}; then spool land"
        case Fate.RED:
            return f"let its agent repair it: {_repair(landing)}; or fix it on {landing.branch}, then spool land"
        case _:
            return worded(landing.next)


def _repair(landing: Landing) -> str:
    return f"spool land {landing.change} --repair"
