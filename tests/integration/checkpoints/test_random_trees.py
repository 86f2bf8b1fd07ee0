"""Random trees, random agents: a revert brings every byte back, loses nothing, and can itself be undone."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, assume, example, given, seed, settings

from spool.errors import CheckpointError
from tests.integration.checkpoints.acts import (
    FIFOS,
    REFUSED,
    REPOS,
    Act,
    act,
    beside,
    cleaned,
    leaving,
    mounting,
    mutations,
    replacing,
    setups,
)
from tests.integration.checkpoints.portrait import differences, portrait
from tests.integration.checkpoints.world import Entry, Picture, World, as_root, entries, run
from tests.support.scale import SEED, trials

_QUIET = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
_HIDDEN: list[Act] = [("folder", "d/empty"), ("write", "d/.gitignore", b"*\n!d/\n")]
"""An empty folder that rules of the agent's own hide, in a folder that they do not."""
_ANOTHER: list[Act] = [("remove_modules",), ("nested", "sub")]
"""A submodule that is removed with its git directory, and a repository in its place."""
_LEFT_ALONE = {"stashes", "ref refs/stash", "status", "config config"}
"""Facts of a repository that a revert does not undo: stashes and settings. The status follows from the settings."""
_SHARES = 8
_MEMORY = Path("/dev/shm")


@example(setup=[], mutation=_HIDDEN)
@example(setup=[("excludes_file", b"*.log\n")], mutation=[("write", "d/e/w.log", b"one\n"), ("excludes_file", b"")])
@example(setup=[("submodule", "sub")], mutation=_ANOTHER)
@example(setup=[("submodule", "sub")], mutation=[*_ANOTHER, ("write", "sub/in", b"one\n"), ("nested_commit", "sub")])
@example(setup=[("submodule", "sub")], mutation=[*_ANOTHER, ("write", "sub/new/x", b"one\n")])
@example(setup=[("submodule", "sub")], mutation=[("replace_module",), ("write", "sub/in", b"one\n")])
@example(setup=[("submodule", "sub")], mutation=[("replace_module",), ("nested_commit", "sub"), ("gc",)])
@example(setup=[("nested", "sub"), ("write", "sub/in", b"one\n")], mutation=[("remove", "sub"), ("submodule", "sub")])
@given(setup=setups, mutation=mutations)
@settings(max_examples=1, phases=[Phase.explicit], deadline=None)
def test_a_revert_of_a_known_tree_is_exact_and_reversible(setup: list[Act], mutation: list[Act]) -> None:
    check(setup, mutation)


@pytest.mark.parametrize("share", range(_SHARES))
def test_a_revert_is_exact_and_reversible(share: int) -> None:
    @seed(SEED + share)
    @settings(max_examples=trials(2_000 // _SHARES), deadline=None, suppress_health_check=_QUIET, database=None)
    @given(setup=setups, mutation=mutations)
    def one(setup: list[Act], mutation: list[Act]) -> None:
        check(setup, mutation, folder)

    # Most of the time goes into syncing files; one share of four does it on a real disk.
    folder = _fast() if share else None
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


@seed(SEED)
@settings(max_examples=trials(400), deadline=None, suppress_health_check=_QUIET)
@given(setup=setups, mutation=mutations, meanwhile=beside)
@example(setup=[], mutation=_HIDDEN, meanwhile=[])
def test_a_revert_beside_a_second_working_tree_is_exact(
    setup: list[Act], mutation: list[Act], meanwhile: list[Act]
) -> None:
    """Deleted refs come back; a ref that was made or moved may be the other's, and then the warnings name it."""
    world = World(Path(tempfile.mkdtemp(prefix="checkpoint-tree-", dir=_fast())))
    try:
        for what in setup:
            act(world, what)
        world.git("commit", "-q", "--allow-empty", "-m", "for a branch", check=False)
        world.git("worktree", "add", "-q", str(world.base / "second"), "-b", "second", check=False)
        checkpoints, before = world.checkpoints(), _Seen(world)
        saved = run(checkpoints.save("story 1"))
        for what in [*meanwhile, *mutation]:
            act(world, what)
        mutated, second = _Seen(world), _tree_alone(world, "second")
        discarded = run(checkpoints.revert(saved))
        after = _Seen(world)
        assert _tree_alone(world, "second") == second
        _check_files(before, mutated, after)
        now, warned = after.picture.refs.splitlines(), " ".join(discarded.warnings if discarded else ())
        assert all(row in now or row.partition("\t")[2] in warned for row in before.picture.refs.splitlines())
        assert after.picture.head == before.picture.head
        assert after.picture.index == before.picture.index
    finally:
        cleaned(world)


@as_root
@seed(SEED)
@settings(max_examples=trials(400), deadline=None, suppress_health_check=_QUIET)
@given(setup=setups, mutation=mounting)
def test_nothing_behind_a_mount_is_ever_touched(setup: list[Act], mutation: list[Act]) -> None:
    world = World(Path(tempfile.mkdtemp(prefix="checkpoint-tree-", dir=_fast())))
    try:
        for what in setup:
            act(world, what)
        checkpoints = world.checkpoints()
        saved = run(checkpoints.save("story 1"))
        act(world, ("mount", "mnt"))
        if not world.mounted:
            pytest.skip("mounting is not allowed here")
        for what in mutation:
            act(world, what)
        behind = entries(world.base / "precious")
        discarded = run(checkpoints.revert(saved))
        assert entries(world.base / "precious") == behind
        if discarded is not None:
            run(checkpoints.restore(discarded.name))
        run(checkpoints.cleanup())
        assert entries(world.base / "precious") == behind
    finally:
        cleaned(world)


@seed(SEED)
@settings(max_examples=trials(250), deadline=None, suppress_health_check=_QUIET)
@given(setup=setups, mutation=mutations, how=replacing)
def test_another_git_directory_is_refused_and_nothing_changes(setup: list[Act], mutation: list[Act], how: str) -> None:
    world = World(Path(tempfile.mkdtemp(prefix="checkpoint-tree-", dir=_fast())))
    try:
        for what in setup:
            act(world, what)
        checkpoints = world.checkpoints()
        saved = run(checkpoints.save("story 1"))
        for what in mutation:
            act(world, what)
        act(world, (how,))
        left, refs = entries(world.top), world.refs() if how == "replace_git" else ""
        with pytest.raises(CheckpointError):
            run(checkpoints.revert(saved))
        assert entries(world.top) == left
        assert (world.top / ".git").exists() is (how == "replace_git")
        assert not refs or world.refs() == refs
    finally:
        cleaned(world)


@seed(SEED)
@settings(max_examples=trials(250), deadline=None, suppress_health_check=_QUIET)
@given(setup=setups, mutation=mutations, how=leaving)
def test_a_linked_tree_that_lost_its_repository_is_refused_and_nothing_changes(
    setup: list[Act], mutation: list[Act], how: str
) -> None:
    """The main working tree, whose repository it was, is not touched either."""
    world = World(Path(tempfile.mkdtemp(prefix="checkpoint-tree-", dir=_fast())))
    try:
        for what in setup:
            act(world, what)
        world.git("commit", "-q", "--allow-empty", "-m", "for a branch", check=False)
        world.git("worktree", "add", "-q", "-f", str(world.base / "linked"), "-b", "linked", check=False)
        assume((world.base / "linked").exists())
        main, world.top = world.top, world.base / "linked"
        checkpoints = world.checkpoints()
        saved = run(checkpoints.save("story 1"))
        for what in mutation:
            act(world, what)
        act(world, (how,))
        left = entries(world.top) if world.top.exists() else None
        before = portrait(main, ours="refs/spool/", env=world.env)
        with pytest.raises(CheckpointError):
            run(checkpoints.revert(saved))
        assert (entries(world.top) if world.top.exists() else None) == left
        assert not differences(before, portrait(main, ours="refs/spool/", env=world.env))
    finally:
        cleaned(world)


def _tree_alone(world: World, name: str) -> dict[str, str]:
    """Return the portrait of a working tree without what it shares with the others."""
    top = world.base / name
    shared = (".: ref", ".: symbolic ref", ".: history", ".: stashes", ".: config", ".: exclude", ".: worktrees")
    facts = portrait(top, ours="refs/spool/", env=world.env) if top.exists() else {}
    return {fact: value for fact, value in facts.items() if not fact.startswith((*shared, ".: status"))}


def _fast() -> Path | None:
    return _MEMORY if os.access(_MEMORY, os.W_OK) else None


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
        self._world = world
        self.picture = world.picture()
        self.ignored = world.ignored()
        # Git lists no FIFO, ignored or not.
        fifos = {part for one in FIFOS for part in (one, *map(str, Path(one).parents))} - {"."}
        told = world.git("check-ignore", "--no-index", *sorted(fifos), check=False)
        self.fifo_rules = set(told.splitlines())
        self.tracked = {row.split("\t", 1)[1] for row in self.picture.index.split("\0") if row}
        self.nested = {name: world.picture(world.top / name) for name in REPOS if (world.top / name / ".git").exists()}

        self.excludes_file = world.git("config", "core.excludesFile", check=False)
        self.portrait = portrait(world.top, ours="refs/spool/", env=world.env)

    def is_refused(self, name: str) -> bool:
        """Whether git takes such a thing into no index."""
        return name in REFUSED and (name != ".gitmodules" or self.picture.entries.get(name, ("",))[0] == "link")

    def hides(self, name: str, other: "_Seen") -> bool:
        """Whether the rules of this moment, or of another with the same, ignore what is there then."""
        if other.is_ignored(name) or name in self.fifo_rules or name in other.fifo_rules:
            return True
        # The agent may have set another file of rules, which a revert does not undo.
        within = other.alone_in(name)
        return self._hid(name) or (bool(within) and all(self._hid(one) for one in within))

    def _hid(self, name: str) -> bool:
        rules = f"core.excludesFile={self.excludes_file.strip()}"
        return bool(self._world.git("-c", rules, "check-ignore", "--no-index", name, check=False))

    def in_ignored_folder(self, name: str) -> bool:
        """Whether a path is an ignored folder or lies in one, and is not tracked in spite of that."""
        return name not in self.tracked and any(f"{name}/".startswith(i) for i in self.ignored if i.endswith("/"))

    def is_ignored(self, name: str) -> bool:
        """Whether a path is ignored, or a folder with nothing but ignored things in it."""
        alone = self.alone_in(name)
        return bool(self._rule(name)) or (bool(alone) and all(self._rule(other) for other in alone))

    def alone_in(self, name: str) -> list[str]:
        """Return what is at a path or below it, folders aside."""
        within = [other for other in self.picture.entries if other == name or other.startswith(name + "/")]
        return [other for other in within if self.picture.entries[other][0] != "folder"]

    def _rule(self, name: str) -> bool:
        return any(name == i.rstrip("/") or (i.endswith("/") and name.startswith(i)) for i in self.ignored)


def _check_revert(before: _Seen, mutated: _Seen, after: _Seen) -> None:
    _check_files(before, mutated, after)
    _check_portraits(before, after)
    _same_git(before.picture, after.picture, "the revert", status=_same_rules(before, after, mutated))
    for name, picture in before.nested.items():
        if not before.in_ignored_folder(name + "/"):
            assert name in after.nested, f"the repository {name} did not come back"
            _same_git(picture, after.nested[name], f"the revert of {name}")


def _check_portraits(before: _Seen, after: _Seen) -> None:
    """Hold the second description of the tree against the first; only what docs/evidence.md lists may differ."""
    found = differences(before.portrait, after.portrait)
    assert not [fact for fact in found if not _excused(fact, before, after)]


def _excused(fact: str, before: _Seen, after: _Seen) -> bool:
    """Whether a revert leaves this alone: ignored things, names that git refuses, settings, stashes, status."""
    if fact.startswith("entry "):
        name = fact.removeprefix("entry ").rstrip("/")
        ignored = before.in_ignored_folder(name) or (name not in before.picture.entries and before.hides(name, after))
        return ignored or before.is_refused(name) or Path(name).name == ".git"
    place, _, what = fact.partition(": ")
    if before.in_ignored_folder(place + "/") or (place not in (".", *before.nested) and before.hides(place, after)):
        return True
    return what in _LEFT_ALONE


def _check_files(before: _Seen, mutated: _Seen, after: _Seen) -> None:
    old, new, between = before.picture.entries, after.picture.entries, mutated.picture.entries
    for name, entry in old.items():
        if before.in_ignored_folder(name) or before.is_refused(name):
            assert new.get(name) in (entry, between.get(name)), f"{name!r} was touched"
        else:
            assert new.get(name) == entry, f"{name!r} is not what it was"
    for name in new.keys() - old.keys():
        assert name in between, f"the revert made {name!r}"
        assert before.in_ignored_folder(name) or before.hides(name, after), f"{name!r} was left"
    for name in between.keys() - new.keys():
        assert not before.in_ignored_folder(name), f"the revert took {name!r} out of an ignored folder"


def _check_restored(before: _Seen, mutated: _Seen, restored: _Seen) -> None:
    old, new = mutated.picture, restored.picture
    for name, entry in old.entries.items():
        if not mutated.in_ignored_folder(name) and not before.in_ignored_folder(name):
            assert new.entries.get(name) == entry, f"{name!r} of the attempt did not come back"
    for name in new.entries.keys() - old.entries.keys():
        assert before.is_ignored(name) or restored.is_ignored(name) or before.is_refused(name), f"{name!r} stayed"
    # An ignored file that the agent had deleted is back since the revert, and is not deleted again.
    more = new.entries.keys() != old.entries.keys()
    _same_git(old, new, "the restored attempt", status=not more and _same_rules(mutated, restored, mutated))


def _same_rules(one: _Seen, other: _Seen, between: _Seen) -> bool:
    """Whether git's status can be compared: a setting about ignore rules is not undone, nor a name that git refuses."""
    refused = [name for name in REFUSED if one.picture.entries.get(name) != between.picture.entries.get(name)]
    return one.excludes_file == other.excludes_file and not refused


def _same_git(old: Picture, new: Picture, what: str, *, status: bool = True) -> None:
    assert new.head == old.head, f"{what}: HEAD"
    assert new.refs == old.refs, f"{what}: refs"
    assert new.index == old.index, f"{what}: index"
    assert new.state == old.state, f"{what}: state"
    assert not status or new.status == old.status, f"{what}: status"


def _equal(new: _Seen, old: _Seen, what: str) -> None:
    assert not differences(old.portrait, new.portrait), what
    found: dict[str, Entry] = new.picture.entries
    assert found == old.picture.entries, what
    _same_git(old.picture, new.picture, what)
