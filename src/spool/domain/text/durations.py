"""Parses durations."""

import re

from spool.domain.text.plain_text import one_line

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, None: 1.0}


def seconds(raw: object) -> float:
    """Parse a duration into seconds: a number, or `90s`, `30m`, `2h`."""
    if isinstance(raw, int | float) and not isinstance(raw, bool):
        number = float(raw)
    else:
        found = _DURATION.fullmatch(str(raw).strip().lower())
        if not found:
            raise ValueError(f"'{one_line(str(raw), 40)}' is not a duration like 90, 30s, 15m or 2h")
        number = float(found[1]) * _UNITS[found[2]]
    if not 0 <= number < 1e9:
        raise ValueError("a duration must be from 0 to 1e9 s")
    return number
