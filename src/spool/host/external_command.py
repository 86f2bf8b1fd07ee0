"""Runs external commands, mostly git, with a timeout and without blocking the event loop."""

import asyncio
import os
import re
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from spool.domain.text.plain_text import one_line
from spool.errors import CommandFailed, CommandNotRun, CommandTimeout, Hint
from spool.host.state.files import write_all

_TERM_GRACE_S = 0.3
"""Seconds between SIGTERM and SIGKILL: git removes its index.lock only on SIGTERM."""


_LISTEN_S = 0.25
_HEARD = 400
_PROGRESS = re.compile(rb"[^\r\n]*\r(?!\n)|(?:[^\r\n]*(?:, done\.|: +\d+%[^\r\n]*)|remote: Total [^\r\n]*)(?:\n|$)")
_BUSY_SHARE = 0.05
"""The share of a core that a silent command uses if it works: git counts objects without a word."""
Heard = Callable[[bytes], None]
"""Gets the last bytes that a running command has written to standard error."""


class Completed(msgspec.Struct, frozen=True):
    """A command's exit code and output."""

    exit_code: int
    output: bytes
    errors: bytes

    @property
    def text(self) -> str:
        """Standard output as text, without trailing newlines."""
        return self.output.decode("utf-8", "surrogateescape").rstrip("\n")


async def run_command(
    argv: Sequence[str | Path],
    *,
    directory: Path,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    inherits: Sequence[int] = (),
    heard: Heard | None = None,
) -> Completed:
    """Run a command and return its result, whatever the exit code; end its group on timeout or cancellation.

    It inherits the descriptors of `inherits`, and with them their locks.
    `heard` gets the end of its standard error four times a second, for a bar; what git says of that is then left out.
    With it, `timeout_s` limits the time without progress: it writes nothing there and uses next to no processor time.
    Its streams are files, not pipes: a daemon that a hook starts keeps a pipe open long after git exits.
    """
    with _memory_file(stdin) as given, _memory_file() as output, _memory_file() as errors:
        process = await _start(
            argv,
            cwd=directory,
            env=dict(env) if env is not None else None,
            stdin=given,
            stdout=output,
            stderr=errors,
            start_new_session=True,
            pass_fds=inherits,
        )
        try:
            if heard:
                await _listen(process, errors, heard, timeout_s)
            else:
                async with asyncio.timeout(timeout_s or None):
                    await process.wait()
        except TimeoutError:
            failed = "made no progress for" if heard else "did not answer within"
            raise CommandTimeout(f"'{short_name(argv)}' {failed} {timeout_s:g} s", hint=Hint.COMMAND_TIMEOUT) from None
        finally:
            if process.returncode is None:
                await asyncio.shield(_end(process))
        said = _content(errors)
        return Completed(process.returncode or 0, _content(output), _PROGRESS.sub(b"", said) if heard else said)


async def checked(
    argv: Sequence[str | Path],
    *,
    directory: Path,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    inherits: Sequence[int] = (),
    heard: Heard | None = None,
) -> Completed:
    """Run a command; raise unless it succeeds."""
    try:
        done = await run_command(
            argv, directory=directory, timeout_s=timeout_s, env=env, stdin=stdin, inherits=inherits, heard=heard
        )
    except OSError as error:
        raise not_run(short_name(argv), error) from error
    return succeeded(short_name(argv), done)


def not_run(name: str, error: OSError) -> CommandNotRun:
    """Return the error of a command that could not be started."""
    return CommandNotRun(f"cannot run '{name}': {error.strerror or error}")


def succeeded(name: str, done: Completed) -> Completed:
    """Return a command's result; raise if it failed."""
    if done.exit_code:
        said = done.errors.decode("utf-8", "replace") or done.text
        raise CommandFailed(f"'{name}' failed with code {done.exit_code}: {one_line(said, 300)}", said=said)
    return done


@contextmanager
def _memory_file(content: bytes = b"") -> Iterator[int]:
    """Open an anonymous file with initial content."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("spool")
    else:
        import tempfile

        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    try:
        if content:
            write_all(descriptor, content)
            os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


async def _listen(process: asyncio.subprocess.Process, errors: int, heard: Heard, limit_s: float) -> None:
    """Wait for a process, and pass on the end of what it says; raise TimeoutError when it makes no progress."""
    waiting = asyncio.ensure_future(process.wait())
    said, since = 0, time.monotonic()
    busy_s: float | None = None
    try:
        while not (await asyncio.wait([waiting], timeout=min(_LISTEN_S, limit_s / 8 or _LISTEN_S)))[0]:
            size, silent_s = os.fstat(errors).st_size, time.monotonic() - since
            heard(os.pread(errors, _HEARD, max(0, size - _HEARD)))
            if size != said:
                said, since, busy_s = size, time.monotonic(), None
            elif limit_s and silent_s > limit_s / 2 and busy_s is None:
                busy_s = _processor_s(process.pid)
            elif limit_s and silent_s > limit_s and busy_s is not None:
                if _processor_s(process.pid) - busy_s < _BUSY_SHARE * limit_s / 2:
                    raise TimeoutError
                since, busy_s = time.monotonic(), None
    finally:
        waiting.cancel()


def _processor_s(session: int) -> float:
    """Return the processor time that the processes of a session have used; 0 where the system does not say."""
    used = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_bytes().rpartition(b")")[2].split()
            used += int(fields[11]) + int(fields[12]) if int(fields[3]) == session else 0
    return used / os.sysconf("SC_CLK_TCK")


def _content(descriptor: int) -> bytes:
    with open(descriptor, "rb", closefd=False) as file:
        file.seek(0)
        return file.read()


async def _start(argv: Sequence[str | Path], **how: Any) -> asyncio.subprocess.Process:
    """Start a process, and end it if cancelled: asyncio would SIGKILL it and reap it behind its own child watcher."""
    starting = asyncio.ensure_future(asyncio.create_subprocess_exec(*argv, **how))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await asyncio.shield(_end(await starting))
        raise


async def _end(process: asyncio.subprocess.Process) -> None:
    """Send SIGTERM, wait, send SIGKILL; an event loop that shuts down cancels only the wait."""
    for signum, grace_s in ((signal.SIGTERM, _TERM_GRACE_S), (signal.SIGKILL, 1.0)):
        with suppress(ProcessLookupError, PermissionError):  # macOS refuses a group of zombies
            os.killpg(process.pid, signum)
        with suppress(TimeoutError, asyncio.CancelledError):
            async with asyncio.timeout(grace_s):
                await process.wait()
                return


def short_name(argv: Sequence[str | Path]) -> str:
    """Return a command's short name: `git add`, without its forty options."""
    words = [str(word) for word in argv]
    program = words[0].rpartition("/")[2]
    rest = iter(words[1:])
    for word in rest:
        if word == "-c":
            next(rest, None)
        elif not word.startswith("-"):
            return f"{program} {word}"
    return program
