"""Splits growing files into pieces, so that a snapshot stores again only what is new.

A journal of 20 MB in one piece made the repository of snapshots grow by 8.5 MB with each of them.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.host.state.files import opened

PIECE_BYTES = 1 << 20


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a snapshot; one without data is known to be stored already."""

    name: str
    oid: str
    data: bytes | None = None


class GrowingFile:
    """A file that only grows, cut into pieces of 1 MiB; if it became shorter, it is read again."""

    def __init__(self, name: str, path: Path, *, algorithm: str) -> None:
        self._name = name
        self._path = path
        self._algorithm = algorithm
        self._known: list[str] = []

    def pieces(self) -> list[Piece]:
        """Return all pieces; the full ones that were stored before have no data."""
        found: list[Piece] = []
        with suppress(FileNotFoundError), opened(self._path, os.O_RDONLY) as descriptor:
            size = os.fstat(descriptor).st_size
            if size < len(self._known) * PIECE_BYTES:
                self._known = []
            found = [Piece(name=self._numbered(at), oid=oid) for at, oid in enumerate(self._known)]
            found += self._read(descriptor, size)
        return found

    def stored(self, pieces: list[Piece]) -> None:
        """Note that these pieces are stored; the last one may still grow."""
        self._known = [piece.oid for piece in pieces[:-1]]

    def _read(self, descriptor: int, size: int) -> Iterator[Piece]:
        for at in range(len(self._known), -(-size // PIECE_BYTES)):
            data = os.pread(descriptor, min(PIECE_BYTES, size - at * PIECE_BYTES), at * PIECE_BYTES)
            yield piece_of(self._numbered(at), data, algorithm=self._algorithm)

    def _numbered(self, at: int) -> str:
        return f"{self._name}/{at:06d}"


def piece_of(name: str, data: bytes, *, algorithm: str) -> Piece:
    """Return a file of a snapshot, with the name that git gives to its content."""
    digest = hashlib.new(algorithm, b"blob %d\0" % len(data), usedforsecurity=False)
    digest.update(data)
    return Piece(name=name, oid=digest.hexdigest(), data=data)


def joined(files: Mapping[str, bytes], name: str) -> bytes:
    """Return the content of a growing file from its pieces."""
    return b"".join(data for piece, data in sorted(files.items()) if piece.startswith(f"{name}/"))
