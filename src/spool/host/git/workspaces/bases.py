"""Finds the commit from which work starts that builds on several branches. No working tree and no branch is touched."""

from collections.abc import Sequence

from spool.errors import CommandFailed, UsageError
from spool.host.git.repository import Repository, ask_git, run_git


async def merged_base(repository: Repository, branches: Sequence[str], *, timeout_s: float) -> str:
    """Return a commit that contains all branches: the tip of one of them, or else a merge; raise on a conflict."""
    tips: dict[str, str] = {}
    for branch in branches:
        found = await run_git(
            repository, "rev-parse", "--quiet", "--verify", f"refs/heads/{branch}^{{commit}}", timeout_s=timeout_s
        )
        if found.exit_code:
            raise UsageError(f"there is no branch {branch} to start from")
        tips[branch] = found.text
    (base, commit), *others = tips.items()
    for branch, tip in others:
        commit = await _joined(repository, (base, commit), (branch, tip), timeout_s=timeout_s)
        base = f"{base} and {branch}"
    return commit


async def _joined(repository: Repository, one: tuple[str, str], other: tuple[str, str], *, timeout_s: float) -> str:
    for (_, old), (_, new) in ((one, other), (other, one)):
        words = ("merge-base", "--is-ancestor", old, new)
        if (await run_git(repository, *words, timeout_s=timeout_s)).exit_code == 0:
            return new
    merged = await run_git(
        repository, "merge-tree", "--write-tree", "--name-only", "--no-messages", one[1], other[1], timeout_s=timeout_s
    )
    if merged.exit_code == 1:
        files = ", ".join(merged.text.splitlines()[1:6])
        raise UsageError(f"{one[0]} and {other[0]} conflict in {files}", hint="merge them by hand first")
    if merged.exit_code:
        raise CommandFailed(f"'git merge-tree' failed: {merged.errors.decode('utf-8', 'replace').strip()[:300]}")
    message = f"Merge {other[0]} into {one[0]}"
    made = ("commit-tree", merged.text.split()[0], "-p", one[1], "-p", other[1], "-m", message)
    return (await ask_git(repository, *made, timeout_s=timeout_s)).text
