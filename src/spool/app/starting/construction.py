"""Makes the spec of a loop, and finds what it needs before it starts: project, agent, working tree."""

import os
import secrets
from pathlib import Path

from spool.app.machine.agent_programs import require_program
from spool.domain.change.story import RepairStory
from spool.domain.loop.criteria import Criterion
from spool.domain.loop.settings import Settings
from spool.domain.loop.spec import LoopSpec, Show
from spool.domain.loop.summary import LoopKind, state_path
from spool.engine.ports import Harness
from spool.errors import Hint, UsageError
from spool.harness import registry
from spool.host.clock import SystemClock
from spool.host.git.repository import NoRepository, Repository
from spool.host.git.working_tree import GitWorktree, PlainFolder
from spool.sources.project import Project, bare_project, project_at


def new_run_id() -> str:
    """Return a run id: the start time and a random suffix."""
    return f"{SystemClock().now():%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


def new_spec(
    door: LoopKind,
    root: Path | str,
    change: str,
    settings: Settings,
    *,
    again: str = "",
    task: str = "",
    criterion: Criterion = Criterion.PROMISE,
    done_command: str = "",
    fresh: bool = False,
    show: Show = Show.STREAM,
    verbose: bool = False,
    listed: bool = True,
    log: str = "",
    on_resume: str = "",
    no_gates: bool = False,
    gates_given: tuple[str, ...] = (),
    baseline_given: bool = False,
) -> LoopSpec:
    """Return a loop that has not run yet; nothing else makes one."""
    return LoopSpec(
        run_id=new_run_id(),
        door=door,
        change=change,
        root=str(root),
        settings=settings,
        again=again,
        task=task,
        criterion=criterion,
        done_command=done_command,
        fresh=fresh,
        show=show,
        verbose=verbose,
        listed=listed,
        log=log,
        on_resume=on_resume,
        no_gates=no_gates,
        gates_given=gates_given,
        baseline_given=baseline_given,
    )


def open_project(spec: LoopSpec) -> Project:
    """Return the project of a loop, where its agent works; a worktree loop needs no written change."""
    root = Path(spec.directory)
    return bare_project(root) if spec.door is LoopKind.WORKTREE else project_at(root)


def find_harness(settings: Settings) -> Harness:
    """Return the agent of these settings; raise before anything is written if it cannot run."""
    harness = registry.find(settings.harness, settings.harnesses)
    require_program(harness, settings)
    if settings.allow_all and harness.traits.sandbox_as_root and is_root() and not _claims_sandbox(settings):
        raise UsageError(f"{harness.name} refuses allow-all as root outside a sandbox", hint=Hint.CLAUDE_AS_ROOT)
    if settings.resume_agent and not harness.traits.resume:
        raise UsageError(f"{harness.name} cannot continue an earlier conversation", hint=Hint.FRESH_AGENT)
    return harness


def is_root() -> bool:
    """Whether this process runs as root."""
    return os.geteuid() == 0


def _claims_sandbox(settings: Settings) -> bool:
    return settings.sandbox or settings.claude_as_root == "pretend-sandbox" or bool(os.environ.get("IS_SANDBOX"))


def require_file(harness: Harness, root: Path) -> None:
    """Raise a UsageError if an agent needs a file that the project does not have."""
    path = root / harness.traits.requires
    if harness.traits.requires and not path.is_file():
        hint = "`spool demo --keep DIR` has an example; [harnesses.scripted] script = PATH names another file"
        raise UsageError(f"{harness.name} needs a script: {path} is not there", hint=hint)


def open_worktree(
    repository: Repository | NoRepository, settings: Settings, errand: RepairStory | None = None
) -> GitWorktree | PlainFolder:
    """Return the working tree, which counts changes and commits them."""
    if isinstance(repository, NoRepository):
        return PlainFolder()
    return GitWorktree(repository, timeout_s=settings.command_timeout, merging=errand.onto if errand else "")


def learnings_of(change: str) -> str:
    """Return the file with learnings for later stories, as the prompt names it: from where the agent works."""
    return f"{state_path('.', LoopKind.RUN, change)}/learnings.md".removeprefix("./")
