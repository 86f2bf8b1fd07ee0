"""Decides what pressing q does while a loop runs. Pure, with a table test."""

from enum import Enum, auto

HINT_AFTER_S = 5.0
"""Seconds a stop may take before force-quit is suggested."""
_WINDOW_S = 3.0
_PRESSES = 3
_MORE_ONCE_PENDING = 2


class PressEffect(Enum):
    """The effect of a press."""

    STOP = auto()
    """Ask the runner to stop."""
    ONCE_MORE = auto()
    """A stop is pending; the next press forces it."""
    FORCE = auto()
    """Force-quit."""


class StopKey:
    """Counts presses of the stop key."""

    def __init__(self) -> None:
        self._presses: list[float] = []
        self._while_pending = 0

    @property
    def left(self) -> int:
        """The number of presses left to force a pending stop."""
        return max(1, _MORE_ONCE_PENDING - self._while_pending)

    def press(self, now: float, *, pending: bool) -> PressEffect:
        """Count a press and return its effect: three within 3 s force, as do two once a stop is pending."""
        self._presses = [at for at in self._presses if now - at <= _WINDOW_S] + [now]
        self._while_pending += pending
        if len(self._presses) >= _PRESSES or self._while_pending >= _MORE_ONCE_PENDING:
            return PressEffect.FORCE
        return PressEffect.ONCE_MORE if pending else PressEffect.STOP
