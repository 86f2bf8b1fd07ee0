"""Starts agents through the supervisor and reads their output."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from spool.decoders import decoder_of
from spool.domain.agent.invocation import Invocation, Stdin
from spool.domain.text.plain_text import clean
from spool.errors import AgentHostError
from spool.host.agents.memory import MemoryMeter
from spool.host.agents.supervisor import AgentEnded, AgentNotStarted, AgentOrder, Report, Spawn, Started, Supervision
from spool.host.agents.sweep import end_descendants
from spool.host.agents.tail import Notifier, TailedFile
from spool.host.state.files import naming, opened, write_all
from spool.nofollow import make_folder

if TYPE_CHECKING:
    from spool.host.sandbox.sandbox import Sandbox

_STDERR_TAIL = 1 << 16
_KILL_S = 10.0
_SIDE_LIMIT = 16 << 20
_REPORTERS = Path(__file__).parents[2] / "reporters"


class AgentProcess:
    """A running agent, as the engine sees it."""

    def __init__(
        self,
        output: TailedFile,
        errors: TailedFile,
        order: Callable[[AgentOrder], None],
        meter: MemoryMeter,
        *,
        side_file: str = "",
    ) -> None:
        self._output = output
        self._errors = errors
        self._order = order
        self._meter = meter
        self._side_file = side_file
        self._killed = False
        self.exit_code: int | None = None
        self.exited = False
        self.left: tuple[int, ...] = ()

    @property
    def truncated(self) -> bool:
        """Whether the output was truncated while it was read."""
        return self._output.truncated

    @property
    def bytes_seen(self) -> int:
        """Bytes on standard output and standard error so far."""
        return max(self._output.size, self._output.offset) + self._errors.size

    @property
    def over_memory(self) -> bool:
        """Whether the agent and its descendants have used more memory than the limit."""
        return self._meter.over

    def read(self) -> bytes:
        """Return the next bytes of standard output."""
        return self._output.read()

    def stop(self) -> None:
        """Stop the agent: SIGINT, then SIGTERM, then SIGKILL."""
        self._order(AgentOrder("stop"))

    def kill(self) -> None:
        """Kill the agent now."""
        if not self._killed:
            self._killed = True
            self._order(AgentOrder("kill"))

    def stderr_tail(self) -> str:
        """Return the end of standard error, cleaned."""
        return clean(self._errors.end(_STDERR_TAIL).decode("utf-8", "replace"))

    def side_text(self) -> str:
        """Return the end of the side file, or nothing if the agent wrote none."""
        if not self._side_file:
            return ""
        try:
            with TailedFile(Path(self._side_file)) as side:
                return side.end(_SIDE_LIMIT).decode("utf-8", "replace")
        except OSError:
            return ""


class AgentHost:
    """The runner's connection to the supervisor."""

    def __init__(
        self,
        supervision: Supervision,
        *,
        directory: Path,
        logs: Path,
        environment: Mapping[str, str],
        isolated: bool = False,
        sandbox: "Sandbox | None" = None,
    ) -> None:
        self._supervisor, self._line, self._group = supervision
        self._directory = directory
        self._logs = logs
        self._isolated = isolated and sandbox is None  # a sandbox has a pid namespace of its own
        self._sandbox = sandbox
        self._environment = dict(environment)
        self._decode = decoder_of(Report)
        self._inbox = b""
        self._lost = False
        self._report: asyncio.Queue[Report | None] = asyncio.Queue()
        self._agent: AgentProcess | None = None
        self._wake: Callable[[], None] = lambda: None
        self._notifier = Notifier()
        self._line.setblocking(False)
        asyncio.get_running_loop().add_reader(self._line, self._read_reports)
        if self._notifier.descriptor is not None:
            asyncio.get_running_loop().add_reader(self._notifier.descriptor, self._on_output)

    def close(self) -> None:
        """Close the connection; the supervisor then ends every agent and exits."""
        asyncio.get_running_loop().remove_reader(self._line)
        self._line.close()
        if self._notifier.descriptor is not None:
            asyncio.get_running_loop().remove_reader(self._notifier.descriptor)
            self._notifier.close()

    def log_path(self, iteration: int) -> str:
        """Return the path of an iteration's output."""
        return str(self._log(iteration, "out"))

    def prompt_path(self, iteration: int) -> str:
        """Return the path of an iteration's prompt."""
        return str(self._log(iteration, "prompt.md"))

    def side_path(self, iteration: int) -> str:
        """Return the path of an iteration's side file, for data that the agent does not print."""
        return str(self._log(iteration, "side"))

    def pause(self, *, on: bool) -> None:
        """Pause or resume the agent and its descendants."""
        if self._agent is not None and not self._agent.exited:
            self._send(AgentOrder("pause" if on else "resume"))

    @asynccontextmanager
    async def start(
        self, invocation: Invocation, *, iteration: int, prompt: str, memory_limit: int = 0, wake: Callable[[], None]
    ) -> AsyncIterator[AgentProcess]:
        """Start an agent, and end it when the context exits."""
        make_folder(self._logs)
        prompt_file = self._new_file(iteration, "prompt.md", prompt.encode("utf-8", "surrogateescape"))
        output = self._new_file(iteration, "out", b"")
        errors = self._new_file(iteration, "err", b"")
        if invocation.side_file:
            Path(invocation.side_file).unlink(missing_ok=True)
            if self._sandbox is not None:
                self._new_file(iteration, "side", b"")  # a file that is not there cannot be let through the sandbox
        stdin = prompt_file if invocation.stdin is Stdin.PROMPT else Path(os.devnull)
        side = [Path(invocation.side_file)] if invocation.side_file else []
        spawn = self._spawn(
            invocation.argv,
            {**invocation.env, "SPOOL_ITERATION": str(iteration)},
            self._directory,
            (stdin, output, errors),
            read=[prompt_file],
            write=side,
        )
        spawn.memory_limit, spawn.isolated = memory_limit, self._isolated
        async with self._running(spawn, output, errors, wake, side_file=invocation.side_file) as agent:
            yield agent

    @asynccontextmanager
    async def start_check(
        self,
        argv: Sequence[str],
        *,
        directory: Path,
        log: Path,
        env: Mapping[str, str],
        scratch: Path,
        wake: Callable[[], None],
    ) -> AsyncIterator[AgentProcess]:
        """Start a gate's command, with all output in one log, and end it when the context exits."""
        make_folder(log.parent)
        with naming(log), opened(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC):
            pass
        spawn = self._spawn(argv, env, directory, (Path(os.devnull), log, log), read=[_REPORTERS], write=[scratch])
        async with self._running(spawn, log, log, wake) as check:
            yield check

    def _spawn(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        directory: Path,
        streams: tuple[Path, Path, Path],
        *,
        read: Sequence[Path],
        write: Sequence[Path],
    ) -> Spawn:
        """Return the request to start a command, inside the sandbox if there is one."""
        added: Mapping[str, str] = {**self._environment, **env}
        if self._sandbox is not None:
            argv, added = self._sandbox.wrap(argv, added, directory=directory, read=read, write=write)
        stdin, stdout, stderr = map(os.fsencode, streams)
        return Spawn(
            argv=tuple(map(os.fsencode, argv)),
            env=tuple((os.fsencode(name), os.fsencode(value)) for name, value in added.items()),
            directory=os.fsencode(directory),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            sandboxed=self._sandbox is not None,
        )

    @asynccontextmanager
    async def _running(
        self, spawn: Spawn, output: Path, errors: Path, wake: Callable[[], None], *, side_file: str = ""
    ) -> AsyncIterator[AgentProcess]:
        self._wake = wake
        with TailedFile(output) as out, TailedFile(errors) as err, self._notifier.watching(output, errors):
            meter = MemoryMeter(self._supervisor, spawn.memory_limit, self._group)
            agent = self._agent = AgentProcess(out, err, self._send, meter, side_file=side_file)
            self._send(spawn)
            await self._started(os.fsdecode(spawn.argv[0]))
            try:
                yield agent
            finally:
                await self._ended(agent)
            if self._lost:
                raise _supervisor_lost()

    async def _ended(self, agent: AgentProcess) -> None:
        """Kill an agent that is still running; raise if it survives for 10 s, so that the run does not hang."""
        give_up_at = time.monotonic() + _KILL_S
        while not agent.exited:
            agent.kill()
            await asyncio.sleep(0.01)
            if time.monotonic() > give_up_at:
                raise AgentHostError("cannot kill the agent", hint="it may run as another user")

    def _on_output(self) -> None:
        self._notifier.drain()
        self._wake()

    async def _started(self, program: str) -> None:
        match await self._report.get():
            case Started():
                return
            case AgentNotStarted(message=message):
                raise AgentHostError(f"cannot start {program}: {message}")
            case _:
                raise _supervisor_lost()

    def _read_reports(self) -> None:
        try:
            data = self._line.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._adopt()
            return
        *reports, self._inbox = (self._inbox + data).split(b"\n")
        for line in reports:
            report = self._decode.decode(line)
            if isinstance(report, AgentEnded):
                self._mark_ended(report.exit_code, report.left)
            else:
                self._report.put_nowait(report)

    def _adopt(self) -> None:
        """End the children of a killed supervisor, which this process has inherited."""
        self._lost = True
        asyncio.get_running_loop().remove_reader(self._line)
        self._mark_ended(None, end_descendants(os.getpid(), self._group))
        self._report.put_nowait(None)

    def _mark_ended(self, exit_code: int | None, left: tuple[int, ...]) -> None:
        if self._agent is not None and not self._agent.exited:
            self._agent.exit_code = exit_code
            self._agent.left = left
            self._agent.exited = True
        self._wake()

    def _send(self, request: Spawn | AgentOrder) -> None:
        if self._lost:
            self._report.put_nowait(None)
            return
        os.kill(self._supervisor, signal.SIGCONT)  # it may be stopped; until it is lost, the pid is our child's
        # A request is far smaller than the socket's buffer, so this does not block.
        self._line.setblocking(True)
        try:
            self._line.sendall(msgspec.json.encode(request) + b"\n")
        except OSError:
            self._adopt()
        finally:
            self._line.setblocking(False)

    def _log(self, iteration: int, suffix: str) -> Path:
        return self._logs / f"{iteration:04d}.{suffix}"

    def _new_file(self, iteration: int, suffix: str, data: bytes) -> Path:
        path = self._log(iteration, suffix)
        with naming(path), opened(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as descriptor:
            write_all(descriptor, data)
        return path


def _supervisor_lost() -> AgentHostError:
    return AgentHostError("the agent supervisor was killed", hint="run the same command to continue")
