"""`spool tui`: opens the full-screen interface."""

import os
import shlex
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from spool.app.changes.resolver import project_root
from spool.app.starting.effective_settings import resolve_settings
from spool.cli.commands.setup.trust import settings_to_start
from spool.cli.commands.start.run import run
from spool.cli.commands.start.welcome import nothing_to_show, welcome
from spool.cli.options import loop_options as shared
from spool.cli.options.flags import Flags, given_settings, takes
from spool.cli.options.groups import GroupedCommand
from spool.cli.options.target import complete_change, pick_change
from spool.domain.change.plan_file.ids import plan_path
from spool.domain.loop.settings import NAMES, Settings
from spool.errors import UsageError
from spool.harness import registry
from spool.sources.project import project_at

if TYPE_CHECKING:
    from spool.app.loops.client import Client
    from spool.domain.loop.summary import LoopSummary

_PATIENCE_S = 2.0
_EXAMPLES = (
    "spool tui",
    "spool tui add-auth --harness claude --allow-all",
)


class TuiFlags(Flags, frozen=True, kw_only=True):
    """The options of `spool tui`: those of `spool run` that the screen's settings have."""

    sandbox: shared.SandboxFlags
    agent: shared.AgentFlags
    max_retries: int | None = shared.MAX_RETRIES
    budget: shared.BudgetFlags
    limits: shared.AgentLimitFlags
    policy: shared.PolicyFlags
    allow_empty: bool | None = shared.ALLOW_EMPTY
    command_timeout: float | None = shared.COMMAND_TIMEOUT
    fresh: bool = shared.FRESH
    on_resume: Literal["revert", "keep"] | None = shared.ON_RESUME
    commit_stories: bool | None = shared.COMMIT_STORIES
    include_dirty: bool | None = shared.INCLUDE_DIRTY


@click.command("tui", cls=GroupedCommand, examples=_EXAMPLES)
@click.argument("change_id", metavar="[CHANGE | PLAN.md]", required=False, shell_complete=complete_change)
@takes(TuiFlags)
def tui(change_id: str | None, options: TuiFlags) -> int:
    """Pick a change, read it, start its loop and watch it, full screen.

    Flags set the initial settings. A loop is a separate process: it keeps running when the screen closes, unless you
    stop it with q.
    """
    require_terminal()
    if change_id is None and nothing_to_show():
        return welcome()
    if change_id is not None:
        project, change = pick_change(change_id, None, interactive=False)
    else:
        project, change = project_at(project_root(Path.cwd())), None
    settings = settings_to_start(project.root, given_settings(options), ask=True).settings
    registry.find(settings.harness, settings.harnesses)  # refuse a wrong name now, not after R
    from spool.app.loops.client import Client

    client = Client(
        project,
        settings,
        fresh=options.fresh,
        on_resume=options.on_resume or "",
        again=again_with(resolve_settings(project.root).settings),
    )
    return open_screen(client, change=change)


def again_with(configured: Settings) -> Callable[[str, Settings], str]:
    """Return what words the command that continues a change, with flags for the settings that are not configured."""

    def command(change: str, settings: Settings) -> str:
        words = ["spool", "run", plan_path(change) or change]
        for param in run.params:
            name = param.name or ""
            if name in NAMES and getattr(settings, name) != getattr(configured, name):
                words += _flag(param, getattr(settings, name))
        return shlex.join(words)

    return command


def _flag(param: click.Parameter, value: object) -> list[str]:
    """Return the words that set an option to a value of its setting."""
    if isinstance(param, click.Option) and param.is_flag:
        return [param.opts[0]] if value else param.secondary_opts[:1]
    given = value if isinstance(value, tuple) else (value,)
    return [word for one in given for word in (param.opts[0], _worded(one))]


def _worded(value: object) -> str:
    if isinstance(value, bool):  # of `--net`
        return "on" if value else "off"
    return f"{value:.12g}" if isinstance(value, float) else "" if value is None else str(value)


def require_terminal() -> None:
    """Raise a UsageError without a terminal to draw on; Textual draws on standard error."""
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()) or os.environ.get("TERM") == "dumb":
        raise UsageError("the screen needs a terminal", hint="without one, use: spool run CHANGE")


def open_screen(client: "Client", *, change: str | None = None, loop: "LoopSummary | None" = None) -> int:
    """Draw the screen until it is closed, opened at a change or a loop."""
    from spool.views.live.terminal_guard import guarded_terminal

    with guarded_terminal():  # before threads start and before Textual draws
        from spool.tui.app import SpoolApp

        return _run(SpoolApp(client, change=change, loop=loop, colour="NO_COLOR" not in os.environ))


def _run(app: Any) -> int:
    import asyncio
    import signal
    import threading

    async def open_screen() -> None:
        loop = asyncio.get_running_loop()

        def leave(signum: int, _: object) -> None:
            # Writing to a terminal that is gone may block forever; after 2 s exit anyway and let the guard clean up.
            last = threading.Timer(_PATIENCE_S, os._exit, (128 + signum,))
            last.daemon = True
            last.start()
            loop.call_soon_threadsafe(partial(app.exit, return_code=128 + signum))

        for signum in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(signum, leave)
        await app.run_async()

    asyncio.run(open_screen())
    return int(app.return_code or 0)
