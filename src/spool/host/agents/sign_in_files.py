"""Searches for signs of a sign-in: variables, and files of the person's own. It starts nothing."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from spool.domain.agent.sign_in import Kept, Sign, SignIn, UnreadableSign, Variable
from spool.nofollow import read_linked

_LARGEST = 4 << 20
_ASSIGNED = re.compile(r"^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*['\"]?[^\s'\"#]", re.MULTILINE)
_COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)


class Signs(msgspec.Struct, frozen=True):
    """The places to look for signs."""

    known_by: SignIn
    environ: Mapping[str, str]
    home: Path
    project: Path | None = None

    def find(self, sign: Sign) -> str:
        """Return where a sign is, as a person would write it, or an empty string; raise Unreadable."""
        return self._variable(sign.name) if isinstance(sign, Variable) else self._kept(sign)

    def _variable(self, name: str) -> str:
        if self.environ.get(name, "").strip():
            return name
        for path in self.known_by.env_files:
            if (file := self._place(path)) and name in _ASSIGNED.findall(_text(file, self._shown(file))):
                return f"{name} in {self._shown(file)}"
        return ""

    def _kept(self, kept: Kept) -> str:
        file = self._place(kept.path)
        if file is None or not _holds(file, kept.key, self._shown(file)):
            return ""
        return f"{kept.key} in {self._shown(file)}" if kept.key else self._shown(file)

    def _place(self, path: str) -> Path | None:
        """Return the path itself; None for a file of the project where there is none."""
        first, _, rest = path.partition("/")
        if first == ".":
            return self.project / rest if self.project else None
        if first.startswith("$"):
            name = first.removeprefix("$")
            moved = self.environ.get(name, "")
            folder = self.home / moved.removeprefix("~/") if moved else self.home / dict(self.known_by.folders)[name]
            return folder / rest
        return self.home / rest if first == "~" else Path(path)

    def _shown(self, file: Path) -> str:
        return f"~/{file.relative_to(self.home)}" if file.is_relative_to(self.home) else str(file)


def _holds(file: Path, key: str, shown: str) -> bool:
    """Whether a file or folder holds anything, or a value under a key."""
    try:
        if file.is_dir():
            return not key and any(file.iterdir())
    except OSError as error:
        raise UnreadableSign(f"{shown} cannot be read: {error.strerror}") from None
    text = _text(file, shown)
    if not text.strip():
        return False
    if file.suffix not in (".json", ".toml"):
        return True
    return any(_values(_decoded(text, file.suffix, shown), key))


def _text(file: Path, shown: str) -> str:
    """Return a file's text; empty if there is none. A pipe is never opened: it would hang."""
    try:
        return read_linked(file, most_bytes=_LARGEST).decode("utf-8") if file.is_file() else ""
    except OSError as error:
        raise UnreadableSign(f"{shown} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UnreadableSign(f"{shown} is not UTF-8") from None


def _decoded(text: str, suffix: str, shown: str) -> Any:
    try:
        return tomllib.loads(text) if suffix == ".toml" else json.loads(_COMMENT.sub("", text))
    except (ValueError, RecursionError):
        raise UnreadableSign(f"{shown} cannot be read as {suffix[1:].upper()}") from None


def _values(decoded: Any, key: str) -> Iterator[bool]:
    """Yield whether there is a value; `*` stands for each key of a table."""
    first, _, rest = key.partition(".")
    if not first:
        yield bool(decoded)
    elif isinstance(decoded, dict):
        for inner in decoded.values() if first == "*" else (decoded.get(first),):
            yield from _values(inner, rest)
