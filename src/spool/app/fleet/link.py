"""The line between a runner and the worker that started it: one request before each agent, and one at the end."""

import asyncio
import socket

import msgspec

from spool.app.build import Parts
from spool.decoders import decoded
from spool.domain.spec import LoopSpec
from spool.domain.state import LoopState
from spool.engine.ports import Admission, Deliver
from spool.errors import CommandFailed, FencedOff
from spool.host.git.checkpoints.checkpoints import Checkpoints
from spool.host.git.fleet.trees import TreeCommits
from spool.host.git.repository import Repository
from spool.host.git.working_tree import GitWorktree

LINE_BYTES = 1 << 20


class Request(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a runner sends: the tree as it is, before an agent (`admits`) or at the end."""

    admits: bool
    commit: str
    place: str
    """The folder with the commit, in Spool's data beside the clone."""


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the worker answers."""

    accepted: bool
    why: str = ""


class WorkerLink:
    """Asks the worker; the admission of a loop in a fleet."""

    waits = False

    def __init__(self, line: socket.socket, spec: LoopSpec, parts: Parts) -> None:
        assert isinstance(parts.repository, Repository)  # noqa: S101 - a fleet's loop works in a clone
        assert isinstance(parts.worktree, GitWorktree)  # noqa: S101 - as above
        timeout_s = spec.settings.command_timeout
        self._line = line
        self._worktree = parts.worktree
        self._commits = TreeCommits(parts.repository, parts.worktree.recorder, timeout_s=timeout_s)
        self._checkpoints = Checkpoints(parts.repository, spec.change, now=parts.clock.now, timeout_s=timeout_s)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._compared: tuple[str, ...] = ()

    async def admit(self, state: LoopState) -> None:
        """Have the tree and the state taken to the remote, and return once they are there."""
        self._compared = tuple(tree for tree in (state.memory.base, state.memory.left) if tree)
        answer = await self._ask(admits=True, tree=self._worktree.marked_tree)  # the loop marks before each agent
        if not answer.accepted:
            raise FencedOff(answer.why)

    async def deliver(self) -> None:
        """Have the worker take the tree, before the run ends."""
        answer = await self._ask(admits=False)
        if not answer.accepted:
            raise CommandFailed(answer.why)

    async def _ask(self, *, admits: bool, tree: str = "") -> Answer:
        commit = await self._commits.make(await self._checkpoints.current(), self._compared, tree=tree)
        if self._streams is None:
            self._streams = await asyncio.open_connection(sock=self._line, limit=LINE_BYTES)
        reader, writer = self._streams
        request = Request(admits=admits, commit=commit, place=self._commits.place.name)
        writer.write(msgspec.json.encode(request) + b"\n")
        await writer.drain()
        line = await reader.readline()
        if not line:
            raise FencedOff("the worker is gone")
        return decoded(line, Answer)


def tie(line: socket.socket, spec: LoopSpec, parts: Parts) -> tuple[Admission, Deliver]:
    """Return what admits the agents of a loop, and what takes its work."""
    link = WorkerLink(line, spec, parts)
    return link, link.deliver
