"""Decides which loops a command may mean: those of the repository it is typed in, unless it asks for all."""

from contextlib import suppress
from pathlib import Path

import msgspec

from spool.domain.loop.summary import LoopSummary
from spool.errors import UsageError
from spool.host.git.pointers import branch_of, main_of, top_of


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """The loops that a command sees."""

    here: str
    """The directory in which the command acts."""
    project: str
    """The main directory of its repository; empty outside any project."""
    everywhere: bool = False

    def holds(self, loop: LoopSummary) -> bool:
        """Whether a loop is one of this repository, or all are asked for."""
        return self.everywhere or bool(self.project and _resolved(loop.project) == self.project)

    def closest(self, loops: list[LoopSummary]) -> list[LoopSummary]:
        """Return the loops of the innermost directory around this one; all of them if none is around it."""
        around = [(len(loop.root), loop) for loop in loops if Path(self.here).is_relative_to(loop.root or "/")]
        deepest = max((depth for depth, loop in around if loop.root), default=0)
        return [loop for depth, loop in around if depth == deepest] or loops


def reach_of(path: str | None = None, *, everywhere: bool = False) -> Reach:
    """Return the reach of a command in a directory, the current one by default."""
    here = Path(path or ".").resolve()
    return Reach(here=str(here), project=_project_of(here), everywhere=everywhere)


def loop_branch(loop: LoopSummary) -> str:
    """Return the branch that a loop works on; empty without git."""
    return loop.workspace.branch if loop.workspace else branch_of(Path(loop.worktree or loop.root))


def _project_of(here: Path) -> str:
    if (top := top_of(here)) is not None:
        return _resolved(str(main_of(top)))
    from spool.sources.project import find_project  # only without git

    with suppress(UsageError):
        return _resolved(str(find_project(here).root))
    return ""


def _resolved(path: str) -> str:
    return str(Path(path).resolve())
