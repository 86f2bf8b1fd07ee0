"""Formats a receipt as lines of text, and what is left of a budget."""

from spool.domain.loop.budget import Limit, Used
from spool.domain.loop.receipt import Rate, Receipt
from spool.domain.text.plain_text import counted
from spool.views import words


def receipt_lines(receipt: Receipt) -> list[str]:
    """Return the totals, then the averages; nothing before the first iteration."""
    if not receipt.iterations:
        return []
    total = [f"{counted(receipt.iterations, 'iteration')} in {time_words(receipt)}", *_spent(receipt)]
    same = receipt.per_story == receipt.per_proved_story  # every finished story is proved
    averages = [
        f"per {name} {_rate(rate)}"
        for name, rate in (
            ("iteration", receipt.per_iteration),
            ("story", None if same else receipt.per_story),
            ("proved story", receipt.per_proved_story),
        )
        if rate is not None
    ]
    return [", ".join(total), "; ".join(averages)]


def time_words(receipt: Receipt) -> str:
    """Format the time: `9.3s (agent 2.7s, gates 5.6s, waits 1.0s)`."""
    parts = (("agent", receipt.agent_s), ("gates", receipt.gates_s), ("waits", receipt.waits_s))
    shown = ", ".join(f"{name} {words.duration(seconds)}" for name, seconds in parts if seconds)
    return f"{words.duration(receipt.seconds)} ({shown})" if shown else words.duration(receipt.seconds)


def token_words(receipt: Receipt) -> str:
    """Format the tokens: `40.9k tokens`."""
    tokens = receipt.usage.tokens
    return "tokens unknown" if tokens is None else f"{words.tokens(tokens)} tokens"


def cost_words(receipt: Receipt) -> str:
    """Format the cost: `$0.93 and 1 iteration of unknown cost`."""
    if receipt.usage.cost_usd is None:
        return "cost unknown"
    more = f" and {counted(receipt.unpriced, 'iteration')} of unknown cost" if receipt.unpriced else ""
    return f"${receipt.usage.cost_usd:.2f}{more}"


def left_of(budget: Used, *, brief: bool = False) -> str:
    """Describe what is left of a budget: `$4.58 of $5.00 left`."""
    match budget.limit:
        case Limit.COST | Limit.COST_PER_DAY:
            left, most = f"${budget.left:.2f}", f"${budget.most:.2f}"
        case Limit.TOKENS | Limit.TOKENS_PER_DAY:
            left, most = f"{words.tokens(round(budget.left))} tokens", words.tokens(round(budget.most))
        case _:
            left, most = words.duration(budget.left), words.duration(budget.most)
    today = " today" if budget.limit in (Limit.COST_PER_DAY, Limit.TOKENS_PER_DAY) else ""
    return f"{left} left{today}" if brief else f"{left} of {most} left{today}"


def _spent(receipt: Receipt) -> list[str]:
    if receipt.usage.tokens is None and receipt.usage.cost_usd is None:
        return ["tokens and cost unknown"]
    return [token_words(receipt), cost_words(receipt)]


def _rate(rate: Rate) -> str:
    parts = [words.duration(rate.seconds)]
    if rate.tokens is not None:
        parts.append(f"{words.tokens(round(rate.tokens))} tokens")
    if rate.cost_usd is not None:
        parts.append(f"${rate.cost_usd:.2f}")
    return ", ".join(parts)
