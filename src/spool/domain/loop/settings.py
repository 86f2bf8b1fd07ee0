"""The settings, their checks, and the origin of each value."""

from collections.abc import Mapping
from enum import Enum
from math import inf
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from spool.decoders import converted
from spool.domain.agent.prices import Price
from spool.domain.judging.gates.configured import joined, read_gates
from spool.domain.judging.gates.gate import GateSpec
from spool.domain.text.durations import seconds
from spool.domain.text.plain_text import did_you_mean, one_line
from spool.domain.text.sizes import size
from spool.errors import Hint, UsageError

_SWITCHES = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
TABLES = "harnesses"
RALPH_MAX = 50
"""The default of `max_iterations` for `ralph`."""
_Value = TypeVar("_Value")


class TrustLevel(Enum):
    """The trust that a setting needs."""

    TRUST = "trust"
    OWN = "own"


Trusted = Annotated[_Value, TrustLevel.TRUST]
"""A setting that runs a program, widens permissions or reaches outside the tree.

A repository's value for it counts only after the person has trusted it.
"""
Own = Annotated[_Value, TrustLevel.OWN]
"""A setting that a repository cannot set at all."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings with their defaults. Times are in seconds; 0 disables a limit."""

    harness: Trusted[str] = "opencode"
    """The agent; a repository may name one that Spool knows without being trusted."""
    model: str | None = None
    """The model for the agent; by default the agent's own choice."""
    min_iterations: int = 1
    """Iterations that `ralph` runs at least, whatever the agent promises."""
    max_iterations: int | None = None
    """Iterations of a run; None means 50 for `ralph` and 10 for `wt-loop`, 0 no limit."""
    completion_promise: str = "COMPLETE"
    """The text that the agent must promise."""
    allow_all: Trusted[bool] = False
    """Whether the agent uses its tools without asking."""
    claude_as_root: Own[Literal["refuse", "pretend-sandbox"]] = "refuse"
    """Whether to tell claude, which refuses allow_all as root outside a sandbox, that it is in one."""
    resume_agent: bool = False
    """Whether the agent continues its own session in the next iteration, instead of starting fresh."""
    fail_fast: bool = False
    """Whether the first failed iteration ends the loop."""
    auto_commit: Trusted[bool] = False
    """Whether to commit each iteration; that runs git's hooks."""
    include_dirty: Trusted[bool] = False
    """Whether a loop that commits may start on uncommitted changes, and commit them."""
    stream: bool = True
    """Whether to show the agent's work as it happens, or only the results."""
    max_retries: int = 3
    """Retries of a story of `run`."""
    max_repairs: int = 2
    """How often an agent may mend a change that does not land."""
    on_resume: Literal["revert", "keep"] = "revert"
    """What becomes of the tree that an earlier run of `run` left unfinished."""
    commit_stories: Trusted[bool] = False
    """Whether `run` commits each accepted story; that runs git's hooks."""
    large_file_mb: int = 100
    """Files above this size, in MiB, are left out of checkpoints, with a warning."""
    iteration_timeout: float = 7_200.0
    """An agent is ended after this time."""
    idle_timeout: float = 1_800.0
    """An agent is ended after this time without output."""
    command_timeout: float = 30.0
    """A git command is ended after this time."""
    error_threshold: int = 10
    """Failed iterations in a row that end `ralph` and `wt-loop`; 0 for no limit."""
    error_pause: float = 1.0
    """The pause after the third failed iteration in a row; it doubles with each further one."""
    rate_limit_pause: float = 30.0
    """The first wait at a rate limit without a known end; 0 ends the loop instead."""
    promise_grace: float = 20.0
    """An agent that has promised is ended after this time without output."""
    output_limit_mb: int = 4_096
    """An agent is ended when its output reaches this size, in MiB."""
    isolate_processes: bool = False
    """Whether agents run in a pid namespace (Linux): none of their processes outlives a run that is killed."""
    sandbox: Own[bool] = False
    """Whether agents and gates run sandboxed, in a clone."""
    sandbox_net: Own[bool] = True
    """Whether they reach the network."""
    allow_hosts: Own[tuple[str, ...]] = ()
    """The only hosts that they reach, through the sandbox runtime (`srt`)."""
    sandbox_read: Own[tuple[str, ...]] = ()
    """Paths that they may read besides."""
    sandbox_env: Own[tuple[str, ...]] = ()
    """Variables that they get besides; `NAME*` stands for all that begin so."""
    agent_memory: int = 0
    """Memory in bytes that an agent and its descendants may use together, also written `4G`."""
    terminal: Trusted[str | tuple[str, ...]] = ""
    """The terminal for worktree loops: a name, or the words of a command that contains {command}."""
    fullscreen: bool = False
    """Whether windows of `wt-loop` open full screen."""
    keep_open: bool = True
    """Whether a window stays open after its loop ends on its own, so that a person can read the result."""
    gates: Trusted[tuple[GateSpec, ...]] = ()
    """Checks that Spool runs when completion is claimed; layers add up."""
    baseline: Trusted[Literal["tolerant", "strict", "off"]] = "tolerant"
    """Whether failures from before the change are tolerated, nothing may be red, or no baseline is run."""
    require: Literal["", "proof"] = ""
    """`proof` refuses what is not proved."""
    allow_change: Trusted[tuple[str, ...]] = ()
    """Tests, and files that decide about tests, which the agent may change."""
    known_failures: Trusted[tuple[str, ...]] = ()
    """Tests that fail before the change and may stay red: ids, files or patterns."""
    allow_empty: Trusted[bool] = False
    """Whether to accept a claim that changes no file."""
    stall_iterations: int | None = None
    """Iterations without progress; None means 3 for `wt-loop`, and 5 for `ralph` without max_iterations."""
    max_tokens: int = 0
    """Tokens that a loop may use, over all its runs."""
    max_cost_usd: float = 0.0
    """US dollars that a loop may cost, over all its runs."""
    max_duration: float = 0.0
    """The time that a run may take, waits included."""
    max_tokens_per_day: Own[int] = 0
    """Tokens that all your loops may use in a local day."""
    max_cost_per_day: Own[float] = 0.0
    """US dollars that all your loops may cost in a local day."""
    prices: Own[dict[str, Price]] = {}
    """US dollars per million tokens, by model or agent, where the agent reports no cost."""
    on_event: Trusted[str] = ""
    """A command that gets each notice as JSON on standard input."""
    webhook: Trusted[str] = ""
    """An address that each notice is posted to, as JSON."""
    notify: tuple[Literal["desktop", "terminal"], ...] = ()
    """Where else notices appear."""
    notice_wait: float = 600.0
    """A wait of at least this length is a notice; 0 for none."""
    done_command_timeout: float = 900.0
    """The command of `wt-loop --done-command` is ended after this time."""
    worktree_copy: Trusted[tuple[str, ...]] = (".env*",)
    """Untracked files to copy into a new worktree or clone, never into a sandbox."""
    worktree_setup: Trusted[str] = ""
    """A command to run in a new worktree or clone."""
    harnesses: Trusted[dict[str, dict[str, Any]]] = {}
    """Agents of your own: commands that read a prompt and print text."""


class Layer(msgspec.Struct, frozen=True):
    """Settings from one origin."""

    origin: str
    """A file, or the flag or variable of a single setting; empty for a form on the screen."""
    values: Mapping[str, Any]
    of_repository: bool = False
    """Whether the values come from the repository, not from the person."""


class Resolved(msgspec.Struct, frozen=True):
    """The effective settings, and the origin of each."""

    settings: Settings
    origins: dict[str, str]
    asked: dict[str, Any] = {}
    """The effective values of the repository that need trust; a table counts by itself: `harnesses.mine`."""


_HINTS = get_type_hints(Settings, include_extras=True)
GUARDS: dict[str, TrustLevel] = {
    name: get_args(hint)[1] for name, hint in _HINTS.items() if get_origin(hint) is Annotated
}
OWN = tuple(name for name, guard in GUARDS.items() if guard is TrustLevel.OWN)
_TYPES = {name: get_args(hint)[0] if name in GUARDS else hint for name, hint in _HINTS.items()}
_DEFAULTS = Settings()
DURATIONS = {name for name in _TYPES if name.endswith(("_timeout", "_pause", "_grace", "_duration", "_wait"))}
SIZES = {name for name in _TYPES if name.endswith("_memory")}
_COUNTS = [name for name, kind in _TYPES.items() if kind in (int, float, int | None) and name not in DURATIONS | SIZES]
NAMES = tuple(name for name in _TYPES if name not in (TABLES, "prices"))


def merge(layers: list[Layer], *, onto: Settings = _DEFAULTS) -> Resolved:
    """Merge the layers, later ones overriding earlier ones and those of `onto`, and check the result."""
    values = msgspec.structs.asdict(onto)
    origins = dict.fromkeys(_TYPES, "default")
    asked: dict[str, Any] = {}
    for layer in layers:
        for name, raw in layer.values.items():
            added = _tables(raw, layer) if name == TABLES else _checked(name, raw, layer)
            values[name] = _added(name, values[name], added)
            origins[name] = layer.origin
            parts = _parts(name, added)
            asked = {part: value for part, value in asked.items() if part not in parts}
            asked |= parts if layer.of_repository else {}
    settings = Settings(**values)
    _check(settings, origins)
    return Resolved(settings, origins, {part: value for part, value in asked.items() if value != _default(part)})


def _default(part: str) -> object:
    return getattr(_DEFAULTS, part, None)


def _added(name: str, earlier: Any, added: Any) -> Any:
    """Return a setting's value after another layer: tables and gates add up, anything else is replaced."""
    if name == TABLES:
        return {**earlier, **added}
    return joined(earlier, added) if name == "gates" else added


def _parts(name: str, value: Any) -> dict[str, Any]:
    """Return what one layer asks for with a setting that needs trust: its value, or each of its tables and gates."""
    if GUARDS.get(name) is not TrustLevel.TRUST:
        return {}
    if name == "gates":
        return {f"{name}.{gate.name}": gate for gate in value}
    return {f"{name}.{key}": table for key, table in value.items()} if name == TABLES else {name: value}


def _named(name: str, origin: str) -> str:
    """Return how messages name a setting: by its flag or variable, else by its file and name."""
    if origin.startswith(("--", "SPOOL_")):
        return origin
    return f"{origin}: {name}" if origin else name.replace("_", " ")


def _switch(raw: object) -> bool:
    found = _SWITCHES.get(str(raw).strip().lower())
    if found is None:
        raise ValueError(f"'{one_line(str(raw), 40)}' is neither true nor false")
    return found


def _whole(raw: object) -> int:
    try:
        return converted(raw, int, strict=False)
    except msgspec.ValidationError:
        raise ValueError(f"'{one_line(str(raw), 40)}' is not a whole number") from None


def _checked(name: str, raw: object, layer: Layer) -> object:
    if name not in _TYPES:
        hint = did_you_mean(name, _TYPES) or f"known: {', '.join(NAMES)}"
        raise UsageError(f"unknown setting '{one_line(name, 60)}' in {layer.origin}", hint=hint)
    if layer.of_repository and GUARDS.get(name) is TrustLevel.OWN:
        raise UsageError(f"{layer.origin} cannot set {name}: it holds for all your loops", hint=Hint.OWN_SETTINGS)
    try:
        if name == "model" and raw == "":  # unsets the model of earlier layers
            return None
        if name == "gates":
            return read_gates(raw)
        if name == "notify" and isinstance(raw, str):
            raw = [word.strip() for word in raw.split(",") if word.strip()]
        if name in DURATIONS:
            return seconds(raw)
        if name in SIZES:
            return size(raw)
        if _TYPES[name] is bool:
            return _switch(raw)
        if raw is not None and _TYPES[name] in (int, int | None):
            return _whole(raw)
        if isinstance(raw, str) and _TYPES[name] == tuple[str, ...]:  # of a variable
            return tuple(part.strip() for part in raw.split(",") if part.strip())
        return converted(raw, _TYPES[name], strict=False)
    except (msgspec.ValidationError, ValueError) as error:
        raise UsageError(f"{_named(name, layer.origin)} is invalid: {error}") from None


def _tables(raw: object, layer: Layer) -> dict[str, dict[str, Any]]:
    try:
        return converted(raw, dict[str, dict[str, Any]])
    except msgspec.ValidationError as error:
        raise UsageError(f"{layer.origin}: [{TABLES}] is invalid: {error}") from None


def _check(settings: Settings, origins: Mapping[str, str]) -> None:
    def refuse(name: str, why: str) -> None:
        raise UsageError(f"{_named(name, origins[name])} {why}")

    for name in _COUNTS:
        if (value := getattr(settings, name) or 0) < 0:
            refuse(name, "cannot be negative")
        if not value < inf:  # nan is not less either
            refuse(name, "must be a finite number")
    limit = RALPH_MAX if settings.max_iterations is None else settings.max_iterations
    if limit and settings.min_iterations > limit:
        origin = origins["max_iterations"]
        most = origin if origin.startswith("--") else "max_iterations"
        refuse("min_iterations", f"is more than {most} ({limit})")
    if settings.model and settings.model.startswith("-"):
        refuse("model", "cannot start with '-': the agent would read it as an option")
    for pattern in settings.worktree_copy:
        if not pattern.strip():
            refuse("worktree_copy", "cannot hold an empty pattern")
        if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
            refuse("worktree_copy", f"must stay inside the repository, unlike '{one_line(pattern, 60)}'")
    if settings.webhook and not settings.webhook.startswith(("https://", "http://")):
        refuse("webhook", "must start with https:// or http://")
    promise = settings.completion_promise
    if not promise.strip():
        refuse("completion_promise", "cannot be empty")
    if "<" in promise or ">" in promise:
        refuse("completion_promise", "cannot contain '<' or '>': it goes between tags")
    if " ".join(promise.split()).partition(":")[0] == "FAILED":
        refuse("completion_promise", "cannot be FAILED: an agent prints that when it gives up")
