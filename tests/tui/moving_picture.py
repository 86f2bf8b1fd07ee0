"""Makes the README's moving picture, a recording of the real `spool demo` in a terminal: `make moving-picture`.

The recording notes when each line of the output first stood there as it stands at the end. The SVG shows the lines at
these times, in proportion and slow enough to be read, and needs no script, font or address.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from html import escape
from pathlib import Path
from typing import NamedTuple

from tests.support import make_scratch
from tests.support.terminal import Terminal, terminal

COLUMNS, ROWS = 100, 30
PLAYED_S = 24.0
"""The length of the picture, whatever the machine needed: the times keep their proportions."""
REST_S = 6.0
LAST = "run any Markdown list"
"""What the demo prints at its end."""
_WIDTH, _HEIGHT, _TOP = 7.8, 18, 44
_COLOURS = {30: "#59626d", 31: "#ff8078", 32: "#57b97c", 33: "#e0b040", 34: "#5cc3e8", 35: "#d2a0f5", 36: "#5cc3e8"}
_SGR = re.compile(r"\x1b\[([\d;]*)m")


Style = tuple[bool, bool, int]
"""Bold, dim, and a colour of the terminal; tmux says only what changes, from line to line."""
PLAIN = (False, False, 0)


class Line(NamedTuple):
    """A line of the output with its escape sequences, and the second in which it appeared."""

    text: str
    at: float


def record(shown: Terminal) -> list[Line]:
    """Run the demo and return its output."""
    shown.tmux("send-keys", "-t", "spool", "-l", "PS1='$ '; clear")
    shown.keys("Enter")
    shown.until(lambda: shown.text().strip() == "$")
    shown.tmux("clear-history", "-t", "spool")
    shown.type("spool", "demo")
    started, seen = time.monotonic(), list[tuple[float, list[str]]]()
    while not seen or LAST not in "".join(seen[-1][1][-4:]):
        lines = shown.tmux("capture-pane", "-p", "-e", "-t", "spool", "-S", "-").rstrip().splitlines()
        seen.append((time.monotonic() - started, lines))
        if time.monotonic() - started > 120:
            raise AssertionError("the demo did not end")
    final = seen[-1][1]
    if final[-1].strip() == "$":
        del final[-1]
    return [
        Line(text, next(at for at, lines in seen if len(lines) > number and lines[number] == text))
        for number, text in enumerate(final)
    ]


def drawn(lines: list[Line]) -> str:
    """Return the recording as SVG."""
    slower, total_s = PLAYED_S / lines[-1].at, PLAYED_S + REST_S
    width, height = round(COLUMNS * _WIDTH) + 32, ROWS * _HEIGHT + _TOP + 14
    appear, scroll, text = [], ["0%{transform:translateY(0)}"], []
    latest, style = 0.0, PLAIN
    for number, line in enumerate(lines):
        latest = max(latest, line.at)
        share = f"{100 * latest * slower / total_s:.2f}%"
        appear.append(
            f"@keyframes k{number}{{0%{{opacity:0}}{share}{{opacity:1}}}}.k{number}{{animation-name:k{number}}}"
        )
        if number >= ROWS:
            scroll.append(f"{share}{{transform:translateY(-{(number - ROWS + 1) * _HEIGHT}px)}}")
        if line.text.strip():
            spans, style = _spans(line.text, style)
            text.append(f'<text class="l k{number}" y="{number * _HEIGHT + 14}">{spans}</text>')
    end = max(0, len(lines) - ROWS) * _HEIGHT
    looks = (
        "text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#e4e7eb;"
        "white-space:pre}"
        f".l{{animation:{total_s:.1f}s step-end infinite}}"
        f".s{{transform:translateY(-{end}px);animation:s {total_s:.1f}s step-end infinite}}"
        f"@keyframes s{{{''.join(scroll)}}}"
        + "".join(appear)
        + "@media(prefers-reduced-motion:reduce){.l,.s{animation:none}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">'
        f"<title>A recording of spool demo</title><style>{looks}</style>"
        f'<rect width="{width}" height="{height}" rx="8" fill="#14171b"/>'
        f'<g fill="#3a424c">{"".join(f"""<circle cx="{x}" cy="19" r="6"/>""" for x in (20, 40, 60))}</g>'
        f'<svg x="16" y="{_TOP - 8}" width="{width - 32}" height="{ROWS * _HEIGHT + 6}">'
        f'<g class="s">{"".join(text)}</g></svg></svg>\n'
    )


def _spans(line: str, style: Style) -> tuple[str, Style]:
    """Return a line of a terminal as spans, one per colour, each at its own column, and the style after it."""
    found, column = [], 0
    parts = _SGR.split(line.rstrip())
    for number, part in enumerate(parts):
        if number % 2:
            style = _styled(style, part)
        elif part:
            bold, dim, colour = style
            looks = f' fill="{_COLOURS[colour]}"' if colour else ' fill="#98a2ae"' if dim else ""
            looks += ' font-weight="700"' if bold else ""
            size = f' x="{column * _WIDTH:.1f}" textLength="{len(part) * _WIDTH:.1f}"'
            found.append(f"<tspan{size}{looks}>{escape(part, quote=False)}</tspan>" if part.strip() else "")
            column += len(part)
    return "".join(found), style


def _styled(style: Style, codes: str) -> Style:
    bold, dim, colour = style
    for code in map(int, (codes or "0").split(";")):
        match code:
            case 0:
                bold, dim, colour = PLAIN
            case 1:
                bold = True
            case 2:
                dim = True
            case 22:
                bold = dim = False
            case 39:
                colour = 0
            case _ if 30 <= code <= 36 or 90 <= code <= 96:
                colour = code % 10 + 30
    return bold, dim, colour


def main() -> None:
    """Write the picture to the file that is named."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = make_scratch(Path(folder))
        scratch.agent("from spool.__main__ import main\nmain()\n", "spool")
        with terminal(scratch, width=COLUMNS, height=ROWS) as shown:
            Path(sys.argv[1]).write_text(drawn(record(shown)), "utf-8")


if __name__ == "__main__":
    main()
