"""The runner of one attempt, as a child process that dies with its worker."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.decoders import decoded
from spool.domain.agent.sandbox_rules import admits
from spool.domain.loop.spec import LoopSpec
from spool.domain.text.plain_text import one_line
from spool.errors import SpoolError
from spool.fleet.worker.link import LINE_BYTES, RunnerRequest, WorkerAnswer
from spool.harness import registry
from spool.host.sandbox.private import PASSED
from spool.host.state.files import end_of, opened

_OWN = ("HOME", "XDG_*", "TMPDIR", "GIT_AUTHOR_*", "GIT_COMMITTER_*", "GIT_CONFIG_NOSYSTEM", "IS_SANDBOX")
_GRACE_S = 8.0
"""A runner that is asked to stop needs up to 5 s for an agent that ignores it."""


class Child:
    """A running child, and the worker's end of the line to it."""

    def __init__(
        self, process: asyncio.subprocess.Process, streams: tuple[asyncio.StreamReader, asyncio.StreamWriter], log: Path
    ) -> None:
        self._process = process
        self._reader, self._writer = streams
        self._log = log

    async def requests(self) -> RunnerRequest | None:
        """Return the next request; None once the line is closed."""
        line = await self._reader.readline()
        return decoded(line, RunnerRequest) if line else None

    async def answer(self, answer: WorkerAnswer) -> None:
        """Answer the last request; a child that is gone needs none."""
        with suppress(OSError):
            self._writer.write(msgspec.json.encode(answer) + b"\n")
            await self._writer.drain()

    async def exited(self) -> int:
        """Wait for the exit code."""
        return await self._process.wait()

    def ask_to_stop(self) -> None:
        """Ask the runner to stop."""
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)

    def said(self) -> str:
        """Return what the child printed last."""
        return one_line(end_of(self._log, 2_000).decode("utf-8", "replace"), 400)

    async def end(self) -> None:
        """Stop the runner, killing it if it does not stop, and close the line."""
        self.ask_to_stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_S):
                await self._process.wait()
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        self._writer.close()


async def start_child(spec: LoopSpec, spec_path: Path, log: Path) -> Child:
    """Start the runner of a spec."""
    ours, theirs = socket.socketpair()
    words = ("-P", "-m", "spool.fleet.worker.runner_process", str(theirs.fileno()), str(spec_path), str(os.getpid()))
    with theirs, opened(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND) as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *words,
            cwd=spec.root,
            env=child_environment(spec, os.environ),
            pass_fds=(theirs.fileno(),),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    ours.setblocking(False)
    return Child(process, await asyncio.open_connection(sock=ours, limit=LINE_BYTES), log)


def child_environment(spec: LoopSpec, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a child: nobody's secrets, and what its agent declares."""
    with suppress(SpoolError):
        traits = registry.find(spec.settings.harness, spec.settings.harnesses).traits
        names = (*PASSED, *_OWN, *traits.env_names, *spec.settings.sandbox_env)
        return {name: value for name, value in environment.items() if admits(names, name)}
    return {name: value for name, value in environment.items() if admits((*PASSED, *_OWN), name)}
