"""Finds or makes the workspace in which a loop is to work, before its runner starts."""

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from spool.app.starting.construction import find_harness, require_file
from spool.app.starting.loop_workspace import NOBODY, no_clone, sandbox_of
from spool.domain.change.checkout import Checkout
from spool.domain.change.workspaces import Kind, Workspace, branch_of_change
from spool.domain.loop.settings import Settings
from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.summary import LoopKind
from spool.domain.text.plain_text import counted, one_line
from spool.errors import BranchMoved, CommandFailed, Hint, NoWorktree, UsageError
from spool.host.external_command import run_command
from spool.host.git.checkouts import (
    bring_along,
    copy_untracked,
    existing_branch,
    find_checkout,
    lacking,
    make_checkout,
    set_up,
)
from spool.host.git.checkpoints.pace import Pace, paced
from spool.host.git.checkpoints.worktree_identity import WorktreeIdentity
from spool.host.git.repository import NoRepository, Repository, find_repository, head_of, run_git
from spool.host.git.workspaces.clones import CloneRecipe, home_of, make_clone, mark_ready, read_record, workspace_of
from spool.host.git.workspaces.delivery import Branches
from spool.host.git.workspaces.transport import CLONE_S
from spool.sources.project import project_at


def place(
    spec: LoopSpec,
    asked: Kind | None,
    *,
    base: str = "",
    pace: Pace = lambda *_: None,
    note: Callable[[str], object] = lambda _: None,
) -> LoopSpec:
    """Return a spec for a workspace of this kind, which is made if there is none.

    Without a kind it is the tree one stands in or, for a sandbox, a clone.

    `base` is the commit from which new work starts, HEAD by default. Commits are implied: the work ends on a branch.
    `pace` hears how far a clone is, and `note` what a person should know of the workspace.
    """
    kind = asked or (Kind.CLONE if spec.sandbox_rules else Kind.HERE)
    if spec.sandbox_rules is not None and kind is not Kind.CLONE:
        raise no_clone()
    if kind is Kind.HERE:
        return spec
    require_file(find_harness(spec.settings), Path(spec.root))  # a missing agent is noticed before anything is made
    with paced(pace):
        workspace = asyncio.run(_Making(spec, note).make(kind, base))
    return msgspec.structs.replace(spec, workspace=workspace, settings=committing(spec.settings, spec.door))


def committing(settings: Settings, door: LoopKind) -> Settings:
    """Return settings with which a loop commits its work: story by story, or each iteration."""
    if door is LoopKind.RUN:
        return msgspec.structs.replace(settings, commit_stories=True)
    return msgspec.structs.replace(settings, auto_commit=True)


def notes_of_new(kind: Kind, path: Path, branch: str, *, main: Path, copied: Sequence[Path] = ()) -> list[str]:
    """Return what a person should know of a workspace that was just made and set up."""
    notes = [f"Created {kind} {path} on branch {branch}."]
    notes += [f"Copied {folder}, which is not committed." for folder in copied]
    if names := lacking(main, path):
        ways = "worktree_setup makes them, .worktreeinclude copies them, share lends them to a check"
        notes.append(f"Missing in the {kind}: {', '.join(names)}; {ways}.")
    return notes


class _Making:
    """Makes the workspace of one loop."""

    def __init__(self, spec: LoopSpec, note: Callable[[str], object]) -> None:
        self._spec = spec
        self._root = Path(spec.root)
        self._timeout_s = spec.settings.command_timeout
        self._say = note

    async def make(self, kind: Kind, base: str) -> Workspace:
        """Return the workspace."""
        repository = await find_repository(self._root, timeout_s=self._timeout_s)
        if isinstance(repository, NoRepository):
            raise UsageError(f"a {kind} needs a git repository: {repository.why}", hint="install git, or run: git init")
        head = await head_of(repository, timeout_s=self._timeout_s)
        if not head:
            raise UsageError(f"a {kind} needs a commit to start from", hint="commit something first: git commit")
        await self._require_branch_name(repository)
        make = self._clone if kind is Kind.CLONE else self._worktree
        return await make(repository, base or head)

    async def _worktree(self, repository: Repository, base: str) -> Workspace:
        change, inside = self._spec.change, self._inside(repository)
        try:
            checkout = find_checkout(change, here=self._root)
            self._refuse_main(checkout)
        except NoWorktree:
            checkout = self._new_worktree(repository, base)
        if not (Path(checkout.path) / inside / self._change).exists():  # a killed maker had not got as far
            for folder in self._folders():
                bring_along(folder, Path(checkout.path), newer=False)
        found = await find_repository(Path(checkout.path), timeout_s=self._timeout_s)
        if isinstance(found, NoRepository):
            raise UsageError(f"{checkout.path} cannot be used: {found.why}")
        return Workspace(
            kind=Kind.WORKTREE,
            id=WorktreeIdentity(found).key,
            path=str(Path(checkout.path).resolve()),
            inside=inside,
            repository=str(repository.common_dir),
            branch=checkout.branch or branch_of_change(change),
            base=await head_of(found, timeout_s=self._timeout_s),
        )

    def _new_worktree(self, repository: Repository, base: str) -> Checkout:
        settings = self._spec.settings
        checkout, copied = make_checkout(
            self._spec.change,
            here=self._root,
            copy=settings.worktree_copy,
            setup=settings.worktree_setup,
            folders=self._folders(),
            base=base,
        )
        branch, path = checkout.branch or "", Path(checkout.path)
        for note in notes_of_new(Kind.WORKTREE, path, branch, main=repository.main, copied=copied):
            self._say(note)
        return checkout

    def _refuse_main(self, checkout: Checkout) -> None:
        if checkout.is_main:
            raise UsageError(f"{checkout.branch} is checked out in {checkout.path}", hint=Hint.WORK_HERE)

    async def _clone(self, repository: Repository, base: str) -> Workspace:
        change, home = self._spec.change, home_of(repository, self._spec.change)
        branches = Branches(repository.common_dir, timeout_s=self._timeout_s)
        clone = read_record(home)
        try:
            if clone is None:
                branch = existing_branch(change, repository.top) or branch_of_change(change)
                await branches.require_free(branch)
                left = await branches.commit_of(f"refs/heads/{branch}")
                folders = tuple(str(folder) for folder in self._folders())
                plan = CloneRecipe(
                    change=change,
                    branch=branch,
                    base=left or base,
                    left=left,
                    also=self._spec.errand.onto if self._spec.errand else "",
                    sandboxed=self._spec.sandbox_rules is not None,
                    folders=folders,
                )
                clone = await make_clone(repository, plan, timeout_s=self._timeout_s)
            else:
                self._require_same_sandbox(home / clone.folder, sandboxed=clone.sandboxed)
                await branches.require_unmoved(change, clone.branch)
        except BranchMoved as error:
            hint = Hint.REMOVE_WORKSPACE if clone is not None and error.moved else error.hint
            raise UsageError(str(error), hint=hint) from None
        workspace = workspace_of(home, clone, self._inside(repository))
        if not clone.ready:
            if not clone.sandboxed:  # an agent in a sandbox gets no .env
                copy_untracked(repository.main, home / clone.folder, self._spec.settings.worktree_copy)
            await self._set_up_clone(workspace)
            mark_ready(home, clone)
            for note in notes_of_new(Kind.CLONE, home / clone.folder, clone.branch, main=repository.main):
                self._say(note)
            await self._note_uncommitted(repository)
        return workspace

    async def _set_up_clone(self, workspace: Workspace) -> None:
        """Run the setup command in a clone, sandboxed as agents are: they may have written what it runs."""
        command, top = self._spec.settings.worktree_setup, Path(workspace.path)
        if not command:
            return
        sandbox = sandbox_of(msgspec.structs.replace(self._spec, workspace=workspace), NOBODY)
        if sandbox is None:
            set_up(command, top)
            return
        argv, env = sandbox.wrap(("/bin/sh", "-c", command), {}, directory=top)
        done = await run_command(argv, directory=top, timeout_s=CLONE_S, env=env)
        if done.exit_code:
            said = one_line((done.errors or done.output).decode("utf-8", "replace")[-1_000:], 300)
            raise CommandFailed(f"the setup command exited with code {done.exit_code} in the sandbox: {said}")

    def _require_same_sandbox(self, path: Path, *, sandboxed: bool) -> None:
        """Raise if sandboxed and other agents would share a clone, each trusting what the others left."""
        if sandboxed != (self._spec.sandbox_rules is not None):
            how = "in a sandbox" if sandboxed else "without a sandbox"
            raise UsageError(f"the work in {path} began {how}", hint=Hint.SAME_SANDBOX)

    async def _note_uncommitted(self, repository: Repository) -> None:
        words = ("status", "--porcelain", "-z", "--no-renames", "--", ".", *self._excluded(repository))
        dirty = await run_git(repository, *words, timeout_s=self._timeout_s)
        if files := [one for one in dirty.text.split("\0") if one]:
            self._say(f"Not in the clone: {counted(len(files), 'uncommitted file')} of {repository.top}.")

    def _excluded(self, repository: Repository) -> list[str]:
        own = [os.path.relpath(folder, repository.top) for folder in self._folders()]
        return [f":(exclude,top,literal){path}" for path in (".spool/.state", *own)]

    async def _require_branch_name(self, repository: Repository) -> None:
        branch = branch_of_change(self._spec.change)
        if (await run_git(repository, "check-ref-format", "--branch", branch, timeout_s=self._timeout_s)).exit_code:
            raise UsageError(
                f"'{self._spec.change}' cannot name a branch: git refuses {branch}", hint="rename the change"
            )

    def _inside(self, repository: Repository) -> str:
        inside = os.path.relpath(self._root, repository.top)
        if inside.startswith(".."):
            raise CommandFailed(f"{self._root} is not in {repository.top}")
        return "" if inside == "." else inside

    @property
    def _change(self) -> str:
        """The path of the change's folder, or of its plan file."""
        read = project_at(self._root).read(self._spec.change)
        return read.plan_file or read.directory

    def _folders(self) -> list[Path]:
        return project_at(self._root).paths_of(self._spec.change)
