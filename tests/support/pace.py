"""What a test costs, measured so that other work on the machine does not count."""

from __future__ import annotations

import os
import re
import resource
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_LONGEST_S = 5.0
"""What a test without the mark `long` may cost on a machine with nothing else to do."""
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Pace(NamedTuple):
    """The clocks at one moment."""

    wall_s: float
    processor_s: float
    """The processor time of this process, and of those that it has waited for."""
    idle_s: tuple[float, ...]
    """How long each processor has had nothing to do; empty where the kernel does not say (macOS)."""

    @classmethod
    def now(cls) -> Pace:
        """Read the clocks."""
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return cls(time.monotonic(), sum(one.ru_utime + one.ru_stime for one in used), _idle_s())

    def cost_s(self) -> float:
        """Return the seconds since: of work, or in which all processors waited for the test, whichever is more.

        Wall time says nothing on a loaded machine, nor on a virtual one that shares its processors. That all of them
        were idle is certain for as long as their idle times together exceed those of all but one.
        """
        now = Pace.now()
        wall_s, idle_s = now.wall_s - self.wall_s, sum(now.idle_s) - sum(self.idle_s)
        all_idle_s = idle_s - (len(now.idle_s) - 1) * wall_s if now.idle_s else 0.0
        return max(all_idle_s, now.processor_s - self.processor_s)


def longest_s() -> float:
    """Return what a test may cost now.

    Processors that other work shares do less in a second: by the load, and by how long a fixed piece of work takes now
    compared with its best time so far. 13.7 s were measured of a test that costs 4 s on a quiet machine.
    """
    slowness = _work_s() / _BEST_WORK_S
    return _LONGEST_S * max(1.0, slowness, os.getloadavg()[0] / (os.cpu_count() or 1))


def _work_s() -> float:
    """Return the processor time that a fixed piece of work takes."""
    began = time.process_time()
    for _ in range(40):
        compile(_WORK, "work", "exec")
    return time.process_time() - began


_WORK = "\n".join(f"a{number} = [b for b in range({number}) if b % 2]" for number in range(50))
_BEST_WORK_S = min(_work_s() for _ in range(5))
"""Its best time in this process, which measures it as it starts."""


def _idle_s() -> tuple[float, ...]:
    with suppress(OSError):
        found = re.findall(r"^cpu\d+ \d+ \d+ \d+ (\d+)", Path("/proc/stat").read_text(), re.MULTILINE)
        return tuple(int(ticks) / _TICKS_PER_S for ticks in found)
    return ()
