"""Words the typed hints of lower layers as flags and commands."""

from spool.errors import Hint, LockedError, NotInstalled, NoWorktree, SpoolError, WorksElsewhere

_WORDS = {
    Hint.ALLOW_ALL: "run with --allow-all, or allow the tools in the agent's own settings",
    Hint.COMMAND_TIMEOUT: "--command-timeout sets the limit",
    Hint.MODEL: "check the model name (--model) and whether your account may use it",
    Hint.FRESH_AGENT: "set resume_agent = false",
    Hint.RUN_AGENT: "run the agent directly to see why",
    Hint.INCLUDE_DIRTY: "commit or stash them first, or let the loop commit them with --include-dirty",
    Hint.LIST_LOOPS: "spool ps --all lists them",
    Hint.OTHER_PROJECT: "name it by its id, or search them all with --all-projects",
    Hint.NO_CRITERION: "without a written change, give a task and say when it is done: --done or --done-command",
    Hint.NAME_WORKTREE_LOOP: "name its change; wt-loop list --all lists them",
    Hint.START_WORKTREE_LOOP: "start one with: wt-loop start",
    Hint.CHOOSE_PATH: "choose one with --path DIR",
    Hint.OWN_SETTINGS: "set it in your own config.toml; spool config shows its path",
    Hint.PRICES: "add the model to [prices] in your own config.toml, or use --max-tokens or --max-duration",
    Hint.LIMIT_TIME: "use --max-duration or --max-iterations",
    Hint.SANDBOX: "use: spool run --sandbox, without --in; or turn it off: --no-sandbox, SPOOL_SANDBOX=off",
    Hint.SAME_SANDBOX: "continue it so, or give it up with: spool workspace remove",
    Hint.OPEN_BOX: "open the box of what is not done, or fix it by hand",
    Hint.GATES: (
        "correct the command (--verify, or [[gates]] in the settings); use --baseline off if the change is to add it,"
        " or --no-gates"
    ),
    Hint.ADD_GATE: 'add one: --verify "make test", or in .spool/config.toml: [[gates]] with run = "make test"',
    Hint.ALLOW_EMPTY: "say what is missing with --add-context; if the work was already there: --allow-empty",
    Hint.NAME_CHANGE: "name the change as an argument",
    Hint.NO_CHANGES: 'write one: spool new "Add login"; or run a plan, any .md file with a list: spool run PLAN.md',
    Hint.UNDO: "`spool undo` brings it back",
    Hint.TRUST: "spool trust shows them; spool trust --grant lets them count",
    Hint.CLONES: "spool workspace list shows them; spool workspace remove removes them without losing work",
    Hint.TICK: "leave out --tick: it adds boxes to a plan file; a change has its own in tasks.md",
    Hint.WORK_HERE: "work there with --in here, or check out another branch",
    Hint.REMOVE_WORKSPACE: "start anew from the branch: spool workspace remove, then run again",
    Hint.NAME_WORKSPACE: "name it by its path; spool workspace list shows it",
    Hint.NAME_DEPENDENCY: "name it as well, or run all open changes with --all",
    Hint.CLEAN_TREE: "commit them, or put them aside with: git stash -u; then run spool land again",
    Hint.NAME_TARGET: "name the branch: --onto BRANCH",
    Hint.OLD_FAILURES: "--baseline strict refuses these as well, --require proof refuses work that no test shows",
    Hint.KNOWN_FAILURES: "name tests that may stay red: --known-failures TEST, or known_failures in the settings",
    Hint.ACCEPT: "look at it, then accept it with: spool accept; or say what is missing with --add-context",
    Hint.ACCEPT_OR_KNOWN: (
        "look at it, then accept it with: spool accept; or name the tests that may stay red: --known-failures TEST"
    ),
    Hint.FREE_PORT: "name another one with --port; 0 takes any that is free",
    Hint.FLEET_UP: "start one on this machine: spool fleet up; or name one: TEMPORAL_ADDRESS",
    Hint.FLEET_REMOTE: "name it with --remote URL, or add one: git remote add origin URL",
    Hint.FLEET_SNAPSHOTS: "start the server here: spool fleet up; or name a repository: --snapshots URL",
    Hint.FLEET_RETRY: "continue with: spool fleet retry CHANGE; or start over with --fresh",
    Hint.FLEET_UNREADABLE: "repair the repository of snapshots; or start over: spool fleet submit CHANGE --fresh",
    Hint.FLEET_AGENT: "sign in with it, or choose another one (SPOOL_HARNESS), and start the worker again",
    Hint.FLEET_DEPENDS: "submit a change once those that it depends on have landed",
    Hint.FLEET_DONE: "fetch it: git fetch origin change/CHANGE; or edit the change, or run it again with --fresh",
    Hint.FLEET_LIST: "spool fleet list shows what there is",
    Hint.CLAUDE_AS_ROOT: (
        'run as another user or in a sandbox; or set claude_as_root = "pretend-sandbox" in your own config.toml '
        "(SPOOL_CLAUDE_AS_ROOT), to tell claude that this is one"
    ),
}


def worded(hint: str) -> str:
    """Return the text of a typed hint; any other text is returned unchanged."""
    return _WORDS.get(hint, hint)  # type: ignore[call-overload,no-any-return]


def next_command(hint: str, again: str) -> str:
    """Return what to type after a loop that only a person can help; `again` is the command that continues it."""
    match hint:
        case Hint.ALLOW_ALL if again:
            return f"{again} --allow-all"
        case Hint.MODEL if again:
            return f"{again} --model NAME"
        case Hint.ALLOW_EMPTY if again:
            note = f"say what is missing with --add-context, then: {again}"
            return f"{note}; if the work was already there, an earlier story's for example: {again} --allow-empty"
        case Hint.ACCEPT | Hint.ACCEPT_OR_KNOWN:
            return worded(hint)
        case _:
            return f"{worded(hint)}, then: {again}" if again else worded(hint)


def next_step(error: SpoolError) -> str:
    """Return the hint for an error, or an empty string."""
    match error:
        case LockedError(door="wt-loop"):
            return f"watch it with: wt-loop attach {error.change}, stop it with: wt-loop stop {error.change}"
        case LockedError(door="ralph" | "run", run_id=run_id):
            name = run_id.rpartition("-")[2]
            return f"watch it with: spool attach {name}, stop it with: spool stop {name}"
        case WorksElsewhere():
            return f"continue it there with --in {error.kind}, or set it aside with --fresh"
        case NoWorktree():
            return f"create it with --create, or run: {error.hint}"
        case NotInstalled(others=()):
            return f"{error.hint}; spool harness list shows the others"
        case NotInstalled():
            listed = ", ".join(error.others)
            return f"{error.hint}; or choose an installed one with --harness: {listed}; spool init makes it the default"
        case _:
            return worded(error.hint)
