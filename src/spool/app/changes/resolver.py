"""Finds what a person's words mean: a change, a plan file or a loop. Every command asks here.

Imports little, to keep `--status` fast.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import assert_never

import msgspec

from spool.app.loops.loop_list import as_it_stands, known, loop_at
from spool.app.loops.reach import Reach, reach_of
from spool.domain.change.change import Ambiguous, Nothing, check_id, choose, is_id, matching
from spool.domain.change.checkout import gives, id_of
from spool.domain.change.plan_file.ids import is_plan_name, plan_id, plan_path
from spool.domain.loop.summary import LoopKind, LoopSummary
from spool.domain.text.plain_text import did_you_mean, nearest, one_line
from spool.errors import Hint, NoWorktree, SpoolError, StateError, UsageError
from spool.host.git.pointers import top_of
from spool.host.state.loop_files import read_loop_file
from spool.host.state.run_registry import this_machine
from spool.sources.project import Project, find_project, project_at

_TASKS = "tasks.md"
_SHORTEST_ID = 3
"""Letters of a run's id that name it."""


class ChangeHere(msgspec.Struct, frozen=True):
    """A change of this repository."""

    project: Project
    id: str


class PlanHere(ChangeHere, frozen=True):
    """A plan file of this repository, which is a change as well."""


class LoopHere(msgspec.Struct, frozen=True):
    """A loop that was run here, or that its id names."""

    loop: LoopSummary


class LoopElsewhere(Nothing, frozen=True):
    """No loop here, but running ones of other projects."""


Meaning = ChangeHere | PlanHere | LoopHere | LoopElsewhere | Ambiguous | Nothing


def change_meant(words: str, here: Path) -> ChangeHere | PlanHere | Ambiguous | Nothing:
    """Return the change or the plan file that a person means in a directory."""
    if is_plan_name(words) and (plan := _plan_meant(words, here)) is not None:
        return plan
    if "/" in words and (here / words / _TASKS).is_file():  # specs/003-login
        return _plan_at((here / words).resolve() / _TASKS, project_root(here))
    return change_in(find_project(here), words)


def require_change(words: str, here: Path) -> ChangeHere:
    """Return the change or the plan file that a person means; raise a UsageError if it is not one."""
    match change_meant(words, here):
        case ChangeHere() as found:
            return found
        case Ambiguous() | Nothing() as missed:
            raise missed.error
        case never:
            assert_never(never)


def change_in(project: Project, words: str) -> ChangeHere | PlanHere | Ambiguous | Nothing:
    """Return the active change of a project that words mean: its id, a part of it, or the id of a plan file."""
    active = [info.id for info in project.changes()]
    project.refuse_linked(check_id(words))
    found = choose(words, active)
    if isinstance(found, str):
        return ChangeHere(project, found)
    if isinstance(found, Ambiguous):
        return found
    if (plan := plan_path(words)) and (project.root / plan).is_file():
        return PlanHere(project, words)
    if (archived := project.archived_as(words)) is not None:
        listed = f"active changes: {', '.join(active) or 'none'}"
        return Nothing(f"change '{words}' is archived as {archived.relative_to(project.root)}", listed)
    return found


def id_here(words: str) -> str:
    """Return the id of the change that words mean in the current directory; the words if it may be gone."""
    with suppress(SpoolError, OSError):
        found = change_in(find_project(Path.cwd()), words)
        return found.id if isinstance(found, ChangeHere) else words
    return words


def project_root(here: Path) -> Path:
    """Return the directory in which Spool works: the project around this one, else its working tree, else itself."""
    top = top_of(here)
    with suppress(UsageError):
        root = find_project(here).root
        if top is None or root.is_relative_to(top):
            return root
    return top or here


def _plan_meant(words: str, here: Path) -> PlanHere | Nothing | None:
    """Return the plan if words name a Markdown file, or are a plan's id; None if they may name a change."""
    path, root = here / words, project_root(here)
    if os.path.lexists(path):
        return _plan_at(path.parent.resolve() / path.name, root)
    if (named := plan_path(words)) and os.path.lexists(root / named):
        return PlanHere(project_at(root), words)
    if matching(words, [info.id for info in project_at(root).changes()]):
        return None
    beside = [one.name for one in path.parent.glob("*") if is_plan_name(one.name)]
    near = nearest(path.name, beside)
    hint = f"did you mean: {Path(words).with_name(near)}?" if near else f"its path is relative to {here}"
    return Nothing(f"no such plan file: {words}", hint)


def _plan_at(path: Path, root: Path) -> PlanHere | Nothing:
    if path.is_symlink():
        return Nothing(f"{path.name} is a link", "Spool does not follow links there: name the file itself")
    if not path.is_relative_to(root):
        root = top_of(root) or root
    if not path.is_relative_to(root):
        return Nothing(f"{path} is outside of {root}", "copy the plan into the project, where it can be reverted")
    found = plan_id(str(path.relative_to(root)))
    if not is_id(found):
        return Nothing(f"the path of {path.name} is too long for Spool's files", "move or rename the plan")
    return PlanHere(project_at(root), found)


def loop_meant(words: str, reach: Reach) -> LoopHere | LoopElsewhere | Ambiguous | Nothing:
    """Return the run with this name or id within reach: the running one, else the latest."""
    runs = this_machine().runs()
    found = loops_matching(words, runs, reach)
    alive = reach.closest([loop for loop in found if loop.running])
    if len(alive) > 1:
        return Ambiguous(f"'{one_line(words, 60)}' is ambiguous: {_listed(alive)}", "give the id")
    if not found:
        return _no_loop(words, runs, reach)
    return LoopHere(as_it_stands(alive[0] if alive else reach.closest(found)[-1]))


def require_loop(words: str, reach: Reach) -> LoopSummary:
    """Return the loop that a person means within reach; raise a UsageError if there is none."""
    match loop_meant(words, reach):
        case LoopHere(loop):
            return loop
        case Ambiguous() | Nothing() as missed:
            raise missed.error
        case never:
            assert_never(never)


def loops_matching(words: str, loops: Iterable[LoopSummary], reach: Reach) -> list[LoopSummary]:
    """Return the runs that match words: of any project by run id, else those within reach by change or short id."""
    listed = list(loops)
    if exact := [loop for loop in listed if words in (loop.run_id, loop.id)]:
        return exact
    near = [loop for loop in listed if reach.holds(loop)]
    if found := [loop for loop in near if loop.change in (words, _as_plan(words, reach, loop))]:
        return found
    if found := [loop for loop in near if len(words) >= _SHORTEST_ID and loop.id.startswith(words)]:
        return found
    meant = matching(words, {loop.change for loop in near})
    return [loop for loop in near if loop.change in meant]


def _as_plan(words: str, reach: Reach, loop: LoopSummary) -> str:
    """Return the id that a plan file has in a loop's project, if words are the path of one."""
    return plan_id(os.path.relpath(Path(reach.here, words), loop.root)) if is_plan_name(words) else words


def _no_loop(words: str, runs: list[LoopSummary], reach: Reach) -> LoopElsewhere | Nothing:
    every = msgspec.structs.replace(reach, everywhere=True)
    others = [loop for loop in loops_matching(words, runs, every) if loop.running]
    what = f"no loop on '{one_line(words, 60)}' in {reach.project or reach.here}"
    if others:
        return LoopElsewhere(f"{what}; other projects have: {_listed(others)}", Hint.OTHER_PROJECT)
    near = did_you_mean(words, {loop.change for loop in runs if reach.holds(loop)})
    return Nothing(what, near or Hint.LIST_LOOPS)


def _listed(loops: Iterable[LoopSummary]) -> str:
    return ", ".join(f"{loop.id} ({one_line(loop.worktree, 200)})" for loop in loops)


def worktree_change(words: str, here: Path) -> str:
    """Return the change that words mean here: the one with a worktree of that name, else the one they shorten."""
    from spool.host.git.checkouts import checkouts, registered  # runs git

    if any(gives(one, check_id(words)) for one in checkouts(here)) or registered(words, here):
        return words
    match choose(words, known_changes(here)):
        case Ambiguous() as missed:
            raise missed.error
        case Nothing():
            return words
        case found:
            return found


def known_changes(here: Path) -> set[str]:
    """Return the changes of a repository: written in one of its working trees, or with a worktree on their branch."""
    from spool.host.git.checkouts import checkouts

    known = checkouts(here)
    roots = {here, *here.parents, *(Path(one.path) for one in known)}
    written = {info.id for root in roots for info in Project(root).changes()}
    return written | {id_of(one.branch) for one in known if one.branch and id_of(one.branch)}


def worktree_loop(words: str | None, path: str | None = None, *, everywhere: bool = False) -> LoopSummary:
    """Return a loop by its change in this repository, its id, its worktree or the current directory."""
    if path is not None:
        return _at(Path(path).resolve(), words)
    if words is None:
        if (found := loop_here()) is None:
            raise UsageError("no loop in this directory", hint=Hint.NAME_WORKTREE_LOOP)
        return found
    reach = reach_of(everywhere=everywhere)
    roots = _roots(words, reach)
    if len(roots) > 1:
        listed = "".join(f"\n    {root}" for root in roots)
        raise UsageError(f"'{words}' has loops in more than one worktree:{listed}", hint=Hint.CHOOSE_PATH)
    return _at(roots[0] if roots else _checkout(words, reach), words)


def any_loop(words: str | None, path: str | None = None, *, everywhere: bool = False) -> LoopSummary:
    """Return the same, or else a running loop of another command that has this name."""
    reach = reach_of(everywhere=everywhere)
    found = loops_matching(words, known(), reach) if words and not path else []
    others = [loop for loop in found if loop.running]
    if others and not any(loop.door is LoopKind.WORKTREE for loop in found):
        return others[0]
    return worktree_loop(words, path, everywhere=everywhere)


def loop_here() -> LoopSummary | None:
    """Return the loop of the working tree that contains the current directory, if any."""
    top = top_of(Path.cwd())
    return _loop_of(top) if top else None


def known_projects() -> list[Path]:
    """Return the main directories of the projects with registered loops."""
    return [Path(loop.project) for loop in this_machine().runs()]


def _loop_of(root: Path) -> LoopSummary | None:
    """Return the loop of a worktree; its loop file names the change."""
    file = read_loop_file(root)
    if file is None:
        return None
    # The registry still has a loop whose state folder was deleted.
    loop = loop_at(root, LoopKind.WORKTREE, file.change_id) or this_machine().find(file.run_id)
    if loop is None:
        raise StateError(f"the state of '{file.change_id}' in {root} is gone")
    return loop


def _at(start: Path, words: str | None) -> LoopSummary:
    root = top_of(start) or start
    loop = _loop_of(root)
    if loop is None:
        what = f"on '{one_line(words, 60)}' " if words else ""
        raise UsageError(f"no loop {what}has run in {root}", hint=Hint.START_WORKTREE_LOOP)
    return loop


def _roots(words: str, reach: Reach) -> list[Path]:
    """Return the worktrees of matching loops: running ones, else the latest."""
    runs = loops_matching(words, this_machine().runs(), reach)
    loops = [loop for loop in runs if loop.door is LoopKind.WORKTREE]
    candidates = reach.closest([loop for loop in loops if loop.running] or loops[-1:])
    roots = list(dict.fromkeys(Path(loop.worktree) for loop in candidates))
    return [root for root in roots if root.is_dir()]


def _checkout(words: str, reach: Reach) -> Path:
    """Return the worktree of a change that no registered loop names."""
    from spool.host.git.checkouts import find_checkout  # runs git

    here = Path(reach.here)
    try:
        change = worktree_change(check_id(words), here)
        return Path(find_checkout(change, here=here, projects=known_projects() if reach.everywhere else None).path)
    except NoWorktree:
        raise _no_loop(words, this_machine().runs(), reach).error from None
