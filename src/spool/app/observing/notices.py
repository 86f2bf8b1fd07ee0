"""Sends notices about loops. Each is delivered by a separate process, so that none delays a loop or its end."""

import os
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime

import msgspec

from spool.app.observing.observers import Attention
from spool.domain.account.occasions import Notice, NoticeFinder, killed
from spool.domain.loop.events import Event
from spool.domain.loop.settings import Settings
from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.summary import LoopSummary
from spool.domain.text.redaction import secrets_in
from spool.errors import SpoolError, StateError
from spool.host.state.run_registry import this_machine
from spool.host.state.specs import kept_spec
from spool.host.state.spending_log import SpendingFile
from spool.nofollow import open_file

_TOLD = "killed"
"""The suffix of the file that says that a killed run was reported."""


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """A notice, and where it goes."""

    notice: Notice
    root: str
    command: str = ""
    webhook: str = ""
    desktop: bool = False


class Notices:
    """The observer that finds notices and hands them over."""

    attention = Attention(text=False)

    def __init__(self, spec: LoopSpec) -> None:
        self._spec = spec
        self._finder = finder_of(spec)
        self._spending = SpendingFile(project=spec.root, change=spec.change, now=lambda: datetime.now(UTC))
        self._sent: list[subprocess.Popen[bytes]] = []

    def see(self, event: Event) -> None:
        """Hand over the notices of an event."""
        self._send(self._finder.see(event))

    def tick(self) -> None:
        """Check the clock and the day's spending, and forget finished deliveries."""
        today = None
        if self._spec.limits.of_day:
            with suppress(StateError):  # the runner says so
                today = self._spending.today()
        self._send(self._finder.tick(datetime.now(UTC), today))
        self._sent = [process for process in self._sent if process.poll() is None]

    def close(self) -> None:
        """Do nothing: deliveries continue by themselves."""

    def _send(self, notices: Iterable[Notice]) -> None:
        for notice in notices:
            if (process := deliver(notice, self._spec.settings, self._spec.root)) is not None:
                self._sent.append(process)


def notices_of(spec: LoopSpec) -> list[Notices]:
    """Return the observer of a run's notices, if any outlet is configured."""
    return [Notices(spec)] if _wants(spec.settings) and spec.listed else []


def finder_of(spec: LoopSpec) -> NoticeFinder:
    """Return what finds the notices of a run."""
    project = spec.root.rstrip("/").rpartition("/")[2]
    secrets = secrets_in(os.environ)
    return NoticeFinder(spec.change, project, spec.run_id, wait_s=spec.settings.notice_wait, secrets=secrets)


def _wants(settings: Settings) -> bool:
    return bool(settings.on_event or settings.webhook or "desktop" in settings.notify)


def deliver(notice: Notice, settings: Settings, root: str) -> subprocess.Popen[bytes] | None:
    """Start the delivery of a notice and return at once; None if nobody wants it, or no process can be started."""
    if not _wants(settings):
        return None
    delivery = Delivery(
        notice=notice,
        root=root,
        command=settings.on_event,
        webhook=settings.webhook,
        desktop="desktop" in settings.notify,
    )
    try:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "spool.app.observing.delivery_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return None
    assert process.stdin is not None  # noqa: S101 - it is a pipe
    with suppress(BrokenPipeError), process.stdin:
        process.stdin.write(msgspec.json.encode(delivery))  # a few kilobytes, which a pipe takes at once
    return process


def report_killed(loops: Iterable[LoopSummary]) -> None:
    """Send one notice for each run whose runner was killed."""
    for loop in loops:
        with suppress(OSError, SpoolError):
            path = this_machine().beside(loop.run_id, _TOLD)
            os.close(open_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            if (spec := kept_spec(loop.folder)) is not None:
                deliver(killed(loop), spec.settings, spec.root)
