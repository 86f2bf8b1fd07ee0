"""Tells which commits an iteration made, by HEAD before and after."""

from spool.host.command import run_command
from spool.host.git.repository import QUIET, Repository, ask_git, git_environment

_LISTED = 200


class GitHeads:
    """The HEAD of one working tree."""

    def __init__(self, repository: Repository, *, timeout_s: float) -> None:
        self._top = repository.top
        self._timeout_s = timeout_s

    async def head(self) -> str:
        """Return the commit that is checked out; nothing where there is none yet."""
        done = await run_command(
            ["git", *QUIET, "rev-parse", "--quiet", "--verify", "HEAD^{commit}"],
            directory=self._top,
            timeout_s=self._timeout_s,
            env=git_environment(),
        )
        return "" if done.exit_code else done.text

    async def commits(self, before: str, after: str) -> tuple[str, ...]:
        """Return the commits that `after` has and `before` has not, the oldest first."""
        if not after:
            return ()
        known = [f"^{before}"] if before else []
        told = await ask_git(
            "rev-list", f"--max-count={_LISTED}", after, *known, directory=self._top, timeout_s=self._timeout_s
        )
        return tuple(reversed(told.text.split()))
