"""The ways in which Spool cannot continue. A failing agent is an outcome, never one of these."""

import threading
from enum import StrEnum
from typing import Any


class Hint(StrEnum):
    """A remedy for a person, which only the front door can word."""

    ALLOW_ALL = "allow_all"
    COMMAND_TIMEOUT = "command_timeout"
    MODEL = "model"
    FRESH_AGENT = "fresh_agent"
    RUN_AGENT = "run_agent"
    INCLUDE_DIRTY = "include_dirty"
    LIST_LOOPS = "list_loops"
    OTHER_PROJECT = "other_project"
    NO_CRITERION = "no_criterion"
    NAME_WORKTREE_LOOP = "name_worktree_loop"
    START_WORKTREE_LOOP = "start_worktree_loop"
    CHOOSE_PATH = "choose_path"
    OWN_SETTINGS = "own_settings"
    PRICES = "prices"
    LIMIT_TIME = "limit_time"
    GATES = "gates"
    OPEN_BOX = "open_box"
    SANDBOX = "sandbox"
    SAME_SANDBOX = "same_sandbox"
    ADD_GATE = "add_gate"
    ALLOW_EMPTY = "allow_empty"
    NAME_CHANGE = "name_change"
    NO_CHANGES = "no_changes"
    TRUST = "trust"
    UNDO = "undo"
    TICK = "tick"
    CLONES = "clones"
    CLAUDE_AS_ROOT = "claude_as_root"
    WORK_HERE = "work_here"
    REMOVE_WORKSPACE = "remove_workspace"
    NAME_WORKSPACE = "name_workspace"
    NAME_DEPENDENCY = "name_dependency"
    CLEAN_TREE = "clean_tree"
    NAME_TARGET = "name_target"
    FREE_PORT = "free_port"
    OLD_FAILURES = "old_failures"
    KNOWN_FAILURES = "known_failures"
    ACCEPT = "accept"
    ACCEPT_OR_KNOWN = "accept_or_known"
    FLEET_UP = "fleet_up"
    FLEET_REMOTE = "fleet_remote"
    FLEET_SNAPSHOTS = "fleet_snapshots"
    FLEET_RETRY = "fleet_retry"
    FLEET_UNREADABLE = "fleet_unreadable"
    FLEET_LIST = "fleet_list"
    FLEET_DONE = "fleet_done"
    FLEET_DEPENDS = "fleet_depends"
    FLEET_AGENT = "fleet_agent"


class SpoolError(Exception):
    """Spool cannot do what it was asked; `hint` says what to do next."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    @property
    def advice(self) -> str:
        """The message, with a hint that needs no front door to word it."""
        return f"{self}; {self.hint}" if self.hint and not isinstance(self.hint, Hint) else str(self)


class UsageError(SpoolError):
    """The command line or a setting asks for something that cannot be meant."""

    exit_code = 2


class NotInstalled(UsageError):
    """An agent's program is not there; `others` are the agents that are."""

    def __init__(self, message: str, *, hint: str = "", others: tuple[str, ...] = ()) -> None:
        super().__init__(message, hint=hint)
        self.others = others


class Untrusted(UsageError):
    """A repository's settings would run programs or widen permissions, and the person has not trusted them."""

    def __init__(self, message: str, *, hint: str = "", values: dict[str, Any]) -> None:
        super().__init__(message, hint=hint)
        self.values = values


class ChangeError(UsageError):
    """A change cannot be read: half-planned, or moved away by the agent that works on it."""


class NoWorktree(UsageError):
    """A change has no worktree."""


class WorksElsewhere(UsageError):
    """A loop that is not done works in another workspace."""

    def __init__(self, message: str, *, hint: str = "", kind: str) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind


class StateError(SpoolError):
    """Loop state on disk cannot be read or written."""


class RemovedTree(StateError):
    """The directory in which a loop works was removed; it is not recreated."""


class UnreadableState(StateError):
    """Loop state on disk is damaged. It is set aside for a person to look at, never replaced by defaults."""


class LockedError(SpoolError):
    """Another loop is already running on this change or in this working tree."""

    def __init__(self, message: str, *, hint: str = "", door: str = "", change: str = "", run_id: str = "") -> None:
        super().__init__(message, hint=hint)
        self.door = door
        self.change = change
        self.run_id = run_id


class FencedOff(SpoolError):
    """Another host works on the change: no agent may start here."""

    exit_code = 75


class InternalError(SpoolError):
    """A bug in Spool. The crash file has the details."""


class CommandError(SpoolError):
    """An external command, git for example, failed. The loop counts that as a failed attempt."""


class CommandTimeout(CommandError):
    """An external command timed out."""


class NotEnoughMemory(SpoolError):
    """The system gives no more memory, or no more threads."""


class CommandFailed(CommandError):
    """An external command exited with an error; `said` is all that it printed there."""

    def __init__(self, message: str, *, hint: str = "", said: str = "") -> None:
        super().__init__(message, hint=hint)
        self.said = said


class HookRefused(CommandFailed):
    """A hook of the user's refused a commit."""


class BranchMoved(CommandError):
    """A branch is not where Spool left it, or is checked out: it is the person's, and is not moved."""

    def __init__(self, message: str, *, hint: str = "", moved: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.moved = moved


class CommandNotRun(CommandError):
    """An external command could not be started."""


class AgentHostError(SpoolError):
    """The agents' supervisor is gone, or cannot start an agent."""


class CheckpointError(SpoolError):
    """A checkpoint or a discarded attempt is not there, or cannot be brought back."""


class ResultsError(SpoolError):
    """A runner's test results are refused: too large, or XML that declares entities."""


def is_starved(error: BaseException) -> bool:
    """Whether there is no memory left, or none for a new thread, for which Python has no type of its own."""
    if isinstance(error, MemoryError):
        return True
    step = error.__traceback__ if isinstance(error, RuntimeError) else None
    while step is not None and step.tb_frame.f_code is not threading.Thread.start.__code__:
        step = step.tb_next
    return step is not None
