"""What one attempt has on this host: a clone, a state folder, and the line from there to the snapshots."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.app.fleet.carried_state import SPEC, CarriedState, restore, submitted_spec
from spool.app.fleet.child_process import child_environment
from spool.app.fleet.hosts import SPEC as HOST_SPEC
from spool.app.fleet.hosts import Host
from spool.app.fleet.link import Request
from spool.app.fleet.payloads import Task
from spool.app.fleet.readiness import CannotRun
from spool.app.runner import new_run_id
from spool.app.workspace_start import committing
from spool.app.workspaces import enclosure_of
from spool.decoders import decoded
from spool.domain.fleet import Mark, ref_of, repository_id
from spool.domain.spec import LoopSpec, Show
from spool.domain.state import LoopState
from spool.domain.text import one_line
from spool.domain.verdict import ExitCode, Status
from spool.errors import CommandFailed, SpoolError, StateError
from spool.harness import registry
from spool.host.command import run_command
from spool.host.git.fleet.layout import lay_out
from spool.host.git.fleet.store import MADE, Snapshot, Store
from spool.host.git.fleet.trees import take_trees
from spool.host.git.workspaces.clones import KEPT, workspace_of
from spool.host.git.workspaces.opening import git_fence
from spool.host.git.workspaces.transport import UPLOAD_PACK
from spool.host.state.files import replace_file
from spool.host.state.records import exactly
from spool.host.state.registry import STOPPED_BY, this_machine
from spool.host.state.store import StateFolder
from spool.nofollow import make_folder

_SETUP_S = 3_600.0
_STOPPED_BY = b"spool fleet stop"


class HostRun:
    """The folder, the spec and the last snapshot of an attempt."""

    def __init__(self, home: Path, store: Store, snapshot: Snapshot, spec: LoopSpec, carried: CarriedState) -> None:
        self.home = home
        self.spec = spec
        self.snapshot = snapshot
        self.fenced = ""
        self.stopped = False
        self._store = store
        self._carried = carried
        self._taken = f"refs/spool/taken/{home.name}"
        self._tree_commit = snapshot.tree_commit
        self._unsure = ""
        """A snapshot whose push was cut short by a stop: it may have arrived."""

    async def hold(self) -> None:
        """Hold on to the tree that this attempt starts from; the first fetch begins there."""
        await self._store.keep(self._tree_commit, self._taken)

    async def release(self) -> None:
        """Let the store remove what only this attempt needed."""
        change = self.snapshot.mark.change
        await self._store.forget(self._taken, ref_of(change), f"{MADE}{change}")

    def stop(self) -> None:
        """Write down that a person stops the run, for its runner to say; without it only the signal is known."""
        self.stopped = True
        with suppress(OSError, StateError):
            replace_file(this_machine().beside(self.spec.run_id, STOPPED_BY), _STOPPED_BY)

    def state(self) -> LoopState | None:
        """Return the loop's state as it is on disk."""
        with suppress(SpoolError, OSError):
            return StateFolder(Path(self.spec.folder)).load()
        return None

    def has_ended(self, state: LoopState, code: int) -> bool:
        """Whether the run came to an end of its own, or by a person; else the change continues from its snapshot.

        A machine that shuts down ends all its processes, and a full disk ends a run: neither is the end of a change.
        """
        if state.run_id != self.spec.run_id or state.status is Status.RUNNING:
            return False
        match code:
            case ExitCode.INTERRUPTED:
                return self.stopped or this_machine().beside(state.run_id, STOPPED_BY).exists()
            case ExitCode.POSTPONED:
                return state.waiting_until is not None
            case ExitCode.FAILED:
                return state.status is not Status.STOPPED
            case _:
                return True

    async def take(self, request: Request) -> None:
        """Fetch the tree commit of a request into the store."""
        workspace = self.spec.workspace
        assert workspace is not None  # noqa: S101 - a fleet's loop works in a clone
        shadow = self.home / KEPT / "shadow" / Path(request.place).name
        served_by = git_fence(workspace).serving() if workspace.sandboxed else UPLOAD_PACK
        clone = Path(workspace.path)
        await take_trees(clone, shadow, self._store.path, ref=self._taken, served_by=served_by)
        if await self._store.commit_at(self._taken) != request.commit:
            raise CommandFailed("the clone does not have the tree that its runner named")
        self._tree_commit = request.commit

    async def save(self, mark: Mark) -> Snapshot:
        """Push a snapshot of what was taken last, with the loop's files as they are."""
        pieces = await asyncio.to_thread(self._carried.pieces)
        made = await self._store.write(self._tree_commit, pieces, mark)
        unsure, self._unsure = self._unsure, made.commit
        await self._store.push(made.commit, self.snapshot.commit, ref_of(mark.change), or_from=unsure)
        self.snapshot, self._unsure = made, ""
        return made


async def prepare_run(home: Path, store: Store, snapshot: Snapshot, host: Host, task: Task) -> HostRun:
    """Make the clone and the state folder of an attempt."""
    files, mark = await store.files(snapshot.commit), snapshot.mark
    submitted = submitted_spec(files)
    sandboxed = submitted.settings.sandbox or host.sandbox
    name = repository_id(task.remote).rpartition("-")[0]
    timeout_s = submitted.settings.command_timeout
    clone = await lay_out(home, store, snapshot, name=name, sandboxed=sandboxed, timeout_s=timeout_s)
    settings = msgspec.structs.replace(
        committing(submitted.settings, submitted.door),
        sandbox=sandboxed,
        resume_agent=submitted.settings.resume_agent and mark.epoch == 1,  # the conversation is on the first host
    )
    spec = msgspec.structs.replace(
        submitted,
        run_id=new_run_id(),
        root=str(home / repository_id(task.remote)),
        workspace=workspace_of(home, clone, mark.inside),
        settings=settings,
        show=Show.NOTHING,
        fresh=False,
        on_resume=_resuming(files),
    )
    make_folder(Path(spec.root))
    replace_file(home / HOST_SPEC, exactly(spec))
    restore(spec, files)
    await _set_up(host.setup or settings.worktree_setup, spec)
    carried = CarriedState(spec, files[SPEC], algorithm=store.object_format, logs=task.carry_logs)
    run = HostRun(home, store, snapshot, spec, carried)
    await run.hold()
    return run


def _resuming(files: Mapping[str, bytes]) -> str:
    """Return what to do with the tree: only agents work in it, so half an attempt is reverted.

    After a rate limit the same attempt continues, as it does in a run that waits by itself.
    """
    with suppress(KeyError, msgspec.MsgspecError):
        state = decoded(files["state.json"], LoopState)
        if state.status is Status.STOPPED and state.waiting_until is not None:
            return "keep"
    return "revert"


async def _set_up(command: str, spec: LoopSpec) -> None:
    """Run the setup command in a new clone as an agent would run it: agents may have written what it runs."""
    if not command:
        return
    argv: Sequence[str] = ("/bin/sh", "-c", command)
    env: Mapping[str, str] = child_environment(spec, os.environ)
    traits = registry.find(spec.settings.harness, spec.settings.harnesses).traits
    if (enclosure := enclosure_of(spec, traits)) is not None:
        argv, env = enclosure.enclose(argv, {}, directory=Path(spec.directory))
    done = await run_command(argv, directory=Path(spec.directory), timeout_s=_SETUP_S, env=env)
    if done.exit_code:
        said = one_line((done.errors or done.output).decode("utf-8", "replace")[-1_000:], 300)
        raise CannotRun(f"the setup command exited with code {done.exit_code}: {said}")
