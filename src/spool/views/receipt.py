"""Formats a receipt as lines of text."""

from spool.domain.receipt import Rate, Receipt
from spool.domain.text import counted
from spool.views import words


def receipt_lines(receipt: Receipt) -> list[str]:
    """Return the totals, then the averages; nothing before the first iteration."""
    if not receipt.iterations:
        return []
    total = [f"{counted(receipt.iterations, 'iteration')} in {_time(receipt)}", *_spent(receipt)]
    averages = [
        f"per {name} {_rate(rate)}"
        for name, rate in (
            ("iteration", receipt.per_iteration),
            ("story", receipt.per_story),
            ("proved story", receipt.per_proved_story),
        )
        if rate is not None
    ]
    return [", ".join(total), "; ".join(averages)]


def _time(receipt: Receipt) -> str:
    parts = (("agent", receipt.agent_s), ("gates", receipt.gates_s), ("waits", receipt.waits_s))
    shown = ", ".join(f"{name} {words.duration(seconds)}" for name, seconds in parts if seconds)
    return f"{words.duration(receipt.seconds)} ({shown})" if shown else words.duration(receipt.seconds)


def _spent(receipt: Receipt) -> list[str]:
    usage = receipt.usage
    if usage.tokens is None and usage.cost_usd is None:
        return ["tokens and cost unknown"]
    tokens = "tokens unknown" if usage.tokens is None else f"{words.tokens(usage.tokens)} tokens"
    if usage.cost_usd is None:
        return [tokens, "cost unknown"]
    more = f" and {counted(receipt.unpriced, 'iteration')} of unknown cost" if receipt.unpriced else ""
    return [tokens, f"${usage.cost_usd:.2f}{more}"]


def _rate(rate: Rate) -> str:
    parts = [words.duration(rate.seconds)]
    if rate.tokens is not None:
        parts.append(f"{words.tokens(round(rate.tokens))} tokens")
    if rate.cost_usd is not None:
        parts.append(f"${rate.cost_usd:.2f}")
    return ", ".join(parts)
