"""What a revert discards is kept for 14 days, and can be listed, shown, compared and restored."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spool.errors import CheckpointError
from spool.host.git.checkpoints.record.shadow import MOST_PACKS
from tests.integration.checkpoints.world import World, remove, run

_NOON = datetime(2031, 5, 4, 12, 0, 0, tzinfo=UTC)


def test_an_attempt_can_be_listed_shown_and_compared(world: World) -> None:
    checkpoints = world.checkpoints(now=lambda: _NOON)
    saved = run(checkpoints.save("story 1"))
    world.write("committed", "agent\n")
    world.write("new.py", "print('new')\n")
    discarded = run(checkpoints.revert(saved))
    assert discarded is not None
    assert run(checkpoints.discarded()) == [discarded]
    assert (discarded.change, discarded.label, discarded.files) == ("add-auth", "story 1", 2)
    assert discarded.name == "add-auth.20310504-120000"
    shown = run(checkpoints.show(discarded.name))
    assert f"discarded {_NOON.astimezone():%Y-%m-%d %H:%M:%S}, 2 files" in shown
    assert "new.py" in shown
    patch = run(checkpoints.diff(discarded.name))
    assert "-2\n+agent\n" in patch
    assert "+print('new')" in patch


def test_attempts_of_one_second_have_names_of_their_own(world: World) -> None:
    checkpoints = world.checkpoints(now=lambda: _NOON)
    saved = run(checkpoints.save("story 1"))
    for number in range(3):
        world.write("committed", f"agent {number}\n")
        run(checkpoints.revert(saved))
    names = [one.name for one in run(checkpoints.discarded())]
    assert names == ["add-auth.20310504-120000", "add-auth.20310504-120000-2", "add-auth.20310504-120000-3"]
    run(checkpoints.restore(names[1]))
    assert (world.top / "committed").read_text() == "agent 1\n"


def test_restoring_is_reversible_too(world: World) -> None:
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    world.write("committed", "agent\n")
    remove(world.top / "untracked")
    attempt = world.picture()
    discarded = run(checkpoints.revert(saved))
    assert discarded is not None
    world.write("committed", "mine, after the revert\n")
    mine = world.picture()
    instead = run(checkpoints.restore(discarded.name))
    assert world.picture() == attempt
    assert instead is not None
    run(checkpoints.restore(instead.name))
    assert world.picture() == mine


def test_attempts_outlive_the_checkpoint_and_gc(world: World) -> None:
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    world.write("committed", "agent\n")
    world.commit("agent")
    attempt = world.picture()
    discarded = run(checkpoints.revert(saved))
    run(checkpoints.cleanup())
    world.git("reflog", "expire", "--expire=now", "--all")
    world.git("gc", "-q", "--prune=now")
    assert discarded is not None
    run(world.checkpoints("another").restore(discarded.name))
    assert world.picture() == attempt


def test_attempts_go_after_14_days(world: World) -> None:
    checkpoints = world.checkpoints(now=lambda: _NOON)
    saved = run(checkpoints.save("story 1"))
    world.write("committed", "agent\n")
    world.git("init", "-q", str(world.top / "clone"))
    run(checkpoints.revert(saved))
    run(checkpoints.cleanup())
    assert run(checkpoints.expire(_NOON + timedelta(days=13, hours=23))) == 0
    assert len(run(checkpoints.discarded())) == 1
    assert run(checkpoints.expire(_NOON + timedelta(days=14, seconds=1))) == 1
    assert run(checkpoints.discarded()) == []
    assert world.git("for-each-ref", "refs/spool") == ""
    folder = next((world.top / ".git/spool/shadow").iterdir()) / "spool"
    assert [path for path in folder.rglob("*") if path.is_file()] == []


def test_unknown_names_are_refused(world: World) -> None:
    checkpoints = world.checkpoints()
    for name in ("nothing", "../checkpoints/add-auth", "", "."):
        with pytest.raises(CheckpointError, match="no discarded attempt"):
            run(checkpoints.restore(name))


def test_a_checkpoint_that_was_dropped_cannot_be_reverted_to(world: World) -> None:
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    run(checkpoints.drop(saved))
    with pytest.raises(CheckpointError, match="no such checkpoint"):
        run(checkpoints.revert(saved))


def test_another_process_finds_the_checkpoint(world: World) -> None:
    saved = run(world.checkpoints().save("story 1"))
    world.write("committed", "agent\n")
    later = world.checkpoints()
    assert run(later.current()) == saved
    run(later.revert(saved))
    assert (world.top / "committed").read_text() == "2\n"


def test_many_packs_are_put_together_and_nothing_is_lost(world: World) -> None:
    checkpoints = world.checkpoints(now=lambda: _NOON)
    saved = run(checkpoints.save("story 1"))
    for number in range(MOST_PACKS + 3):
        world.write("committed", f"agent {number}\n")
        run(checkpoints.revert(saved))
    shadow = next((world.top / ".git/spool/shadow").iterdir())
    assert len(list((shadow / "objects/pack").glob("*.pack"))) > MOST_PACKS
    run(checkpoints.cleanup())
    assert len(list((shadow / "objects/pack").glob("*.pack"))) < 5
    assert "missing" not in world.git("--git-dir", str(shadow), "fsck")
    names = [one.name for one in run(checkpoints.discarded())]
    run(checkpoints.restore(names[7]))
    assert (world.top / "committed").read_text() == "agent 7\n"


def test_an_empty_shadow_begins_anew(world: World) -> None:
    checkpoints = world.checkpoints()
    world.write("large", b"x" * 3_000_000)
    run(checkpoints.save("story 1"))
    shadow = next((world.top / ".git/spool/shadow").iterdir())
    assert _size(shadow) > 3_000_000
    run(checkpoints.cleanup())
    assert _size(shadow) < 100_000
    saved = run(checkpoints.save("story 2"))
    remove(world.top / "large")
    run(checkpoints.revert(saved))
    assert (world.top / "large").stat().st_size == 3_000_000


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
