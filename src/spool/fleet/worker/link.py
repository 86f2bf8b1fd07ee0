"""The connection of a runner and its worker: one request before each agent, and one at the end."""

import asyncio
import socket

import msgspec

from spool.decoders import decoded
from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.state import LoopState
from spool.engine.ports import Deliver, StartGate
from spool.errors import CommandFailed, FencedOff
from spool.fleet.snapshots.tree_commits import TreeCommits
from spool.host.clock import SystemClock
from spool.host.git.checkpoints.checkpoints import Checkpoints
from spool.host.git.repository import Repository
from spool.host.git.working_tree import GitWorktree

LINE_BYTES = 1 << 20


class RunnerRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A runner's request: the current tree, before an agent (`admits`) or at the end."""

    admits: bool
    commit: str
    place: str
    """The folder with the commit, in Spool's data beside the clone."""


class WorkerAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The worker's answer."""

    accepted: bool
    why: str = ""


class WorkerLink:
    """Asks the worker; the admission of a loop in a fleet."""

    waits = False

    def __init__(self, line: socket.socket, spec: LoopSpec, repository: Repository, worktree: GitWorktree) -> None:
        timeout_s = spec.settings.command_timeout
        self._line = line
        self._worktree = worktree
        self._commits = TreeCommits(repository, worktree.recorder, timeout_s=timeout_s)
        self._checkpoints = Checkpoints(repository, spec.change, now=SystemClock().now, timeout_s=timeout_s)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._compared: tuple[str, ...] = ()

    async def admit(self, state: LoopState) -> None:
        """Send the tree and the state to the remote, and return once they are there."""
        self._compared = tuple(tree for tree in (state.memory.base, state.memory.left) if tree)
        answer = await self._ask(admits=True, tree=self._worktree.marked_tree)  # the loop marks before each agent
        if not answer.accepted:
            raise FencedOff(answer.why)

    async def deliver(self) -> None:
        """Send the tree to the worker, before the run ends."""
        answer = await self._ask(admits=False)
        if not answer.accepted:
            raise CommandFailed(answer.why)

    async def _ask(self, *, admits: bool, tree: str = "") -> WorkerAnswer:
        commit = await self._commits.make(await self._checkpoints.current(), self._compared, tree=tree)
        if self._streams is None:
            self._streams = await asyncio.open_connection(sock=self._line, limit=LINE_BYTES)
        reader, writer = self._streams
        request = RunnerRequest(admits=admits, commit=commit, place=self._commits.place.name)
        writer.write(msgspec.json.encode(request) + b"\n")
        await writer.drain()
        line = await reader.readline()
        if not line:
            raise FencedOff("the worker is gone")
        return decoded(line, WorkerAnswer)


def tie(
    line: socket.socket, spec: LoopSpec, repository: Repository, worktree: GitWorktree
) -> tuple[StartGate, Deliver]:
    """Return what admits the agents of a loop, and what takes its work."""
    link = WorkerLink(line, spec, repository, worktree)
    return link, link.deliver
