"""What a check after a claim of "done" found."""

import msgspec


class GateResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one gate."""

    name: str
    passed: bool
    why: str
    """What it found, in one line."""
    tell_agent: str = ""
    """What the next prompt says about it, where the gate refused."""


def refusal(results: tuple[GateResult, ...]) -> GateResult | None:
    """Return the gate that refused, if one did."""
    return next((result for result in results if not result.passed), None)
