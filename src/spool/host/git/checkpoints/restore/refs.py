"""Restores HEAD and refs."""

import os
import re
from collections.abc import Awaitable
from pathlib import Path

import msgspec

from spool.errors import CommandFailed
from spool.host.git.checkpoints.record.user_repository import Head, Refs, UserRepository
from spool.nofollow import WHOLE, read_linked

_LOGGED = re.compile(rb"\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b")
_MOVED = re.compile(rb"\tcheckout: moving from (\S+) to (\S+)$", re.MULTILINE)


class RefChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The changes that restore the refs."""

    delete: dict[bytes, str]
    write: dict[bytes, str]
    links: dict[bytes, bytes | None]
    """Symbolic refs to write, or to delete."""
    head: Head | None
    left: list[bytes]
    """Refs that changed, but perhaps by the hand of another working tree's user."""


class Elsewhere(msgspec.Struct, frozen=True, kw_only=True):
    """The other working trees of a repository, as to its refs."""

    others: int
    branches: set[bytes]
    """The branches they are on."""
    own: set[bytes]
    """The commits and branches that the log of this working tree's HEAD has named since the checkpoint."""
    named: set[bytes] = set()
    """The same of the other working trees' HEADs."""


def plan_refs(saved: Refs, now: Refs, elsewhere: Elsewhere) -> RefChanges:
    """Decide which refs go back. With several working trees only those go that are known to be this one's."""
    changed = {name for name in saved.names.keys() | now.names.keys() if saved.names.get(name) != now.names.get(name)}
    left = {name for name in changed if not _is_ours(name, saved, now, elsewhere)}
    mine = changed - left
    links = {name for name in saved.links.keys() | now.links.keys() if saved.links.get(name) != now.links.get(name)}
    left |= {name for name in links if not _is_ours(name, saved, now, elsewhere)}
    head = saved.head
    if head.branch in elsewhere.branches and saved.head != now.head:
        head = Head(None, saved.head.commit)  # git allows a branch to be checked out once only
    return RefChanges(
        delete={name: now.names[name] for name in mine if name not in saved.names},
        write={name: saved.names[name] for name in mine if name in saved.names},
        links={name: saved.links.get(name) for name in links - left if name in saved.links or name not in saved.names},
        head=None if head == now.head else head,
        left=sorted(left),
    )


def _is_ours(name: bytes, saved: Refs, now: Refs, elsewhere: Elsewhere) -> bool:
    if name in elsewhere.branches:
        return False
    if not elsewhere.others or name in (saved.head.branch, now.head.branch):
        return True
    if name not in now.names and name not in now.links:
        # A deletion leaves no log behind. Only a working tree that was on the branch is known to have to do with it.
        return name.removeprefix(b"refs/heads/") not in elsewhere.named
    oid = now.names.get(name, "")
    return name.removeprefix(b"refs/heads/") in elsewhere.own or oid.encode() in elsewhere.own


async def restore_refs(
    user: UserRepository, saved: Refs, *, log_size: int, other_logs: dict[bytes, int]
) -> dict[bytes, str]:
    """Restore HEAD and refs; return those that are not as they were, and why."""
    now = await user.refs()
    if now == saved:
        return {}
    others, branches = await user.other_worktrees()
    own = _named_since(user.repository.git_dir / "logs" / "HEAD", log_size)
    own -= {oid.encode() for oid in saved.names.values()}
    common = user.repository.common_dir
    named = {
        name for log in user.other_logs() for name in _named_since(common / os.fsdecode(log), other_logs.get(log, 0))
    }
    plan = plan_refs(saved, now, Elsewhere(others=others, branches=branches, own=own, named=named))
    there = await user.existing(set(plan.write.values()))
    lost = {name: "cannot be brought back: its commit is gone" for name, oid in plan.write.items() if oid not in there}
    lost |= dict.fromkeys(plan.left, "was changed, perhaps from another working tree: left")
    return lost | await _carry_out(user, plan, there)


async def _carry_out(user: UserRepository, plan: RefChanges, there: set[str]) -> dict[bytes, str]:
    """Change the refs; return those that git refused to change, and why."""
    write = {name: oid for name, oid in plan.write.items() if oid in there}
    # Deletions first and by themselves: `feature` cannot be made while `feature/x` is there.
    failed = await _update(user, {name: b"delete %b\0%b\0" % (name, oid.encode()) for name, oid in plan.delete.items()})
    failed |= await _update(user, {name: b"update %b\0%b\0\0" % (name, oid.encode()) for name, oid in write.items()})
    for name, target in plan.links.items():
        words = ("-m", "spool: revert", name, target) if target else ("--delete", name)
        failed |= await _tried(name, user.change_refs("symbolic-ref", *words, names=[name]))
    if plan.head is not None:
        failed |= await _tried(b"HEAD", _restore_head(user, plan.head))
    return failed


async def _restore_head(user: UserRepository, head: Head) -> None:
    if head.branch is not None:
        await user.change_refs("symbolic-ref", "-m", "spool: revert", "HEAD", head.branch)
    elif head.commit is not None:
        await user.change_refs("update-ref", "-m", "spool: revert", "--no-deref", "HEAD", head.commit)


async def _update(user: UserRepository, commands: dict[bytes, bytes]) -> dict[bytes, str]:
    """Change refs all at once, or else one by one: a lock that somebody left stops the others otherwise."""
    if not commands:
        return {}
    words = ("update-ref", "-m", "spool: revert", "--no-deref", "-z", "--stdin")
    failed = await _tried(b"", user.change_refs(*words, stdin=b"".join(commands.values()), names=commands))
    if not failed:
        return {}
    failed = {}
    for name, command in commands.items():
        failed |= await _tried(name, user.change_refs(*words, stdin=command, names=[name]))
    return failed


async def _tried(name: bytes, work: Awaitable[object]) -> dict[bytes, str]:
    try:
        await work
    except CommandFailed as error:
        return {name: f"cannot be brought back: {error}"}
    return {}


def _named_since(log: Path, size: int) -> set[bytes]:
    """Return the commits and branches that a HEAD's log has named since it had this size."""
    try:
        text = read_linked(log, most_bytes=WHOLE)[size:]
    except OSError:
        return set()
    return {*_LOGGED.findall(text), *(name for pair in _MOVED.findall(text) for name in pair)}


def log_size(git_dir: Path) -> int:
    """Return how long the log of HEAD is."""
    try:
        return (git_dir / "logs" / "HEAD").stat().st_size
    except OSError:
        return 0
