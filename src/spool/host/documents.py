"""Creates files for people in the working tree, which they edit and commit."""

import os
from pathlib import Path

from spool.errors import UsageError
from spool.host.state.files import write_all
from spool.nofollow import open_file

_FILE_MODE = 0o666
"""As an editor creates files: the user's umask decides."""


def write_document(path: Path, text: str) -> None:
    """Create a file with its folders; never replace one, and follow no link."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = open_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE)
    except FileExistsError:
        raise UsageError(f"{path} already exists") from None
    try:
        write_all(descriptor, text.encode())
    finally:
        os.close(descriptor)
