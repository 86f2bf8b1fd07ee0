"""Words what to do next: lower layers carry a typed hint, and here it becomes a flag or a command."""

from spool.errors import Hint, LockedError, NoWorktree, SpoolError

_WORDS = {
    Hint.ALLOW_ALL: "run with --allow-all, or allow the tools in the agent's own settings",
    Hint.COMMAND_TIMEOUT: "--command-timeout sets the limit",
    Hint.MODEL: "check the name of the model (--model), and whether your account may use it",
    Hint.LIST_LOOPS: "spool ps --all lists them",
    Hint.NAME_WORKTREE_LOOP: "name its change; wt-loop list --all lists them",
    Hint.START_WORKTREE_LOOP: "wt-loop start begins one",
    Hint.CHOOSE_PATH: "choose one with --path DIR",
}


def worded(hint: str) -> str:
    """Return a hint as a person reads it; one that is words already stays as it is."""
    return _WORDS.get(hint, hint)  # type: ignore[call-overload,no-any-return]


def next_step(error: SpoolError) -> str:
    """Return what to do about an error, if anything is known."""
    match error:
        case LockedError(door="wt-loop"):
            return f"watch it with: wt-loop attach {error.change}, stop it with: wt-loop stop {error.change}"
        case LockedError(change=change) if change:
            return f"watch it with: spool {error.door} --status --change {change}"
        case NoWorktree():
            return f"--create makes one; by hand, {error.hint}"
        case _:
            return worded(error.hint)
