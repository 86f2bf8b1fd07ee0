"""Compares what two snapshots hold of one repository."""

from spool.host.git.checkpoints.paths import spared
from spool.host.git.checkpoints.snapshot import RepositoryPart


def is_same(parts: list[RepositoryPart], before: list[RepositoryPart]) -> bool:
    """Whether two records hold the same work in the same repositories."""
    known = {part.path: part for part in before}
    return {part.path for part in parts} == known.keys() and all(same_work(one, known[one.path]) for one in parts)


def same_work(one: RepositoryPart, other: RepositoryPart) -> bool:
    """Whether two parts hold the same, stat data of the index and new ignored files aside."""
    return (
        (one.tree, one.modes, one.refs, one.nested, one.unfinished.files, one.unfinished.staging)
        == (other.tree, other.modes, other.refs, other.nested, other.unfinished.files, other.unfinished.staging)
        and one.stranger == other.stranger
        and all(one.ignored_files.get(name) == kept for name, kept in other.ignored_files.items())
        and set(one.grown) <= set(other.grown)
        and _files(one.left) <= _files(other.left)
        and _rules(one.ignored) <= _rules(other.ignored)
    )  # fmt: skip


def loses_nothing(one: RepositoryPart, other: RepositoryPart) -> bool:
    """Whether going from one part to the other takes nothing away, new ignored files included."""
    known = spared(other.ignored)
    return same_work(one, other) and all(map(known.covers, one.ignored_files))


def holds_more(part: RepositoryPart, ends: list[RepositoryPart]) -> bool:
    """Whether a part has refs, staged files, half-done work or ignored files that neither end of its way has."""
    refs = {(name, oid) for end in ends for name, oid in end.refs.names.items()}
    return (
        part.unfinished.staging not in {end.unfinished.staging for end in ends}
        or not refs.issuperset(part.refs.names.items())
        or any(all(end.unfinished.files.get(n) != kept for end in ends) for n, kept in part.unfinished.files.items())
        or any(all(end.ignored_files.get(n) != kept for end in ends) for n, kept in part.ignored_files.items())
        or not {name for end in ends for name in end.nested}.issuperset(part.nested)
    )


def _files(names: list[bytes]) -> set[bytes]:
    return {name for name in names if not name.endswith(b"/")}


def _rules(names: list[bytes]) -> set[bytes]:
    """Return the files with ignore rules that are themselves ignored: a revert takes new ones away."""
    return {name for name in names if name.rpartition(b"/")[2] == b".gitignore"}
