"""Decides where HEAD moves when a repository returns to a beginning: commits that others hold stay."""

from collections.abc import Callable

import msgspec

from spool.host.git.checkpoints.record.user_repository import Head, Refs, UserRepository
from spool.host.git.checkpoints.snapshot import RepositoryPart

Own = Callable[[float], bool]
"""Whether a commit of this time was made by the loop."""


class HeadAim(msgspec.Struct, frozen=True, kw_only=True):
    """A repository's aim."""

    part: RepositoryPart
    commits: tuple[str, ...] = ()
    """The commits over which HEAD moves."""
    staying: str = ""
    """Why HEAD stays; empty if it moves, or has not moved."""


async def aim_at(user: UserRepository, then: RepositoryPart, now: RepositoryPart, own: Own) -> HeadAim:
    """Return a beginning as it is to be restored: with all refs but HEAD's as they are now.

    HEAD returns only over commits of the loop that no other ref holds. Else it stays, and the index with it: the
    index of the beginning would show each of these commits as undone and staged.
    """
    was, head = then.refs.head, now.refs.head
    if head == was:
        return HeadAim(part=msgspec.structs.replace(then, refs=now.refs))
    times = await _times(user, was, head)
    staying = _moved_by_person(then, now) or _not_own(times, own) or await _held_elsewhere(user, was, head)
    if staying:
        return HeadAim(part=msgspec.structs.replace(then, refs=now.refs, unfinished=now.unfinished), staying=staying)
    return HeadAim(part=msgspec.structs.replace(then, refs=_moved(now.refs, was)), commits=tuple(times))


def _moved(refs: Refs, head: Head) -> Refs:
    """Return refs with HEAD, and the branch that it is on now, at another commit; a branch that it leaves stays."""
    names = dict(refs.names)
    if head.branch is not None and head.branch == refs.head.branch:
        names.pop(head.branch, None)
        if head.commit is not None:
            names[head.branch] = head.commit
    return msgspec.structs.replace(refs, head=head, names=names)


def _moved_by_person(then: RepositoryPart, now: RepositoryPart) -> str:
    """Return why a switch of the branch stays: it may be a person's."""
    was, head = then.refs.head, now.refs.head
    if was.branch == head.branch:
        return ""
    if head.branch is None or head.branch in then.refs.names:
        return "another branch or commit is checked out"
    left = was.branch is not None and now.refs.names.get(was.branch) != was.commit
    return f"{_short(was.branch)} has moved" if left and was.branch else ""


async def _times(user: UserRepository, was: Head, head: Head) -> dict[str, float]:
    """Return the commits that HEAD has and had not, the newest first, and when each was made."""
    if head.commit is None:
        return {}
    known = [f"^{was.commit}"] if was.commit else []
    answer = await user.git("log", "--format=%H %ct", "--no-show-signature", head.commit, *known, "--")
    rows = [line.split() for line in answer.decode().splitlines()]
    return {oid: float(time) for oid, time in rows}


def _not_own(times: dict[str, float], own: Own) -> str:
    other = [oid for oid, time in times.items() if not own(time)]
    return f"commit {other[0][:10]} is not the loop's" if other else ""


async def _held_elsewhere(user: UserRepository, was: Head, head: Head) -> str:
    """Return which other ref holds a commit that HEAD would leave."""
    if head.commit is None:
        return ""
    branch: list[str | bytes] = [b"--exclude=" + head.branch] if head.branch else []
    others: list[str | bytes] = [*branch, "--exclude=refs/spool/*", "--glob=refs/*", *await _other_heads(user)]
    commits = [head.commit, *([f"^{was.commit}"] if was.commit else [])]
    alone = set((await user.git("rev-list", *commits, "--not", *others)).split())
    held = [oid for oid in (await user.git("rev-list", *commits)).split() if oid not in alone]
    if not held:
        return ""
    answer = await user.git("for-each-ref", "--format=%(refname)", "--contains", held[-1])
    names = [name for name in answer.splitlines() if name != head.branch and not name.startswith(b"refs/spool/")]
    holder = _short(names[0]) if names else "another working tree"
    return f"{holder} holds commit {held[-1].decode()[:10]}"


async def _other_heads(user: UserRepository) -> list[str]:
    """Return the commits on which other working trees are."""
    answer = (await user.git("worktree", "list", "--porcelain")).decode("utf-8", "surrogateescape")
    blocks = [dict(row.partition(" ")[::2] for row in block.splitlines()) for block in answer.split("\n\n")]
    others = [block for block in blocks if block.get("worktree") != str(user.repository.top)]
    return [block["HEAD"] for block in others if "detached" in block and block.get("HEAD", "0").strip("0")]


def _short(name: bytes) -> str:
    text = name.decode("utf-8", "replace")
    return text.removeprefix("refs/heads/").removeprefix("refs/remotes/").removeprefix("refs/")
