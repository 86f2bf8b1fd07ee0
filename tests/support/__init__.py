"""What the tests share, whatever their room: a scratch project, the real command line, agents that stand in."""

from tests.support import warm as warm
from tests.support.scratch import (
    CHANGE,
    PATIENCE_S,
    PROPOSAL,
    PYTHON,
    TASKS,
    Scratch,
    Steps,
    make_scratch,
    midday,
    python_program,
    source_of,
    wait_for,
)

__all__ = [
    "CHANGE",
    "PATIENCE_S",
    "PROPOSAL",
    "PYTHON",
    "TASKS",
    "Scratch",
    "Steps",
    "make_scratch",
    "midday",
    "python_program",
    "source_of",
    "wait_for",
    "warm",
]
