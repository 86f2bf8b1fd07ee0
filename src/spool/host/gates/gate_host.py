"""Runs a gate's command like an agent: supervised, its output in a file with a cap, its descendants swept."""

import asyncio
import itertools
import os
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.domain.judging.gates.command_words import named_files
from spool.domain.judging.gates.deciding_files import is_cache
from spool.domain.judging.gates.findings import last_lines
from spool.domain.judging.gates.gate import GatePurpose, GateRun, GateSpec
from spool.domain.text.plain_text import one_line
from spool.engine.gates.proof import PatchedTree
from spool.errors import AgentHostError
from spool.host.agents.agent_host import AgentHost
from spool.host.gates.gate_memory import GateMemory
from spool.host.gates.recorded_trees import RecordedTrees
from spool.host.gates.result_files import GateResults
from spool.host.state.files import end_of

_TICK_S = 0.25
_OUTPUT_LIMIT_MB = 1_024
_TAIL_READ = 1 << 16
_NOT_RUN = (126, 127)
"""The shell's exit codes for a command that cannot be executed, or found."""
_MODULE = re.compile(r"(?:^|\s)-m\s+([\w.]+)")
_NO_SCRIPT = re.compile(
    r"""(?:can(?:no|')t\ open(?:\ file|\ perl\ script)?|Cannot\ find\ module|No\ such\ file\ or\ directory\ --)
    \ ["']?([^"'\n:(]+)""",
    re.VERBOSE | re.IGNORECASE,
)
"""The errors of sh, Python, Perl, Node.js and Ruby for a missing script."""


class GateHost:
    """Implements the engine's `Checks`."""

    def __init__(
        self,
        agents: AgentHost,
        trees: RecordedTrees | None,
        memory: GateMemory,
        *,
        directory: Path,
        logs: Path,
        output_limit_mb: int,
    ) -> None:
        self._agents = agents
        self._trees = trees
        self._directory = directory
        self._logs = logs
        self._limit_mb = min(output_limit_mb or _OUTPUT_LIMIT_MB, _OUTPUT_LIMIT_MB)
        self._numbers = itertools.count(len(list(logs.glob("gate-*.log"))) + 1)
        self._memory = memory
        self._lent: tuple[str, ...] = ()
        self.recall = memory.recall
        self.remember = memory.remember
        self.expected_s = memory.expected_s

    @property
    def home(self) -> str:
        """The folder that gates run in, from the top of the repository, with a slash at its end; empty at the top."""
        top = self._trees.top if self._trees else self._directory
        inside = os.path.relpath(os.path.realpath(self._directory), os.path.realpath(top))
        return "" if inside == "." or inside.startswith("..") else f"{inside}/"

    async def mentions(self, tree: str, words: Sequence[str]) -> dict[str, frozenset[str]]:
        """Return, for each of some words, the files of a tree in which it stands by itself."""
        return await self._trees.mentions(tree, words) if self._trees and tree else {}

    async def tree(self) -> str:
        """Record the working tree and return its name; empty without git."""
        return await self._trees.record() if self._trees else ""

    async def keep(self, tree: str) -> bool:
        """Protect a recorded tree; return whether it exists."""
        return await self._trees.keep(tree) if self._trees and tree else False

    async def changes(self, before: str, after: str) -> dict[str, str]:
        """Return the paths that differ between two trees."""
        return await self._trees.changes(before, after) if self._trees else {}

    async def note_ignored(self, tree: str) -> None:
        """Remember which ignored files there are beside a tree."""
        if self._trees and tree:
            self._memory.note_ignored(tree, self._trees.ignored())

    async def uncommitted(self, tree: str) -> tuple[str, ...]:
        """Return the files that differ between HEAD and a recorded tree."""
        return await self._trees.uncommitted(tree) if self._trees and tree else ()

    async def newly_ignored(self, tree: str) -> tuple[str, ...]:
        """Return the ignored files that are new, or differ, since they were noted for a tree."""
        if self._trees is None:
            return ()
        now, before = self._trees.ignored(), self._memory.ignored(tree)
        new = tuple(name for name, stamp in now.items() if before is not None and before.get(name) != stamp)
        files = (name for name in now if name not in new and not name.endswith("/") and not is_cache(name))
        self._lent = tuple(files)  # what a build wrote before the first agent
        return new

    async def overlaid(self, tree: PatchedTree) -> str:
        """Record a tree with some of its paths as they are in another one."""
        return await self._trees.overlaid(tree) if self._trees else ""

    async def run(self, gate: GateSpec, purpose: GatePurpose, tree: PatchedTree | None) -> GateRun:
        """Run a gate in the working tree, or in a fresh checkout of a recorded one."""
        if tree is None or self._trees is None:
            return await self._in_place(gate, purpose)
        async with self._trees.checkout(tree, gate.share, self._lent) as folder:
            inside = folder / self._directory.relative_to(self._trees.top)
            env = {"PYTHONPATH": _python_path(inside)}
            if gate.setup:
                ready = await self._run(gate, gate.setup, f"{purpose}-setup", inside, env)
                if ready.exit_code != 0:
                    return ready
            return await self._run(gate, gate.run, purpose, inside, env)

    async def _in_place(self, gate: GateSpec, purpose: GatePurpose) -> GateRun:
        before = await self.tree()
        if self._trees:
            await self._trees.drop_compiled()
        run = await self._run(gate, gate.run, purpose, self._directory, {})
        if self._trees is None:
            return run
        touched = [path for path, how in (await self.changes(before, await self.tree())).items() if how != "A"]
        return run if not touched else msgspec.structs.replace(run, changed=await self._trees.tracked(touched))

    async def _run(self, gate: GateSpec, command: str, purpose: str, folder: Path, env: Mapping[str, str]) -> GateRun:
        name = re.sub(r"[^\w.-]+", "-", gate.name)[:40]
        log = self._logs / f"gate-{next(self._numbers):04d}-{name}-{purpose}.log"
        report = GateResults(gate, folder)
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="spool-results-") as scratch:
            added = {**env, **report.environment(scratch, {**os.environ, **env}), "SPOOL_GATE": gate.name}
            try:
                code, ended = await self._wait(command, folder, log, added, Path(scratch), gate.timeout)
            except AgentHostError as error:
                return GateRun(trouble=str(error), log=str(log))
            results = await asyncio.to_thread(report.read, scratch, log)
        tail = last_lines(end_of(log, _TAIL_READ).decode("utf-8", "replace"))
        return GateRun(
            exit_code=code,
            trouble=_trouble(command, code, tail),
            ended=ended,
            duration_s=time.monotonic() - started,
            log=str(log),
            tail=tail,
            results=results,
        )

    async def _wait(
        self, command: str, folder: Path, log: Path, env: Mapping[str, str], scratch: Path, timeout_s: float
    ) -> tuple[int | None, str]:
        """Return the exit code; None, and why, if the command was ended for its time or its output."""
        wake = asyncio.Event()
        ended = ""
        give_up_at = time.monotonic() + timeout_s if timeout_s else float("inf")
        argv = ("/bin/sh", "-c", command)  # the user's command line, verbatim
        async with self._agents.start_check(
            argv, directory=folder, log=log, env=env, scratch=scratch, wake=wake.set
        ) as process:
            while not process.exited:
                wake.clear()
                if time.monotonic() >= give_up_at:
                    ended = ended or f"timed out after {timeout_s:g} s"
                elif log.stat().st_size > self._limit_mb << 20:
                    ended = ended or f"printed more than {self._limit_mb} MiB"
                if ended:
                    process.kill()
                with suppress(TimeoutError):
                    await asyncio.wait_for(wake.wait(), _TICK_S)
            return (None, ended) if ended else (process.exit_code, "")


def _python_path(folder: Path) -> str:
    """Return where Python finds the checkout's own modules before those of an editable install."""
    own = [str(path) for path in (folder / "src", folder) if path.is_dir()]
    return ":".join([*own, *filter(None, [os.environ.get("PYTHONPATH", "")])])


def _trouble(command: str, code: int | None, tail: str) -> str:
    """Return why a command could not be started; empty if it was."""
    last = one_line(tail.rpartition("\n")[2], 200)
    if code in _NOT_RUN:
        return last or "command not found"
    module = _MODULE.search(command)
    missing = f"No module named {module[1]}" if module else ""
    if code and missing and missing in last.replace("'", ""):
        return missing
    # An agent that writes the script would decide about itself.
    absent = {Path(found[1].strip()).name for found in _NO_SCRIPT.finditer(tail)} if code else set()
    names = sorted(name for name in named_files(command) if Path(name).name in absent)
    return f"{names[0]} does not exist" if names else ""
