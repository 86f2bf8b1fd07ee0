"""Shows changes while they land, and what became of each."""

from collections.abc import Sequence

import msgspec

from spool.domain import events
from spool.domain.landing import GOOD, Fate, Landing, Train
from spool.domain.text import counted, one_line
from spool.views.hints import worded
from spool.views.look import Role
from spool.views.say import say
from spool.views.verification import CheckLine

_ROLES = {
    Fate.LANDED: Role.GOOD,
    Fate.ALREADY: Role.GOOD,
    Fate.PLANNED: Role.GOOD,
    Fate.NOT_READY: Role.WARN,
    Fate.HELD: Role.WARN,
}
_SHORT = 10
_NAMED = 5


class LandLines:
    """A line for each step of each change on standard error, and one for what became of it."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
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
            say(_outcome(landing), err=True)

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


def show_train(train: Train) -> None:
    """Print what became of each change, and where the target is."""
    show_landings(train.landings)
    landed = sum(one.fate is Fate.LANDED for one in train.landings)
    if train.landings:
        rest = len([one for one in train.landings if one.fate not in GOOD])
        missing = f", {rest} did not" if rest else ""
        say(f"{counted(landed, 'change')} landed{missing}; {train.onto} is at {train.target[:_SHORT]}.")


def show_landings(landings: Sequence[Landing], *, planned: bool = False) -> None:
    """Print landings, each with what a person needs to act on it."""
    if not landings:
        say("Nothing to land." if planned else "No landings.")
    for landing in landings:
        for number, line in enumerate(_lines(landing)):
            say(line, colour=_ROLES.get(landing.fate, Role.BAD).colour if not number else None)


def with_next(landings: Sequence[Landing]) -> list[Landing]:
    """Return landings with the next step in words."""
    return [msgspec.structs.replace(landing, next=_next(landing)) for landing in landings]


def _lines(landing: Landing) -> list[str]:
    lines = [_outcome(landing)]
    lines += [f"    {name}" for name in landing.files[:_NAMED] if landing.fate is Fate.CONFLICT]
    lines += [f"    fails: {one_line(name, 300)}" for name in landing.failing]
    lines += [f"    log: {landing.log}"] if landing.log else []
    lines += [f"    next: {_next(landing)}"] if _next(landing) else []
    return lines


def _outcome(landing: Landing) -> str:
    if landing.fate is Fate.LANDED:
        return f"{landing.change}: landed on {landing.onto} as {landing.commit[:_SHORT]}"
    if landing.fate is Fate.PLANNED:
        return f"{landing.change}: {landing.branch} would be rebased onto {landing.onto} and checked"
    if landing.fate is Fate.ALREADY:
        return f"{landing.change}: {landing.onto} has it already"
    return one_line(f"{landing.change}: {landing.fate}: {landing.why}", 500)


def _next(landing: Landing) -> str:
    match landing.fate:
        case Fate.CONFLICT:
            return f"rebase it by hand: git rebase {landing.onto} {landing.branch}; then run spool land again"
        case Fate.RED:
            return f"mend it on {landing.branch}, then run spool land again"
        case _:
            return worded(landing.next)
