"""Lists the commits of an iteration, from HEAD before and after it."""

from spool.host.git.repository import Repository, ask_git, head_of

_LISTED = 200


class GitHeads:
    """The HEAD of one working tree."""

    def __init__(self, repository: Repository, *, timeout_s: float) -> None:
        self._repository = repository
        self._timeout_s = timeout_s

    async def head(self) -> str:
        """Return the checked-out commit; empty before the first commit."""
        return await head_of(self._repository, timeout_s=self._timeout_s)

    async def commits(self, before: str, after: str) -> tuple[str, ...]:
        """Return the commits in `after` but not in `before`, oldest first."""
        if not after:
            return ()
        known = [f"^{before}"] if before else []
        listed = await ask_git(
            self._repository, "rev-list", f"--max-count={_LISTED}", after, *known, timeout_s=self._timeout_s
        )
        return tuple(reversed(listed.text.split()))
