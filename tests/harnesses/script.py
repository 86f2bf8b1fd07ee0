"""What the model is to do: turns, grouped in runs, one run for each iteration of the loop under test."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

COMPLETE = "All of it is done and checked.\n\n<promise>COMPLETE</promise>"


@dataclass(frozen=True)
class Say:
    """Answer with text; `filler` is the number of bytes of it in front."""

    text: str
    filler: int = 0

    def whole(self) -> str:
        return "".join(_filler(self.filler)) + self.text


@dataclass(frozen=True)
class Shell:
    """Call the agent's shell tool."""

    command: str
    say: str = ""


@dataclass(frozen=True)
class Write:
    """Call the agent's tool for new files, or its shell where it has none."""

    path: str
    content: str


Turn = Say | Shell | Write


@dataclass(frozen=True)
class Fault:
    """Answer so often with an HTTP error, cut the stream, or never answer; None means for ever."""

    status: int = 500
    times: int | None = None
    at: int = 0
    retry_after: int | None = None
    message: str = ""
    cut: bool = False
    hang: bool = False


@dataclass(frozen=True)
class Run:
    """What happens in one iteration."""

    turns: tuple[Turn, ...]
    fault: Fault | None = None


def work(*, name: str = "made.txt", end: str = COMPLETE, filler: int = 0, fault: Fault | None = None) -> Run:
    """A run that writes one file and then says something."""
    return Run((Write(name, "made by the model\n"), Say(end, filler)), fault)


def _filler(size: int) -> Iterator[str]:
    """Lines that do not repeat: some agents stop a model that says the same thing again and again."""
    made = number = 0
    while made < size:
        line = f"line {number} {hashlib.sha256(str(number).encode()).hexdigest()}\n"
        made += len(line)
        number += 1
        yield line
