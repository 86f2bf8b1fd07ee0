"""Words how to continue a loop that a limit has ended."""

import shlex
from typing import Any

from spool.domain.budget import Limit
from spool.domain.verdict import Limits

_FLAGS = {
    Limit.TOKENS: ("--max-tokens", "max_tokens"),
    Limit.COST: ("--max-cost", "max_cost_usd"),
}
_WORDS = {
    Limit.TOKENS: "continue with a higher --max-tokens",
    Limit.COST: "continue with a higher --max-cost",
    Limit.DURATION: "run it again to continue; the time starts over",
    Limit.TOKENS_PER_DAY: "continue tomorrow, or raise max_tokens_per_day in your own config.toml",
    Limit.COST_PER_DAY: "continue tomorrow, or raise max_cost_per_day in your own config.toml",
    Limit.STALL: "add a note with --add-context, then run it again to continue",
}
_STALLED_WORKTREE = "look at its log, then continue with: wt-loop resume"


def continue_hint(limit: Limit | None, *, in_worktree: bool = False) -> str:
    """Return how to continue, in words; an empty string if no such limit ended the loop."""
    if limit is Limit.STALL and in_worktree:
        return _STALLED_WORKTREE
    return _WORDS[limit] if limit else ""


def continue_command(again: str, limit: Limit, limits: Limits) -> str:
    """Return the command that continues a loop, with twice the budget that is used up."""
    if limit not in _FLAGS:
        return again
    flag, name = _FLAGS[limit]
    return f"{_without(flag, again)} {flag} {_doubled(getattr(limits, name))}"


def _doubled(budget: Any) -> str:
    return f"{2 * budget:g}" if isinstance(budget, float) else str(2 * budget)


def _without(flag: str, command: str) -> str:
    """Return a command line without a flag and its value."""
    words = [word for word in shlex.split(command) if not word.startswith(f"{flag}=")]
    while flag in words:
        place = words.index(flag)
        del words[place : place + 2]
    return shlex.join(words)
