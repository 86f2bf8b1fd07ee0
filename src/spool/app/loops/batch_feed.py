"""Feeds the events of several loops to one view, from their journals and in a thread of its own."""

import os
import threading
from collections import deque
from pathlib import Path
from typing import Protocol, Self

from spool.app.loops.following import FollowedRun
from spool.app.observing.observers import report_broken
from spool.domain.loop.events import Event

_TICK_S = 0.2
_INTERRUPTED = 130


class BatchView(Protocol):
    """Shows several loops at once."""

    def see(self, change: str, event: Event) -> None:
        """Show an event of a loop."""

    def say(self, change: str, text: str) -> None:
        """Show what happened to a change outside its loop."""

    def tick(self) -> None:
        """Handle time passing."""

    def close(self) -> None:
        """Handle the end of the events."""


class BatchFeed:
    """Follows the journals of a batch while its context lasts."""

    def __init__(self, view: BatchView) -> None:
        self._view = view
        self._followed: list[tuple[str, FollowedRun]] = []
        self._notices: deque[tuple[str, Event | str]] = deque()
        self._over = False
        self._thread = threading.Thread(target=self._run, name="batch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        try:
            self._thread.join()
        except KeyboardInterrupt:  # it is blocked on a write, and Python's own exit would wait for it
            os._exit(_INTERRUPTED)

    def follow(self, change: str, run_id: str, folder: Path) -> None:
        """Show a run from its start."""
        self._followed.append((change, FollowedRun(folder, run_id)))

    def say(self, change: str, text: str) -> None:
        """Show what happened to a change outside its loop."""
        self._notices.append((change, text))

    def see(self, change: str, event: Event) -> None:
        """Show an event that is in no journal."""
        self._notices.append((change, event))

    def _run(self) -> None:
        wait = threading.Event()
        try:
            try:
                while True:
                    over = self._over
                    self._show()
                    if over:
                        return
                    self._view.tick()
                    wait.wait(_TICK_S)
            finally:
                self._view.close()
        except Exception as error:  # noqa: BLE001 - a view that fails must not end the loops
            report_broken(error, prints=True)

    def _show(self) -> None:
        for change, run in list(self._followed):
            for event in run.read():
                self._view.see(change, event)
            if run.over:
                run.close()
        while self._notices:
            change, notice = self._notices.popleft()
            self._view.say(change, notice) if isinstance(notice, str) else self._view.see(change, notice)
