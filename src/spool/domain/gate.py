"""The results of the checks after a claim of completion."""

import msgspec


class GateResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one gate."""

    name: str
    passed: bool
    why: str
    """The finding, in one line."""
    tell_agent: str = ""
    """Text for the next prompt, if the gate refused."""


def refusal(results: tuple[GateResult, ...]) -> GateResult | None:
    """Return the first gate that refused, or None."""
    return next((result for result in results if not result.passed), None)
