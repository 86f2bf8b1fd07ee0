"""Selects the views of a run by its spec and by where the output goes."""

import os
import sys
from pathlib import Path

from spool.app.observing.observers import Observer
from spool.domain.loop.spec import LoopSpec, Show
from spool.domain.loop.summary import LoopKind


def observers_of(spec: LoopSpec) -> list[Observer]:
    """Return the observers that show a run and write its log."""
    title = spec.change if spec.door is LoopKind.WORKTREE else ""
    shown = [] if spec.show is Show.NOTHING else [terminal_view(spec.show, verbose=spec.verbose, title=title)]
    if "terminal" in spec.settings.notify and sys.stderr.isatty():
        from spool.views.live.terminal_notices import TerminalNotices

        shown.append(TerminalNotices(spec))
    if spec.door is LoopKind.WORKTREE:
        from spool.views.live.line_view import LogView

        shown.append(LogView(Path(spec.log), fresh=spec.fresh))
    return shown


def terminal_view(show: Show, *, verbose: bool, title: str = "") -> Observer:
    """Return the view for an output mode and for standard output; `title` sets the window title."""
    if show is Show.JSON:
        from spool.views.live.line_view import JsonView

        return JsonView()
    if show is Show.STREAM and sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        from spool.views.live.terminal_view import LiveView

        return LiveView(verbose=verbose, title=title)
    from spool.views.live.line_view import PlainView

    return PlainView(stream=show is Show.STREAM, verbose=verbose)
