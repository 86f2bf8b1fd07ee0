"""Resolves the change named on the command line."""

import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import click

from spool.app.changes.resolver import ChangeHere, PlanHere, require_change
from spool.domain.change.change import ChangeInfo
from spool.domain.change.plan_file.ids import is_plan_name
from spool.domain.text.plain_text import one_line
from spool.errors import Hint, SpoolError, UsageError
from spool.sources.project import Project, find_project


def pick_change(
    query: str | None, module: str | None, *, interactive: bool, named_by: str = "--change", only_one: bool = False
) -> tuple[Project, str]:
    """Return the project and the id of the requested change; prompt for it only if `interactive`.

    `only_one` takes the only change that there is, which a command that just reads may do.
    """
    if query is not None:
        meant = require_change(query, Path.cwd())
        if module is not None:
            _require_module(meant, module)
        return meant.project, meant.id
    project = find_project(Path.cwd())
    candidates = project.changes() if module is None else project.in_module(module)
    if not candidates:
        where = f"module '{module}'" if module is not None else "this project"
        raise UsageError(f"no active change in {where}", hint=Hint.NO_CHANGES)
    if only_one and len(candidates) == 1:
        return project, candidates[0].id
    if not interactive:
        raise UsageError(
            f"{named_by} is required in non-interactive mode",
            hint=f"active changes: {', '.join(i.id for i in candidates)}",
        )
    return project, ask_for_change(candidates)


def pick_changes(names: Sequence[str], module: str | None, *, every: bool) -> tuple[Project, list[str]]:
    """Return the project and the ids of several changes: the named ones, or all that have open tasks."""
    picked = [pick_change(name, module, interactive=False) for name in names]
    project = picked[0][0] if picked else find_project(Path.cwd())
    if any(other.root != project.root for other, _ in picked):
        raise UsageError("several changes must be of one project")
    if not every:
        return project, [change for _, change in picked]
    from spool.app.starting.batch_members import open_changes

    return project, open_changes(project, module)


def _require_module(meant: ChangeHere, module: str) -> None:
    if isinstance(meant, PlanHere):
        raise UsageError("--module cannot be used with a plan file")
    if meant.id not in {info.id for info in meant.project.in_module(module)}:
        raise UsageError(f"change '{meant.id}' is not in module '{module}'")


def ask_for_change(candidates: list[ChangeInfo]) -> str:
    """Prompt for a change, picked with the arrow keys or by typing part of its name."""
    import questionary

    choices = [questionary.Choice(title=_row(info), value=info.id) for info in candidates]
    answer = questionary.select(
        "Which change?",
        choices=choices,
        default=choices[0],
        use_search_filter=True,
        use_jk_keys=False,
        instruction="(arrows to move, type to search)",
    ).ask()
    if answer is None:
        raise click.Abort
    return str(answer)


def _row(info: ChangeInfo) -> str:
    progress = f"{info.done}/{info.total}" if info.total else "no tasks"
    title = "" if info.title == info.id else f"  {info.title}"
    return one_line(f"{info.id}  [{progress}]{title}")


def on_terminal() -> bool:
    """Whether a person can be asked: standard input and standard error are terminals."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def complete_change(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return shell completions for a change: ids, and the Markdown files beside what is typed."""
    found: list[str] = []
    with suppress(SpoolError, OSError):
        found += [info.id for info in find_project(Path.cwd()).changes() if info.id.startswith(incomplete)]
    with suppress(OSError):
        found += complete_plan(ctx, param, incomplete)
    return found


def complete_plan(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Return shell completions for a plan file: the Markdown files, and the folders on the way to them."""
    typed, _, start = incomplete.rpartition("/")
    prefix = f"{typed}/" if "/" in incomplete else ""
    with suppress(OSError):
        entries = sorted(Path(prefix or ".").iterdir())
        files = [path.name for path in entries if is_plan_name(path.name) and path.is_file()]
        folders = [f"{path.name}/" for path in entries if path.is_dir()] if prefix else []
        return [f"{prefix}{name}" for name in (*files, *folders) if name.startswith(start)]
    return []


def completing(names: Callable[[], Iterable[str]]) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return what completes a word in a shell to one of these names; to none on error."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
        with suppress(SpoolError, OSError):
            return [name for name in dict.fromkeys(names()) if name.startswith(incomplete)]
        return []

    return complete


@completing
def complete_harness() -> Iterable[str]:
    """Return the names of the agents."""
    from spool.app.starting.effective_settings import resolve_settings, root_here
    from spool.harness import registry

    return registry.names(resolve_settings(root_here()).settings.harnesses)


@completing
def complete_loop() -> Iterable[str]:
    """Return the changes of this repository's loops and all ids."""
    from spool.app.loops.loop_list import known
    from spool.app.loops.reach import reach_of

    reach, loops = reach_of(), known()
    return [loop.change for loop in loops if reach.holds(loop)] + [loop.id for loop in loops]


def resume_command(picked: str | None = None) -> str:
    """Return the command that continues this loop; `picked` is a change chosen at the prompt."""
    words = ["spool", *(word for word in sys.argv[1:] if word != "--fresh")]
    return shlex.join([*words, "--change", picked] if picked else words)
