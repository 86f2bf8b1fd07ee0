"""Opens an address in the person's browser without showing it to other users of the machine."""

import os
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path


@contextmanager
def opened_in_browser(url: str) -> Iterator[bool]:
    """Open an address, by a file that only this user can read: arguments of a process are open to all."""
    descriptor, name = tempfile.mkstemp(prefix="spool-", suffix=".html")
    path = Path(name)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(f'<!doctype html><meta http-equiv="refresh" content="0;url={escape(url)}">')
            file.write(f'<a href="{escape(url)}">Spool</a>')
        yield webbrowser.open(path.as_uri())
    finally:
        with suppress(OSError):
            path.unlink()
