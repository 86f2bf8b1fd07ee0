"""Starts a loop in this process or in the background."""

import sys
from contextlib import suppress
from pathlib import Path

from spool.app.loops.discarded_attempts import find_due
from spool.app.loops.loop_list import loop_at
from spool.app.machine.agent_programs import installed
from spool.app.starting.construction import find_harness, require_file
from spool.app.starting.launch import in_background
from spool.app.starting.runner import run
from spool.app.starting.uncommitted import refuse_dirty_now
from spool.domain.change.workspaces import Kind
from spool.domain.loop.settings import Resolved, Settings
from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.summary import LoopSummary
from spool.domain.loop.verdict import ExitCode, Finish, Status
from spool.errors import SpoolError
from spool.views.continuing import continue_command, continue_hint
from spool.views.hints import next_command
from spool.views.live.view_choice import observers_of
from spool.views.say import say
from spool.views.words import unchecked


def place_loop(spec: LoopSpec, kind: str | None) -> LoopSpec:
    """Return a spec with the workspace that was asked for, and say what was made."""
    from spool.app.starting.workspace_start import place
    from spool.views.live.estimates import WorkLine

    notes: list[str] = []
    with WorkLine() as line:
        placed = place(spec, Kind(kind) if kind else None, pace=line.advance, note=notes.append)
    for note in notes:
        say(note, err=True)
    return placed


def settled(resolved: Resolved) -> Settings:
    """Return the settings of a loop that is about to start, and name an agent that nobody chose."""
    agent = resolved.settings.harness
    if resolved.origins["harness"] == "default" and agent in installed(resolved.settings):
        say(f"Using {agent}, the default agent; choose another with --harness NAME or spool init.", err=True)
    return resolved.settings


def start(spec: LoopSpec, *, detach: bool) -> int:
    """Run a loop here, or start it in the background and print how to watch it; return the exit code."""
    if not detach:
        return run_here(spec)
    require_file(find_harness(spec.settings), Path(spec.directory))
    refuse_dirty_now(spec)
    _report_started(in_background(spec).wait())
    return 0


def run_here(spec: LoopSpec) -> int:
    """Run a loop in this process and return the exit code."""
    finish = run(spec, observers_of)
    lines = _next_lines(spec, finish)
    if lines:
        with suppress(OSError):  # the terminal may be gone
            say(*lines, err=True)
    return int(finish.exit_code)


def _next_lines(spec: LoopSpec, finish: Finish) -> list[str]:
    """Return what to type next."""
    if finish.exit_code is ExitCode.INTERRUPTED:
        return ["Stopped. Continue with:", f"  {spec.again}"] if spec.again else []
    if finish.hint:
        return [f"Next: {next_command(finish.hint, spec.again)}"]
    if finish.status is Status.DONE:
        return ["See what it did with:", f"  spool report {spec.run_id.rpartition('-')[2]}"] if spec.listed else []
    if not spec.again or (loop := loop_at(Path(spec.root), spec.door, spec.change)) is None:
        return []
    hint = continue_hint(loop) or "continue with"
    again = spec.again if _half_restored() else continue_command(spec.again, loop)
    return [f"{hint[:1].upper()}{hint[1:]}:", f"  {again}"]


def _half_restored() -> bool:
    """Whether the tree is a mixture that nobody should keep."""
    with suppress(SpoolError, OSError):
        return find_due() is not None
    return False


def _report_started(loop: LoopSummary) -> None:
    if said := unchecked(loop.checks):
        say(said, err=True)
    say(
        f"Started {loop.change} in the background ({loop.id}, pid {loop.runner.pid}).",
        f"  spool attach {loop.id}    watch it",
        f"  spool logs -f {loop.id}   read {loop.log}",
        f"  spool stop {loop.id}      stop it",
    )
    sys.stdout.flush()
