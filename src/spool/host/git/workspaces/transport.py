"""The only two transfers between a person's repository and a clone: out before the agent starts, and back afterwards.

Both use git's file protocol and no other. Of a git directory that an agent can write, Spool reads nothing outside a
sandbox but what `git upload-pack` serves: git promises that it obeys no hook and no program in the configuration of the
repository that it serves.
"""

import os
from pathlib import Path

from spool.errors import CommandFailed
from spool.host.external_command import checked
from spool.host.git.leading_out import LEADING_OUT_HINT, leads_out
from spool.host.git.repository import QUIET, bound_environment
from spool.host.git.workspaces.clone_pace import heard

CLONE_S = 3_600.0
"""Seconds for work on a clone that is neither a fetch nor a person's."""
STALLED_S = 30.0
"""Seconds without progress that end a fetch, which cannot be cut, if no other limit is given."""
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
    "fetch", "--progress", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-gc",
    "--no-show-forced-updates", "--refmap=",
)  # fmt: skip


async def fetch_commits(source: Path, into: Path, *, commit: str, ref: str, timeout_s: float = STALLED_S) -> None:
    """Copy a commit and its history into a new clone, whose own settings are all that count."""
    words = (
        f"--upload-pack={UPLOAD_PACK}",
        "--update-shallow",
        "--update-head-ok",
        "--",
        str(source),
        f"{commit}:{ref}",
    )
    await _fetch(into, *words, timeout_s=timeout_s, GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1")


async def fetch_back(clone: Path, into: Path, *, ref: str, timeout_s: float, served_by: str = UPLOAD_PACK) -> None:
    """Copy what is checked out in a clone into the person's repository, under a ref of Spool's."""
    _refuse_leading_out(clone)
    await _fetch(into, f"--upload-pack={served_by}", "--", str(clone), f"+HEAD:{ref}", timeout_s=timeout_s)


async def fetch_recorded(shadow: Path, into: Path, *, source_ref: str, ref: str, served_by: str = UPLOAD_PACK) -> None:
    """Copy a commit from Spool's own git directory beside a clone, whose objects it borrows, in place of the last."""
    words = (f"--upload-pack={served_by}", f"--negotiation-tip={ref}", "--force", "--", str(shadow))
    await _fetch(into, *words, f"{source_ref}:{ref}", timeout_s=STALLED_S)


async def list_refs(clone: Path, into: Path, *, timeout_s: float, served_by: str = UPLOAD_PACK) -> dict[str, str]:
    """Return what the refs of a clone name, Spool's own aside."""
    _refuse_leading_out(clone)
    words = ("ls-remote", "--quiet", f"--upload-pack={served_by}", "--", str(clone))
    listed = await checked(["git", *_CAUTIOUS, *words], directory=into, timeout_s=timeout_s, env=_environment(into))
    rows = [line.split("\t", 1) for line in listed.text.splitlines()]
    return {name: oid for oid, name in rows if not name.startswith("refs/spool/") and not name.endswith("^{}")}


async def _fetch(into: Path, *words: str, timeout_s: float, **settings: str) -> None:
    """Fetch; the limit is one of time without progress."""
    env = _environment(into, **settings)
    await checked(["git", *_CAUTIOUS, *_FETCH, *words], directory=into, timeout_s=timeout_s, env=env, heard=heard)


def _environment(into: Path, **settings: str) -> dict[str, str]:
    env = bound_environment(into, into, **settings) | {"GIT_ALLOW_PROTOCOL": "file"}
    env.pop("GIT_WORK_TREE")
    return env


def _refuse_leading_out(git_dir: Path) -> None:
    if path := leads_out(git_dir):
        raise CommandFailed(f"the clone's git directory leads out of the clone: {path}", hint=LEADING_OUT_HINT)
