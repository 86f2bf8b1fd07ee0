"""Reads and formats sizes. Units are powers of 1024."""

import re

from spool.domain.text.plain_text import one_line

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt])?(?:i?b)?")
_UNITS = {None: 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_LEAST = 16 << 20


def size(raw: object) -> int:
    """Parse a size into bytes: a number, or `512M`, `4G`; 0 disables a limit."""
    found = _SIZE.fullmatch(str(raw).strip().lower())
    if not found:
        raise ValueError(f"'{one_line(str(raw), 40)}' is not a size like 512M or 4G")
    number = int(float(found[1]) * _UNITS[found[2]])
    if number and not _LEAST <= number < 1 << 60:
        raise ValueError(f"a size must be 0, or from {_LEAST >> 20}M to 1e6T")
    return number


def sized(number: int) -> str:
    """Format a size in bytes: `4.0 GB`, `512 MB`."""
    return f"{number / (1 << 30):.1f} GB" if number >= 1 << 30 else f"{number / (1 << 20):.0f} MB"
