"""How much the randomised tests try, and from which seed.

`SPOOL_FAULTS_SCALE=1` is the long profile of `make faults`; the default is a twenty-fifth of it. `SPOOL_SEED` draws
other trials; the same seed draws the same ones, so that they judge the change and not chance.
"""

import os

SCALE = float(os.environ.get("SPOOL_FAULTS_SCALE", "0.04"))
SEED = int(os.environ.get("SPOOL_SEED", "20261116"))


def trials(full: int, *, least: int = 1) -> int:
    """Return how many trials to run where the long profile runs `full`."""
    return max(least, round(full * SCALE))
