"""Turns errors into a line on standard error and an exit code. Nothing else does."""

import os
import re
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn, TypeVar

import click

from spool import shortcuts
from spool.domain.text.plain_text import clean
from spool.errors import SpoolError, is_starved

_Function = TypeVar("_Function", bound=Callable[..., Any])
_DEBUG = "SPOOL_DEBUG"
_LEAVING: list[Callable[[int], object]] = []


def debug_option(function: _Function) -> _Function:
    """Add `--debug`, which shows tracebacks."""

    def switch_on(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: ARG001 - click's signature
        if value:
            os.environ[_DEBUG] = "1"

    return click.option(
        "--debug", is_flag=True, expose_value=False, callback=switch_on, help="Show tracebacks of errors."
    )(function)


def run(command: click.Command, name: str) -> int:
    """Run a command and return its exit code."""
    _open_missing_streams()
    replace_unencodable()
    if f"_{name.replace('-', '_').upper()}_COMPLETE" in os.environ:
        from spool.cli.completion import mend_bash

        mend_bash()
    code = guarded(lambda: command.main(prog_name=name, standalone_mode=False), name)
    if "asyncio" in sys.modules:  # all is done: a Ctrl-C that comes now no longer changes the exit code
        import signal

        signal.signal(signal.SIGINT, signal.SIG_IGN)
    flush_streams()
    for leave in _LEAVING:
        leave(code)
    return code


def leave_by(leave: Callable[[int], object]) -> None:
    """Call `leave` with the exit code once everything is written."""
    _LEAVING.append(leave)


def load_asyncio() -> None:
    """Import asyncio without TLS, which it uses if it is there and which no loop needs: 4.4 MB of a runner's memory."""
    if shortcuts.NO_TLS and "asyncio" not in sys.modules and "ssl" not in sys.modules:
        sys.modules["ssl"] = None  # type: ignore[assignment] # to import it is an ImportError
        import asyncio  # noqa: F401

        del sys.modules["ssl"]


def leave(code: int) -> NoReturn:
    """Exit. A command that ran neither a loop nor git skips the interpreter's own end, which takes 10 ms."""
    if not shortcuts.QUICK_EXIT or "asyncio" in sys.modules or threading.active_count() > 1:
        sys.exit(code)
    os._exit(code)


def flush_streams() -> None:
    """Flush the standard streams; drop what a closed terminal does not take, or Python exits with code 120."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
                stream.flush()


def guarded(work: Callable[[], object], name: str = "spool") -> int:
    """Call `work` and return an exit code; report any error as one line."""
    try:
        code = work()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        usage = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else ""
        complain(error.format_message(), f"see: {usage} --help" if usage else "", name)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except Exception as error:  # noqa: BLE001 - the edge
        if os.environ.get(_DEBUG):
            import traceback

            click.echo(clean("".join(traceback.format_exception(error))), err=True, nl=False)
        return _explain(error, name)


def _explain(error: Exception, name: str) -> int:
    match error:
        case SpoolError():
            from spool.views.hints import next_step

            complain(str(error), next_step(error), name)
            return error.exit_code
        case _ if is_starved(error):
            complain("not enough memory", "see: ulimit -v", name)
            return 1
        case OSError():
            complain(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}", "", name)
            return 1
        case _:
            from spool.app.starting.crash import write_crash

            path = write_crash(None, error)
            message = f"internal error: {type(error).__name__}: {error}"
            complain(message, f"details are in {path}" if path else "--debug shows the traceback", name)
            return 1


def complain(message: str, hint: str, name: str = "spool") -> None:
    """Print an error and its hint to standard error, one line each."""
    with suppress(OSError):  # a closed terminal must not change the exit code
        click.echo(_own_lines(f"{name}: {message}"), err=True)
        if hint:
            click.echo(_own_lines(f"  {hint}"), err=True)


def _own_lines(text: str) -> str:
    """Return cleaned text; only indented lines of a list stay lines, so that a name cannot start one of its own."""
    return re.sub(r"\n(?!    )", " ", clean(text))


def _open_missing_streams() -> None:
    """Reopen closed standard streams on /dev/null, or the next file opened receives our output."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number is the missing one
            setattr(sys, name, os.fdopen(number, mode))


def replace_unencodable() -> None:
    """Print a replacement for characters that the terminal's encoding lacks, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
