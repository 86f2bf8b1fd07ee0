"""Refs that have not changed are not asked of git again, and every change is seen."""

from collections.abc import Callable

import pytest

from spool.host.git.checkpoints.record.ref_stamps import read_ref_stamps
from spool.host.git.checkpoints.record.user_repository import UserRepository
from tests.integration.checkpoints.world import World, run


def user_of(world: World) -> UserRepository:
    found = world.repository()
    found.spool_dir.mkdir(parents=True, exist_ok=True)
    return UserRepository(found, timeout_s=30, pins="refs/spool/pin/x/", note=found.spool_dir / "note")


def settle(user: UserRepository) -> None:
    """Wait until the clock has passed the last change of a ref."""
    while not read_ref_stamps(user.repository, user.repository.spool_dir)[1]:
        pass


def test_unchanged_refs_are_read_once(world: World, asked: list[str]) -> None:
    user = user_of(world)
    settle(user)
    first = run(user.refs())
    asked.clear()
    assert run(user.refs()) == first
    assert asked == []


CHANGES: list[Callable[[World], object]] = [
    lambda world: world.git("commit", "--allow-empty", "-qm", "more"),
    lambda world: world.git("branch", "other"),
    lambda world: world.git("tag", "v1"),
    lambda world: world.git("checkout", "-q", "--detach"),
    lambda world: world.git("checkout", "-qb", "x"),
    lambda world: world.git("symbolic-ref", "refs/heads/alias", "refs/heads/x"),
    lambda world: world.git("pack-refs", "--all"),
    lambda world: world.git("update-ref", "refs/heads/packed", "HEAD"),
    lambda world: world.git("update-ref", "refs/spool/pin/x/me/1", "HEAD"),
]


@pytest.mark.parametrize("at_once", [True, False])
def test_every_change_of_a_ref_is_seen(world: World, *, at_once: bool) -> None:
    user = user_of(world)
    for change in CHANGES:
        if not at_once:
            settle(user)
        run(user.refs())
        change(world)
        assert run(user.refs()) == run(user_of(world).refs())
        assert user.pinned("me") == {name for name in ("1",) if change is CHANGES[-1]}


def test_links_are_left_to_git(world: World) -> None:
    user = user_of(world)
    heads = world.top / ".git/refs/heads"
    (heads / "link").symlink_to(next(heads.iterdir()))
    assert read_ref_stamps(user.repository, user.repository.spool_dir) == (None, False)
