"""Growing files in snapshots: only what is new is stored again."""

import subprocess
from pathlib import Path

from spool.fleet.snapshots.pieces import PIECE_BYTES, GrowingFile, joined, piece_of


def test_a_piece_has_the_name_that_git_gives_to_its_content() -> None:
    given = subprocess.run(["git", "hash-object", "--stdin"], input=b"hello\n", capture_output=True, check=True)
    assert piece_of("x", b"hello\n", algorithm="sha1").oid == given.stdout.decode().strip()


def test_full_pieces_are_read_once(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"a" * (2 * PIECE_BYTES + 10))
    growing = GrowingFile("journal.jsonl", path, algorithm="sha1")
    first = growing.pieces()
    assert [piece.name for piece in first] == [f"journal.jsonl/{n:06d}" for n in range(3)]
    growing.stored(first)
    with path.open("ab") as file:
        file.write(b"b" * PIECE_BYTES)
    second = growing.pieces()
    assert [piece.data is None for piece in second] == [True, True, False, False]
    assert [piece.oid for piece in second[:2]] == [piece.oid for piece in first[:2]]
    known = {piece.name: piece.data or b"a" * PIECE_BYTES for piece in second}
    assert joined(known, "journal.jsonl") == path.read_bytes()


def test_a_file_that_shrank_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"a" * (2 * PIECE_BYTES + 10))
    growing = GrowingFile("journal.jsonl", path, algorithm="sha1")
    growing.stored(growing.pieces())
    path.write_bytes(b"new\n")
    (piece,) = growing.pieces()
    assert piece.data == b"new\n"


def test_a_missing_file_has_no_pieces(tmp_path: Path) -> None:
    assert GrowingFile("x", tmp_path / "x", algorithm="sha1").pieces() == []
