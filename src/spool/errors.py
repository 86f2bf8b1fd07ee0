"""The ways in which Spool cannot go on. A failing agent is an outcome, never one of these."""


class SpoolError(Exception):
    """Something of ours went wrong; `hint` tells the person what to do next."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    @property
    def advice(self) -> str:
        """The message and the hint, where only one line can be shown."""
        return f"{self}; {self.hint}" if self.hint else str(self)


class UsageError(SpoolError):
    """The command line or a setting asks for something that cannot be meant."""

    exit_code = 2


class ChangeError(UsageError):
    """A change cannot be read: half-planned, or moved away by the agent that works on it."""


class StateError(SpoolError):
    """Loop state on disk cannot be read or written."""


class UnreadableState(StateError):
    """Loop state on disk is damaged. It is set aside for a person to look at, never replaced by defaults."""


class LockedError(SpoolError):
    """Another loop already runs on this change or in this working tree."""


class CommandError(SpoolError):
    """An external command such as git did not do what it was asked for. The loop counts that, and goes on."""


class CommandTimeout(CommandError):
    """An external command such as git did not answer in time."""


class CommandFailed(CommandError):
    """An external command such as git answered with an error."""


class CommandNotRun(CommandError):
    """An external command such as git could not be started at all."""


class AgentHostError(SpoolError):
    """The process that watches over agents is gone or cannot start one."""


class CheckpointError(SpoolError):
    """A checkpoint or a discarded attempt is not there, or cannot be brought back."""
