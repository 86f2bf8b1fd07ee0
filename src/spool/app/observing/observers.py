"""Feeds a run's events to observers outside the loop: a slow, stopped or broken one never delays an agent.

Other packages add observers through the entry point group `spool.observers`: a callable that takes the LoopSpec of a
run and returns an `Observer`, or None to skip the run.
"""

import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, Self

import msgspec

from spool.domain.agent.stream import Message, ToolResult
from spool.domain.loop.events import Event, RunEnded, said_in
from spool.domain.loop.spec import LoopSpec
from spool.domain.text.plain_text import one_line
from spool.host.state.journal import JournalReader
from spool.nofollow import read_linked

GROUP = "spool.observers"
_OWN = [
    "spool.app.observing.notices:notices_of",
    "spool.app.observing.telemetry.activation:telemetry_of",
]
"""Spool's own observers: each takes the LoopSpec of a run and returns a list, which is empty if it is off."""
_TICK_S = 0.5
_PASSED_OVER = 32
"""Texts after which an observer that shows none is woken, to pass over them while the agent prints."""
_INTERRUPTED = 130


class Attention(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a run that an observer follows."""

    text: bool = True
    """Whether it gets the agent's messages and the results of tools."""
    ticks: bool = True
    """Whether it is called while nothing happens."""
    prints: bool = False
    """Whether it writes to standard output."""


class Watcher(Protocol):
    """Receives events."""

    def see(self, event: Event) -> None:
        """Handle one event."""

    def tick(self) -> None:
        """Handle time passing without an event."""

    def close(self) -> None:
        """Handle the end of the events."""


class Observer(Watcher, Protocol):
    """Receives a run's events outside the loop, as far as it asks for them."""

    attention: Attention


class _Undeclared:
    """An observer of another package that does not declare its attention."""

    def __init__(self, observer: Any) -> None:
        self.see, self.tick, self.close = observer.see, observer.tick, observer.close
        self.attention = Attention(text=getattr(observer, "reads_text", True), ticks=getattr(observer, "ticks", True))


def complain(what: str, error: Exception) -> None:
    """Print on standard error that an observer fails; the loop continues."""
    why = error.strerror if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
    print(f"spool: {what}: {one_line(str(why), 400)}", file=sys.stderr)


def observers_of(spec: LoopSpec) -> list[Observer]:
    """Return the observers of a run: Spool's own, and those of installed packages."""
    own = (target.partition(":") for target in _OWN)
    found = [getattr(import_module(module), name)(spec) for module, _, name in own]
    return [*chain.from_iterable(found), *_plugged_in(spec)]


def _plugged_in(spec: LoopSpec) -> list[Observer]:
    """Return the observers that installed packages offer for a run."""
    if not _any_offered():
        return []
    from importlib.metadata import entry_points

    offered: list[Observer] = []
    for point in entry_points(group=GROUP):
        try:
            observer = point.load()(spec)
        except Exception as error:  # noqa: BLE001 - anybody's code, which must not end the loop
            complain(f"the observer '{point.name}' failed", error)
            continue
        if observer is not None:
            offered.append(observer if hasattr(observer, "attention") else _Undeclared(observer))
    return offered


def _any_offered() -> bool:
    """Whether a package on the path names the group: `importlib.metadata` takes 20 ms and 3 MB to deny it."""
    named = f"[{GROUP}]".encode()
    folders = (Path(folder or ".") for folder in sys.path)
    files = (path for folder in folders if folder.is_dir() for path in folder.glob("*-info/entry_points.txt"))
    return any(named in read_linked(path) for path in files) or any(map(_is_archive, sys.path))


def _is_archive(place: str) -> bool:
    """Whether packages may be inside a file, which the search above does not open; the standard library has none."""
    return place.endswith((".egg", ".whl", ".pyz"))


class Observation:
    """A thread that follows the journal and feeds one observer."""

    def __init__(self, journal: Path, offset: int, observer: Observer) -> None:
        self._attention = observer.attention
        self._reader = JournalReader(journal, offset=offset, text=self._attention.text)
        self._passed_over = 0
        self._observer = observer
        self._grown = threading.Event()
        self._over = False
        self._thread = threading.Thread(target=self._follow, name=type(observer).__name__, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._grown.set()
        try:
            self._thread.join()
        except KeyboardInterrupt:
            # The thread is blocked on a write. All is saved, and Python's own exit would wait for the thread's lock
            # on standard output, and then abort.
            os._exit(_INTERRUPTED)

    def notice(self, event: Event) -> None:
        """Wake the thread: the journal has grown. One that shows no text is not woken for each piece of it."""
        self._passed_over += 1
        if self._attention.text or self._passed_over == _PASSED_OVER or not _is_text(event):
            self._passed_over = 0
            self._grown.set()

    def _follow(self) -> None:
        try:
            try:
                self._feed()
            finally:
                self._observer.close()
        except Exception as error:  # noqa: BLE001 - third-party code must not break the loop
            report_broken(error, prints=self._attention.prints)

    def _feed(self) -> None:
        while True:
            self._grown.wait(_TICK_S if self._attention.ticks else None)
            self._grown.clear()
            over = self._over
            for event in self._reader.read():
                self._observer.see(event)
                if isinstance(event, RunEnded):
                    return
            if over:
                return
            self._observer.tick()


def _is_text(event: Event) -> bool:
    return isinstance(said_in(event), Message | ToolResult)


@contextmanager
def observing(journal: Path, offset: int, observers: Sequence[Observer]) -> Iterator[list[Observation]]:
    """Feed each observer from a separate thread within the context, so that a stopped terminal does not stop a log."""
    with ExitStack() as stack:
        yield [stack.enter_context(Observation(journal, offset, observer)) for observer in observers]


def report_broken(error: Exception, *, prints: bool) -> None:
    """Report a failed observer. Redirect a broken standard output, or Python reports its buffer at exit."""
    if isinstance(error, OSError) and prints:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if not isinstance(error, BrokenPipeError):
        with suppress(OSError):  # the terminal may be closed
            complain("cannot write output" if prints else "an observer failed", error)
