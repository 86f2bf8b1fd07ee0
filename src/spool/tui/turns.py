"""A decorator for work that must not overlap."""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

_Self = TypeVar("_Self")
_Given = ParamSpec("_Given")


def one_at_a_time(
    work: Callable[Concatenate[_Self, _Given], Coroutine[Any, Any, None]],
) -> Callable[Concatenate[_Self, _Given], Coroutine[Any, Any, None]]:
    """Ignore a call while an earlier one is running: if each call cancelled the last, none might ever finish."""
    busy: set[int] = set()

    @wraps(work)
    async def only(self: _Self, /, *given: _Given.args, **more: _Given.kwargs) -> None:
        if id(self) in busy:
            return
        busy.add(id(self))
        try:
            await work(self, *given, **more)
        finally:
            busy.discard(id(self))

    return only
