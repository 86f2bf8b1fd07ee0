"""The only two transfers between a person's repository and a clone: out before the agent starts, and back afterwards.

Both use git's file protocol and no other. Of a git directory that an agent can write, Spool reads nothing outside a
fence but what `git upload-pack` serves: git promises that it obeys no hook and no program in the configuration of the
repository that it serves.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from spool.domain.text import one_line
from spool.errors import CommandFailed
from spool.host.command import checked
from spool.host.git.repository import QUIET, bound_environment

CLONE_S = 3_600.0
"""Seconds to copy a large history; the fetch back takes only what is new."""
UPLOAD_PACK = "git-upload-pack --strict"
"""`--strict`: a `.git` inside the git directory, which the agent may have made, is not looked for."""
_CAUTIOUS = (
    *QUIET,
    "-c", "protocol.version=2",
    "-c", "protocol.allow=never",
    "-c", "protocol.file.allow=always",
    "-c", "fetch.fsckObjects=true",
    "-c", "fetch.recurseSubmodules=false",
    "-c", "fetch.writeCommitGraph=false",
    "-c", "fetch.uriProtocols=",
    "-c", "transfer.bundleURI=false",
    "-c", "submodule.recurse=false",
    "-c", "core.alternateRefsCommand=:",
)  # fmt: skip
_FETCH = (
    "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-gc",
    "--no-show-forced-updates", "--refmap=", f"--upload-pack={UPLOAD_PACK}",
)  # fmt: skip
_LEADING_OUT = ("commondir", "objects/info/alternates", "objects/info/http-alternates")
"""Files by which a git directory uses another one's objects, refs or configuration."""


async def fetch_commits(source: Path, into: Path, *, commit: str, ref: str) -> None:
    """Copy a commit and its history into a new clone, whose own settings are all that count."""
    words = ("--update-shallow", "--update-head-ok", "--", str(source), f"{commit}:{ref}")
    await _fetch(into, *words, timeout_s=CLONE_S, GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1")


async def fetch_back(clone: Path, into: Path, *, ref: str, timeout_s: float) -> None:
    """Copy what is checked out in a clone into the person's repository, under a ref of Spool's."""
    refuse_leading_out(clone)
    await _fetch(into, "--", str(clone), f"+HEAD:{ref}", timeout_s=timeout_s)


async def list_refs(clone: Path, into: Path, *, timeout_s: float) -> dict[str, str]:
    """Return what the refs of a clone name, Spool's own aside."""
    refuse_leading_out(clone)
    words = ("ls-remote", "--quiet", f"--upload-pack={UPLOAD_PACK}", "--", str(clone))
    listed = await checked(["git", *_CAUTIOUS, *words], directory=into, timeout_s=timeout_s, env=_environment(into))
    rows = [line.split("\t", 1) for line in listed.text.splitlines()]
    return {name: oid for oid, name in rows if not name.startswith("refs/spool/") and not name.endswith("^{}")}


async def _fetch(into: Path, *words: str, timeout_s: float, **settings: str) -> None:
    env = _environment(into, **settings)
    await checked(["git", *_CAUTIOUS, *_FETCH, *words], directory=into, timeout_s=timeout_s, env=env)


def _environment(into: Path, **settings: str) -> dict[str, str]:
    env = bound_environment(into, into, **settings) | {"GIT_ALLOW_PROTOCOL": "file"}
    env.pop("GIT_WORK_TREE")
    return env


def refuse_leading_out(git_dir: Path) -> None:
    """Raise unless everything that git reads in a clone's git directory is in that directory.

    Outside a fence, a link or a list of alternates that an agent left would be followed to files of the person's.
    """
    if git_dir.is_symlink() or not git_dir.is_dir():
        raise CommandFailed(f"{git_dir} is no longer a git directory")
    for path in (*(git_dir / name for name in _LEADING_OUT), *_links(git_dir)):
        if os.path.lexists(path):
            raise CommandFailed(
                f"the clone's git directory leads out of the clone: {one_line(str(path), 300)}",
                hint="Spool never puts that there; look at it, and remove it if you do not need it",
            )


def _links(git_dir: Path) -> Iterator[Path]:
    """Yield the links, and what is neither file nor folder, in a git directory."""
    with os.scandir(git_dir) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _links(Path(entry.path))
            elif not entry.is_file(follow_symlinks=False):
                yield Path(entry.path)
