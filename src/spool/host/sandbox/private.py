"""Lists a person's folders, which a sandbox hides, and variables that it passes."""

import os
import pwd
from collections.abc import Iterable
from pathlib import Path

from spool.host.state.places import user_cache, user_config, user_data, user_state

PASSED = (
    "PATH", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "COLORTERM", "NO_COLOR", "CI",
    "VIRTUAL_ENV", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
    "http_proxy", "https_proxy", "no_proxy",
)  # fmt: skip
"""Variables that are nobody's secret."""
_FOLDERS = ("/home", "/root", "/tmp", "/var/tmp", "/run", "/var/run", "/mnt", "/media")  # noqa: S108 - hidden, not used


def home_folder() -> Path:
    """Return the person's home directory."""
    return Path(os.environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir)


def private_folders(*more: Path) -> tuple[Path, ...]:
    """Return the folders that a sandbox hides, outer ones first."""
    own = (home_folder(), user_data(), user_state(), user_cache(), user_config())
    # os.path: one that may not even be looked at is in nobody's way.
    existing = {path.resolve() for path in (*own, *map(Path, _FOLDERS), *more) if os.path.isdir(path)}  # noqa: PTH112
    return tuple(sorted(existing, key=lambda path: len(path.parts)))


def outermost(folders: Iterable[Path]) -> tuple[Path, ...]:
    """Return folders without those that lie in another one."""
    found: list[Path] = []
    for path in folders:
        if not any(path.is_relative_to(other) for other in found):
            found.append(path)
    return tuple(found)
