"""Finds the changes that may land: their branches, their loops, and what they depend on."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from spool.app.loops.loop_list import latest_loop, loop_at
from spool.app.starting.batch_members import DEPENDS_ON
from spool.domain.account.landing_order import Candidate
from spool.domain.change.change import Change, matching, resolve
from spool.domain.change.checkout import change_of, id_of
from spool.domain.change.front_matter import names_of
from spool.domain.loop.summary import LoopKind, LoopSummary, pick_latest
from spool.errors import SpoolError
from spool.host.git.checkouts import checkouts, existing_branch, git
from spool.host.git.repository import Repository
from spool.sources.project import project_at


class Candidates:
    """The changes of a repository, as far as they have a branch or are written in its project."""

    def __init__(self, repository: Repository, root: Path) -> None:
        self._repository = repository
        self._project = project_at(root)
        self._inside = root.relative_to(repository.top)
        written = [info.id for info in self._project.changes()]
        self.known = sorted({*written, *self._branched()})

    def named(self, names: Sequence[str]) -> list[Candidate]:
        """Return the changes with these names, or all of them, by id."""
        return [self._candidate(change) for change in dict.fromkeys(resolve(name, self.known) for name in names)]

    def all(self) -> list[Candidate]:
        """Return all changes, by id."""
        return [self._candidate(change) for change in self.known]

    def _candidate(self, change: str) -> Candidate:
        loop = self._loop(change)
        branch = self._branch(change, loop)
        written = self._written(change)
        return Candidate(
            change=change,
            branch=branch,
            tip=git("rev-parse", "--verify", f"refs/heads/{branch}^{{commit}}", directory=self._top).strip()
            if branch
            else "",
            loop=loop,
            depends_on=tuple(self._needs(written)) if written else (),
            source=written.source if written else "",
        )

    def _branch(self, change: str, loop: LoopSummary | None) -> str:
        worked_on = loop.workspace.branch if loop and loop.workspace else ""
        if worked_on and git("branch", "--list", "--", worked_on, directory=self._top):
            return worked_on
        return existing_branch(change, self._top) or ""

    def _loop(self, change: str) -> LoopSummary | None:
        """Return the latest loop on a change: from this tree, or in a worktree of its own."""
        found = [latest_loop(self._project.root, change)]
        for checkout in checkouts(self._top):
            if change_of(checkout) == change:
                with suppress(SpoolError, OSError):  # a damaged state is no loop that is done
                    found.append(loop_at(Path(checkout.path) / self._inside, LoopKind.WORKTREE, change))
        return pick_latest([loop for loop in found if loop is not None])

    def _written(self, change: str) -> Change | None:
        with suppress(SpoolError):  # a branch of a task without a written change
            return self._project.read(change)
        return None

    def _needs(self, change: Change) -> Iterator[str]:
        for name in names_of(change.proposal, DEPENDS_ON):
            meant = matching(name, self.known)
            if len(meant) == 1:
                yield meant[0]

    def _branched(self) -> Iterator[str]:
        words = ("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/change/", "refs/heads/feature/")
        for branch in git(*words, directory=self._top).splitlines():
            if change := id_of(branch):
                yield change

    @property
    def _top(self) -> Path:
        return self._repository.top
