"""Merges a commit into a working tree and leaves the rest, conflicts included, to the agent there."""

from spool.domain.text.plain_text import one_line
from spool.errors import CommandFailed
from spool.host.git.repository import Repository, run_git

MERGE_S = 600.0


async def merged_now(repository: Repository, *, timeout_s: float) -> str:
    """Return the commit that is being merged; empty if there is none."""
    done = await run_git(repository, "rev-parse", "--quiet", "--verify", "MERGE_HEAD^{commit}", timeout_s=timeout_s)
    return "" if done.exit_code else done.text


async def begin_merge(repository: Repository, commit: str, *, timeout_s: float) -> bool:
    """Merge a commit into the tree without committing; return False if it was merged, or begun, before."""
    if await merged_now(repository, timeout_s=timeout_s) == commit:
        return False
    contained = ("merge-base", "--is-ancestor", commit, "HEAD")
    if (await run_git(repository, *contained, timeout_s=timeout_s)).exit_code == 0:
        return False
    done = await run_git(repository, "merge", "--quiet", "--no-commit", "--no-ff", commit, timeout_s=MERGE_S)
    if await merged_now(repository, timeout_s=timeout_s) != commit:
        said = done.errors.decode("utf-8", "replace") or done.text
        raise CommandFailed(f"git cannot merge {commit[:12]}: {one_line(said, 300)}")
    return True
