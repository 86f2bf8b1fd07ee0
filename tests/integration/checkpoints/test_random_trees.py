"""Random trees, random agents: a revert brings every byte back, loses nothing, and can itself be undone."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from tests.integration.checkpoints.acts import REPOS, Act, act, cleaned, mutations, setups
from tests.integration.checkpoints.world import Entry, Picture, World, run

_QUIET = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
_SHARES = 4
_MEMORY = Path("/dev/shm")


@settings(max_examples=40, deadline=None, suppress_health_check=_QUIET)
@given(setup=setups, mutation=mutations)
def test_a_revert_is_exact_and_reversible(setup: list[Act], mutation: list[Act]) -> None:
    check(setup, mutation, None)


@pytest.mark.slow
@pytest.mark.parametrize("share", range(_SHARES))
def test_a_revert_is_exact_and_reversible_in_a_thousand_trees(share: int) -> None:
    @settings(max_examples=1000 // _SHARES, deadline=None, suppress_health_check=_QUIET, database=None)
    @given(setup=setups, mutation=mutations)
    def one(setup: list[Act], mutation: list[Act]) -> None:
        check(setup, mutation, folder)

    # Most of the time goes into syncing files; one share of four does it on a real disk.
    folder = _MEMORY if share and os.access(_MEMORY, os.W_OK) else None
    one()


def check(setup: list[Act], mutation: list[Act], folder: Path | None = None) -> None:
    """Save, let the agent work, revert, and revert the revert."""
    world = World(Path(tempfile.mkdtemp(prefix="checkpoint-tree-", dir=folder)))
    try:
        for what in setup:
            act(world, what)
        _play(world, mutation)
    finally:
        cleaned(world)


def _play(world: World, mutation: list[Act]) -> None:
    checkpoints = world.checkpoints()
    before = _Seen(world)
    saved = run(checkpoints.save("story 1"))
    _equal(_Seen(world), before, "a save changes nothing")
    for what in mutation:
        act(world, what)
    mutated = _Seen(world)
    discarded = run(checkpoints.revert(saved))
    reverted = _Seen(world)
    _check_revert(before, mutated, reverted)
    if discarded is None:
        return
    run(checkpoints.restore(discarded.name))
    restored = _Seen(world)
    _check_restored(before, mutated, restored)


class _Seen:
    """The world at one moment, its nested repositories too."""

    def __init__(self, world: World) -> None:
        self.picture = world.picture()
        self.ignored = world.ignored()
        self.tracked = {row.split("\t", 1)[1] for row in self.picture.index.split("\0") if row}
        self.nested = {name: world.picture(world.top / name) for name in REPOS if (world.top / name / ".git").exists()}

        self.clones = [name for name in REPOS if (world.top / name / ".git").is_dir()]

    def in_ignored_folder(self, name: str) -> bool:
        """Whether a path is an ignored folder or lies in one, and is not tracked in spite of that."""
        return name not in self.tracked and any(f"{name}/".startswith(i) for i in self.ignored if i.endswith("/"))

    def is_ignored(self, name: str) -> bool:
        """Whether a path is ignored, or a folder with nothing but ignored things in it."""
        within = [other for other in self.picture.entries if other == name or other.startswith(name + "/")]
        alone = [other for other in within if self.picture.entries[other][0] != "folder"]
        return bool(self._rule(name)) or (bool(alone) and all(self._rule(other) for other in alone))

    def _rule(self, name: str) -> bool:
        return any(name == i.rstrip("/") or (i.endswith("/") and name.startswith(i)) for i in self.ignored)


def _check_revert(before: _Seen, mutated: _Seen, after: _Seen) -> None:
    old, new = before.picture, after.picture
    for name, entry in old.entries.items():
        if entry[0] == "other" and mutated.picture.entries.get(name) != entry:
            continue  # a FIFO that the agent removed is not made anew
        if before.in_ignored_folder(name):
            assert new.entries.get(name) in (entry, mutated.picture.entries.get(name)), f"ignored {name!r} was touched"
        else:
            assert new.entries.get(name) == entry, f"{name!r} is not what it was"
    for name in new.entries.keys() - old.entries.keys():
        assert name in mutated.picture.entries, f"the revert made {name!r}"
        assert before.in_ignored_folder(name) or after.is_ignored(name) or _special(new, name), f"{name!r} was left"
    for name in mutated.picture.entries.keys() - new.entries.keys():
        assert not before.in_ignored_folder(name), f"the revert took {name!r} out of an ignored folder"
    _same_git(old, new, "the revert", status=not _lost(before, mutated))
    for name, picture in before.nested.items():
        if name in after.nested and name in mutated.nested and not before.in_ignored_folder(name + "/"):
            _same_git(picture, after.nested[name], f"the revert of {name}")


def _check_restored(before: _Seen, mutated: _Seen, restored: _Seen) -> None:
    old, new = mutated.picture, restored.picture
    for name, entry in old.entries.items():
        if not mutated.in_ignored_folder(name) and not before.in_ignored_folder(name):
            assert new.entries.get(name) == entry, f"{name!r} of the attempt did not come back"
    for name in new.entries.keys() - old.entries.keys():
        assert before.is_ignored(name) or restored.is_ignored(name) or _special(new, name), f"{name!r} stayed"
    # An ignored file that the agent had deleted is back since the revert, and is not deleted again.
    more = new.entries.keys() != old.entries.keys()
    _same_git(old, new, "the restored attempt", status=not more and not _lost(before, mutated))


def _lost(before: _Seen, mutated: _Seen) -> bool:
    """Whether the agent removed what is not saved and what git's status tells of: a clone's `.git`, or a FIFO."""
    entries = mutated.picture.entries
    fifos = [
        name for name, entry in before.picture.entries.items() if entry[0] == "other" and entries.get(name) != entry
    ]
    return bool(fifos) or any(name not in mutated.nested for name in before.clones)


def _special(picture: Picture, name: str) -> bool:
    """Whether a path is a FIFO, or a folder around one: git cannot see those, and they are left alone."""
    kinds = [entry[0] for other, entry in picture.entries.items() if other == name or other.startswith(name + "/")]
    return "other" in kinds


def _same_git(old: Picture, new: Picture, what: str, *, status: bool = True) -> None:
    assert new.head == old.head, f"{what}: HEAD"
    assert new.refs == old.refs, f"{what}: refs"
    assert new.index == old.index, f"{what}: index"
    assert new.state == old.state, f"{what}: state"
    assert not status or new.status == old.status, f"{what}: status"


def _equal(new: _Seen, old: _Seen, what: str) -> None:
    entries: dict[str, Entry] = new.picture.entries
    assert entries == old.picture.entries, what
    _same_git(old.picture, new.picture, what)
