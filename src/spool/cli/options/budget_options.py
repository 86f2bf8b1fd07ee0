"""The options that limit what a loop may spend, for `ralph`, `run` and `wt-loop`."""

import click

from spool.cli.options.groups import Duration, option

_limits = option("Completion and limits")

STALL_OPTION = _limits(
    "--stall",
    "stall_iterations",
    type=click.IntRange(min=0),
    metavar="N",
    help="Stop after N iterations without progress; 0 disables.  [default: 5; with --max-iterations: 0]",
)
BUDGET_OPTIONS = (
    _limits("--max-cost", "max_cost_usd", type=float, metavar="USD", help="Stop when the loop has cost this much."),
    _limits("--max-tokens", type=int, metavar="N", help="Stop when the loop has used this many tokens."),
    _limits("--max-duration", type=Duration(), help="Stop this run after this time, waits included."),
)
