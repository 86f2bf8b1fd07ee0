"""Lays out tables: every row is one line that fits the terminal, and what does not fit is left out or goes below."""

import sys
from collections.abc import Sequence

from spool.domain.text.plain_text import one_line

ENDLESS = 1 << 20
_NOTE = 12
"""With fewer columns left beside a row, its note gets its own line."""
_SHORTEST = 20


def room() -> int:
    """Return the columns for a table; a script that reads a pipe gets everything."""
    if not sys.stdout.isatty():
        return ENDLESS
    import shutil  # with all its archive formats, only for a terminal

    return shutil.get_terminal_size().columns


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    width: int,
    left: Sequence[str] = (),
    drop: Sequence[str] = (),
    notes: Sequence[str] = (),
    noted: str = "",
) -> list[str]:
    """Return a table as lines.

    Columns named in `left` are aligned to the left; those in `drop` are left out, in this order, until a row fits.
    Notes go beside their rows, under the heading `noted`, or below them.
    """
    columns = {name: [name, *cells] for name, *cells in zip(head, *rows, strict=True)}
    for name in drop:
        if _used(columns) <= width:
            break
        columns.pop(name, None)
    widths = {name: max(map(len, cells)) for name, cells in columns.items()}
    padded = [
        [cell.ljust(widths[name]) if name in left else cell.rjust(widths[name]) for cell in cells]
        for name, cells in columns.items()
    ]
    lines = ["  ".join(line).rstrip() for line in zip(*padded, strict=True)]
    if not notes:
        return lines
    spare = width - _used(columns) - 2
    if spare >= _NOTE:
        whole = ["  ".join(line) for line in zip(*padded, strict=True)]
        beside = [noted, *notes]
        return [f"{line}  {one_line(note, min(spare, 400))}".rstrip() for line, note in zip(whole, beside, strict=True)]
    below = [f"    {one_line(note, max(_SHORTEST, width - 4))}" if note else "" for note in ("", *notes)]
    return [line for pair in zip(lines, below, strict=True) for line in pair if line]


def _used(columns: dict[str, list[str]]) -> int:
    return sum(max(map(len, cells)) for cells in columns.values()) + 2 * (len(columns) - 1)
