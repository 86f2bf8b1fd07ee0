"""Finds a person's files that are gone or overwritten since a beginning, and are in no commit."""

import hashlib
from collections.abc import Iterable

from spool.domain.loop.checkpoint import Losses
from spool.host.git.checkpoints.nested.repository_checkpoint import NameChange, RepositoryCheckpoint
from spool.host.git.checkpoints.nested.repository_set import RepositorySet
from spool.host.git.checkpoints.paths import shown, status
from spool.host.git.checkpoints.snapshot import RepositoryPart, Snapshot

_OWN = b".spool/"
_MOST_READ = 50
"""Files whose content is compared with and without carriage returns."""


async def find_losses(
    repositories: RepositorySet, story: Snapshot, run: Snapshot | None, now: Iterable[RepositoryPart]
) -> Losses:
    """Compare the tree with the story's beginning; what was not there when the run began is an agent's.

    Recorded trees are compared: no file is read.
    """
    before = {part.path: part for part in (run or story).parts}
    then = {part.path: part for part in story.parts}
    found = Losses()
    for part in now:
        if part.path in then and part.path in before and not part.stranger:
            here = repositories.at(part)
            found = _together(found, await _in_files(here, then[part.path], before[part.path], part))
            found = _together(found, _in_ignored(here, then[part.path], before[part.path], part))
    return found


async def _in_files(
    here: RepositoryCheckpoint, then: RepositoryPart, before: RepositoryPart, now: RepositoryPart
) -> Losses:
    changes = [one for one in await here.changes(then.tree, now.tree) if one.status != b"A"]
    agents = {one.name for one in await here.changes(before.tree, then.tree)}
    changes = await _not_in_git(here, then, [one for one in changes if one.name not in agents])
    empty = _blob(b"", then.object_format)
    return Losses(
        deleted=_names(then, [one for one in changes if one.status == b"D"]),
        emptied=_names(then, [one for one in changes if one.status != b"D" and one.after == empty]),
        overwritten=_names(then, [one for one in changes if one.status != b"D" and one.after != empty]),
    )


async def _not_in_git(here: RepositoryCheckpoint, then: RepositoryPart, changes: list[NameChange]) -> list[NameChange]:
    """Return the changes of files whose content the commit of that time has not, under the same name."""
    head = then.refs.head.commit
    if not changes or head is None:
        return changes
    held = await here.committed(head, [one.name for one in changes])
    differing = [one for one in changes if held.get(one.name) != one.before]
    known = {one.name for one in differing[:_MOST_READ] if one.name in held and one.before.strip("0")}
    unsure = [one for one in differing if one.name in known]
    # Git may have the same text with other line ends.
    same = {one.name for one in unsure if held[one.name] == await _with_plain_ends(here, one, then.object_format)}
    return [one for one in differing if one.name not in same]


async def _with_plain_ends(here: RepositoryCheckpoint, one: NameChange, object_format: str) -> str:
    content = await here.shadow.git("cat-file", "blob", one.before)
    return _blob(content.replace(b"\r\n", b"\n"), object_format) if b"\r\n" in content else ""


def _in_ignored(
    here: RepositoryCheckpoint, then: RepositoryPart, before: RepositoryPart, now: RepositoryPart
) -> Losses:
    """Compare single ignored files, which are saved, and look for what was never saved."""
    top = here.shadow.top
    own = {name: kept for name, kept in then.ignored_files.items() if before.ignored_files.get(name) == kept}
    gone = [name for name in own if status(top, name) is None]
    changed = [name for name in own if name in now.ignored_files and now.ignored_files[name][1] != own[name][1]]
    empty = [name for name in changed if not now.ignored_files[name][1]]
    unsaved = [name for name in {*then.ignored, *then.left} & {*before.ignored, *before.left} if name not in own]
    lost = [name for name in unsaved if not name.startswith(_OWN) and status(top, name.rstrip(b"/")) is None]
    return Losses(
        deleted=_paths(then, gone),
        emptied=_paths(then, empty),
        overwritten=_paths(then, [name for name in changed if name not in empty]),
        unsaved=_paths(then, sorted(lost)),
    )


def _names(part: RepositoryPart, changes: list[NameChange]) -> tuple[str, ...]:
    return _paths(part, [one.name for one in changes])


def _paths(part: RepositoryPart, names: Iterable[bytes]) -> tuple[str, ...]:
    return tuple(shown(part.path + b"/" + name if part.path else name) for name in names)


def _together(one: Losses, other: Losses) -> Losses:
    fields = Losses.__struct_fields__
    return Losses(**{name: getattr(one, name) + getattr(other, name) for name in fields})


def _blob(content: bytes, object_format: str) -> str:
    digest = hashlib.sha256 if object_format == "sha256" else hashlib.sha1
    return digest(b"blob %d\0" % len(content) + content).hexdigest()
