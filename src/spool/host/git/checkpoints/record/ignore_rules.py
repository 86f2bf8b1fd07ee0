"""Ignore rules outside the working tree: `info/exclude`, `core.excludesFile`, and how names are compared.

A checkpoint keeps them: an agent that hides its new files by another rule hides them from no revert.
"""

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.host.git.repository import Repository, run_git
from spool.nofollow import read_linked

_SETTINGS = r"^core\.(excludesfile|ignorecase|precomposeunicode)$"


class IgnoreRules(msgspec.Struct, frozen=True, kw_only=True):
    """The user's ignore rules beside the `.gitignore` files."""

    exclude: bytes = b""
    more: bytes = b""
    """The content of `core.excludesFile`."""
    ignore_case: str = "false"
    precompose: str = "false"


class IgnoreRulesReader:
    """Reads the rules of one repository; its configuration is asked for once in each state."""

    def __init__(self, repository: Repository, *, timeout_s: float) -> None:
        self._repository = repository
        self._timeout_s = timeout_s
        self._seen: tuple[int, ...] | None = None
        self._settings: dict[str, str] = {}

    async def read(self) -> IgnoreRules:
        """Return the rules as they are now."""
        await self._ask()
        return IgnoreRules(
            exclude=_content(self._repository.common_dir / "info" / "exclude"),
            more=self._more(),
            ignore_case=self._settings.get("core.ignorecase", "false"),
            precompose=self._settings.get("core.precomposeunicode", "false"),
        )

    def _more(self) -> bytes:
        """Return the content of `core.excludesFile`; none in a sandbox, where the agent may have named any file."""
        if self._repository.sandbox is not None:
            return b""
        return _content(self._repository.top / self._settings.get("core.excludesfile", _default_file()))

    async def _ask(self) -> None:
        places = (self._repository.common_dir / "config", self._repository.git_dir / "config.worktree")
        seen = tuple(place.stat().st_mtime_ns for place in places if place.exists())
        if seen == self._seen or not self._repository.git_dir.is_dir():
            return
        words = ("--git-dir", self._repository.git_dir, "config", "-z", "--type=path", "--get-regexp", _SETTINGS)
        answer = await run_git(
            self._repository,
            *words,
            directory=self._repository.top if self._repository.top.is_dir() else self._repository.git_dir,
            timeout_s=self._timeout_s,
        )
        if answer.exit_code <= 1:  # more than that is a configuration that cannot be read
            rows = answer.output.decode("utf-8", "surrogateescape").split("\0")
            self._settings = {name: value for name, _, value in (row.partition("\n") for row in rows if row)}
            self._seen = seen


def _default_file() -> str:
    home = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return str(Path(home) / "git" / "ignore")


def _content(path: Path) -> bytes:
    with suppress(OSError):
        return read_linked(path) if path.is_file() else b""
    return b""
