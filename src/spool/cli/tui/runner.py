"""Starts the runner of a loop in a session of its own: what happens to the screen does not happen to it."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryFile

import click

from spool.cli.run import run
from spool.domain.settings import NAMES, Settings
from spool.domain.text import clean

_SAID = 4_096
_OPTIONS = [one for one in run.params if isinstance(one, click.Option) and one.name in NAMES]


class StartedRunner:
    """`spool run`, as a person would have started it."""

    def __init__(self, root: Path, change: str, settings: Settings, *, fresh: bool) -> None:
        words = [word for option in _OPTIONS for word in _words(option, getattr(settings, option.name or ""))]
        words += ["--fresh"] * fresh
        # A file and no pipe: a runner outlives its screen, and a pipe without a reader would break it.
        self._said = TemporaryFile()  # noqa: SIM115 - read when the runner is gone
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "spool", "run", change, "--no-interactive", "--no-stream", *words],
            cwd=root,
            env={**os.environ, **_switched_off(settings)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._said,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def collect(self) -> None:
        """Take note if it has ended, or it stays a zombie."""
        self._process.poll()

    def complaint(self) -> str:
        """Return what a runner that failed said."""
        if not self._process.returncode:
            return ""
        self._said.seek(0)
        return clean(self._said.read(_SAID).decode("utf-8", "replace")).strip()


def _words(option: click.Option, value: object) -> list[str]:
    """Return what says a setting on a command line; an empty value says that there is none, whatever a file sets."""
    if option.is_flag:
        return [option.opts[0]] if value else []
    return [option.opts[0], "" if value is None else f"{value:.12g}" if isinstance(value, float) else str(value)]


def _switched_off(settings: Settings) -> dict[str, str]:
    """Return what only a variable can say: flags can switch on, but not off what a file switches on."""
    flags = [option.name for option in _OPTIONS if option.is_flag and option.name]
    return {f"SPOOL_{name.upper()}": "false" for name in flags if not getattr(settings, name)}
