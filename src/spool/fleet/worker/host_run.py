"""One attempt on this host: its clone, its state folder, and their connection to the snapshots."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.app.starting.construction import new_run_id
from spool.app.starting.loop_workspace import sandbox_of
from spool.app.starting.workspace_start import committing
from spool.domain.loop.plan_memory import loop_in
from spool.domain.loop.spec import LoopSpec, Show
from spool.domain.loop.state import LoopState
from spool.domain.loop.verdict import ExitCode, Status
from spool.domain.text.plain_text import one_line
from spool.errors import CommandFailed, SpoolError
from spool.fleet.queue.payloads import QueuedChange
from spool.fleet.snapshots.carried_state import SPEC, CarriedState, restore, submitted_spec
from spool.fleet.snapshots.layout import lay_out
from spool.fleet.snapshots.snapshot_store import MADE, SnapshotStore, StoredSnapshot
from spool.fleet.snapshots.tree_commits import take_trees
from spool.fleet.values import SnapshotMark, ref_of, repository_id
from spool.fleet.worker.child_process import child_environment
from spool.fleet.worker.hosts import SPEC as HOST_SPEC
from spool.fleet.worker.hosts import Host
from spool.fleet.worker.link import RunnerRequest
from spool.fleet.worker.readiness import CannotRun
from spool.harness import registry
from spool.host.external_command import run_command
from spool.host.git.workspaces.clones import KEPT, workspace_of
from spool.host.git.workspaces.opening import git_sandbox
from spool.host.git.workspaces.transport import UPLOAD_PACK
from spool.host.state.files import replace_file
from spool.host.state.loop_store import StateFolder
from spool.host.state.records import exactly
from spool.host.state.run_registry import note_stop, stopped_by
from spool.nofollow import make_folder

_SETUP_S = 3_600.0
_STOPPED_BY = "spool fleet stop"


class HostRun:
    """The folder, the spec and the last snapshot of an attempt."""

    def __init__(
        self, home: Path, store: SnapshotStore, snapshot: StoredSnapshot, spec: LoopSpec, carried: CarriedState
    ) -> None:
        self.home = home
        self.spec = spec
        self.snapshot = snapshot
        self.taken_over = ""
        self.stopped = False
        self._store = store
        self._carried = carried
        self._taken = f"refs/spool/taken/{home.name}"
        self._tree_commit = snapshot.tree_commit
        self._unsure = ""
        """A snapshot whose push was cut short by a stop: it may have arrived."""

    async def hold(self) -> None:
        """Keep the tree that this attempt starts from; the first fetch begins there."""
        await self._store.keep(self._tree_commit, self._taken)

    async def release(self) -> None:
        """Release what only this attempt needed in the store."""
        change = self.snapshot.mark.change
        await self._store.forget(self._taken, ref_of(change), f"{MADE}{change}")

    def stop(self) -> None:
        """Write down that a person stops the run, for its runner to say; without it only the signal is known."""
        self.stopped = True
        note_stop(self.spec.run_id, _STOPPED_BY)

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
                return self.stopped or bool(stopped_by(state.run_id))
            case ExitCode.POSTPONED:
                return state.waiting_until is not None
            case ExitCode.FAILED:
                return state.status is not Status.STOPPED
            case _:
                return True

    async def take(self, request: RunnerRequest) -> None:
        """Fetch the tree commit of a request into the store."""
        workspace = self.spec.workspace
        assert workspace is not None  # noqa: S101 - a fleet's loop works in a clone
        shadow = self.home / KEPT / "shadow" / Path(request.place).name
        served_by = git_sandbox(workspace).serving() if workspace.sandboxed else UPLOAD_PACK
        clone = Path(workspace.path)
        await take_trees(clone, shadow, self._store.path, ref=self._taken, served_by=served_by)
        if await self._store.commit_at(self._taken) != request.commit:
            raise CommandFailed("the clone does not have the tree that its runner named")
        self._tree_commit = request.commit

    async def save(self, mark: SnapshotMark) -> StoredSnapshot:
        """Push a snapshot of what was taken last, with the loop's files as they are."""
        pieces = await asyncio.to_thread(self._carried.pieces)
        made = await self._store.write(self._tree_commit, pieces, mark)
        unsure, self._unsure = self._unsure, made.commit
        await self._store.push(made.commit, self.snapshot.commit, ref_of(mark.change), or_from=unsure)
        self.snapshot, self._unsure = made, ""
        return made


async def prepare_run(
    home: Path, store: SnapshotStore, snapshot: StoredSnapshot, host: Host, task: QueuedChange
) -> HostRun:
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
        state = loop_in(files["state.json"], LoopState)
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
    if (sandbox := sandbox_of(spec, traits)) is not None:
        argv, env = sandbox.wrap(argv, {}, directory=Path(spec.directory))
    done = await run_command(argv, directory=Path(spec.directory), timeout_s=_SETUP_S, env=env)
    if done.exit_code:
        said = one_line((done.errors or done.output).decode("utf-8", "replace")[-1_000:], 300)
        raise CannotRun(f"the setup command exited with code {done.exit_code}: {said}")
