"""Words how to continue a loop that a limit has ended."""

import math
import shlex

from spool.domain.loop.budget import Limit
from spool.domain.loop.summary import LoopKind, LoopSummary

_WORDS = {
    Limit.TOKENS: "raise --max-tokens to continue",
    Limit.COST: "raise --max-cost to continue",
    Limit.DURATION: "run it again to continue; the time starts over",
    Limit.TOKENS_PER_DAY: "continue tomorrow, or raise max_tokens_per_day in your own config.toml",
    Limit.COST_PER_DAY: "continue tomorrow, or raise max_cost_per_day in your own config.toml",
    Limit.STALL: "add a note with --add-context or choose another --model, then run it again",
}
_STALLED_WORKTREE = "see its log, then continue with wt-loop resume"


def continue_hint(loop: LoopSummary) -> str:
    """Return how to continue a loop, in words; an empty string if no such limit ended it."""
    if loop.limit is Limit.STALL and loop.door is LoopKind.WORKTREE:
        return _STALLED_WORKTREE
    return _WORDS[loop.limit] if loop.limit else ""


def continue_command(again: str, loop: LoopSummary) -> str:
    """Return the command that continues a loop, with as much budget again and with the work of its story."""
    words = shlex.split(again)
    if loop.limit is Limit.COST:
        cents = math.ceil(100 * ((loop.usage.cost_usd or 0.0) + loop.limits.max_cost_usd))
        words = _with(words, "--max-cost", f"{cents / 100:.2f}")
    if loop.limit is Limit.TOKENS:
        words = _with(words, "--max-tokens", str((loop.usage.tokens or 0) + loop.limits.max_tokens))
    if loop.door is LoopKind.RUN:
        words = _with(words, "--on-resume", "keep")
    return shlex.join(words)


def _with(words: list[str], flag: str, value: str) -> list[str]:
    """Return the words of a command with a flag set to a value, whatever it was before."""
    kept = [word for word in words if not word.startswith(f"{flag}=")]
    while flag in kept:
        place = kept.index(flag)
        del kept[place : place + 2]
    return [*kept, flag, value]
