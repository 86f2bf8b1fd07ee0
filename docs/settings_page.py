"""Writes docs/settings.md, a table of every setting, from the settings themselves: `make settings-page`."""

import ast
import inspect
import json
import tomllib
from itertools import pairwise
from pathlib import Path

import click

from spool.cli.main import spool
from spool.cli.wt.main import wt_loop
from spool.domain.loop.settings import DURATIONS, GUARDS, SIZES, Layer, Settings, TrustLevel, merge

PAGE = Path(__file__).parent / "settings.md"
_HEAD = """\
# Settings

Spool reads `.spool/config.toml` of the repository (in a worktree, that of the main checkout, then its own), then your
own `config.toml` (`~/.config/spool/config.toml` on Linux), then `SPOOL_*` variables, then flags; the last one wins.
`spool config` shows each value and where it comes from. Times are seconds, or `"90s"`, `"15m"`, `"2h"`; sizes are
bytes, or `"512M"`, `"4G"`; 0 turns a limit off.

**Trust**: a repository's value counts only once you have [trusted](security.md#trust) it. **Yours**: a repository
cannot set it at all. Anything else a repository may set.

This page is generated from the settings themselves; a test compares it with them.
"""
_GROUPS = {
    "The agent": (
        "harness", "model", "allow_all", "resume_agent", "claude_as_root", "harnesses",
    ),
    "When a loop ends": (
        "completion_promise", "min_iterations", "max_iterations", "max_retries", "max_repairs", "fail_fast",
        "error_threshold", "error_pause", "rate_limit_pause", "stall_iterations",
    ),
    "Budgets": (
        "max_cost_usd", "max_tokens", "max_duration", "max_cost_per_day", "max_tokens_per_day", "prices",
    ),
    "Limits on an agent": (
        "iteration_timeout", "idle_timeout", "promise_grace", "output_limit_mb", "agent_memory", "command_timeout",
        "isolate_processes",
    ),
    "Checks": (
        "gates", "baseline", "require", "allow_change", "known_failures", "allow_empty", "done_command_timeout",
    ),
    "Commits and checkpoints": (
        "auto_commit", "commit_stories", "include_dirty", "on_resume", "large_file_mb",
    ),
    "Sandbox": (
        "sandbox", "sandbox_net", "allow_hosts", "sandbox_read", "sandbox_env",
    ),
    "Worktrees and terminals": (
        "worktree_copy", "worktree_setup", "terminal", "fullscreen", "keep_open",
    ),
    "Output and notices": (
        "stream", "notify", "on_event", "webhook", "notice_wait",
    ),
}  # fmt: skip
EXAMPLES = {
    # a switch is shown as it is not by default, a number as 10
    "harness": 'harness = "claude"',
    "model": 'model = "gpt-5-codex"',
    "min_iterations": "min_iterations = 2",
    "max_iterations": "max_iterations = 20",
    "completion_promise": 'completion_promise = "ALL DONE"',
    "claude_as_root": 'claude_as_root = "pretend-sandbox"',
    "max_retries": "max_retries = 5",
    "max_repairs": "max_repairs = 1",
    "on_resume": 'on_resume = "keep"',
    "large_file_mb": "large_file_mb = 20",
    "iteration_timeout": 'iteration_timeout = "45m"',
    "idle_timeout": 'idle_timeout = "15m"',
    "command_timeout": 'command_timeout = "2m"',
    "error_threshold": "error_threshold = 3",
    "error_pause": 'error_pause = "10s"',
    "rate_limit_pause": 'rate_limit_pause = "5m"',
    "promise_grace": 'promise_grace = "1m"',
    "output_limit_mb": "output_limit_mb = 512",
    "allow_hosts": 'allow_hosts = ["api.anthropic.com"]',
    "sandbox_read": 'sandbox_read = ["/srv/models"]',
    "sandbox_env": 'sandbox_env = ["AWS_*"]',
    "agent_memory": 'agent_memory = "4G"',
    "terminal": 'terminal = "tmux"',
    "gates": '[[gates]]\nname = "tests"\nrun = "make test"',
    "baseline": 'baseline = "strict"',
    "require": 'require = "proof"',
    "known_failures": 'known_failures = ["tests/test_network.py"]',
    "allow_change": 'allow_change = ["tests/golden"]',
    "stall_iterations": "stall_iterations = 5",
    "max_tokens": "max_tokens = 2_000_000",
    "max_cost_usd": "max_cost_usd = 5.0",
    "max_duration": 'max_duration = "8h"',
    "max_tokens_per_day": "max_tokens_per_day = 10_000_000",
    "max_cost_per_day": "max_cost_per_day = 20.0",
    "prices": '[prices."gpt-5-codex"]\ninput = 1.25\noutput = 10.0\ncached = 0.125',
    "on_event": 'on_event = "ntfy publish nights"',
    "webhook": 'webhook = "https://hooks.example.com/abc"',
    "notify": 'notify = ["desktop", "terminal"]',
    "notice_wait": 'notice_wait = "30m"',
    "done_command_timeout": 'done_command_timeout = "30m"',
    "worktree_copy": 'worktree_copy = [".env*", "local.toml"]',
    "worktree_setup": 'worktree_setup = "npm ci"',
    "harnesses": '[harnesses.mine]\nargv = ["my-agent", "--task", "{prompt_file}"]\nprompt = "file"',
}


def page() -> str:
    """Return the text of the page."""
    words, flags, default = _words(), _flags(), Settings()
    parts = [_HEAD]
    grouped = {name for names in _GROUPS.values() for name in names}
    more = tuple(name for name in words if name not in grouped)
    for group, names in {**_GROUPS, **({"More": more} if more else {})}.items():
        parts.append(f"## {group}\n")
        parts += [_entry(name, words[name], flags.get(name, []), getattr(default, name)) for name in names]
    return "\n".join(parts)


def _entry(name: str, words: str, flags: list[str], default: object) -> str:
    facts = [f"Default: {_shown(name, default)}."]
    if flags:
        facts.append(f"Flag: {', '.join(f'`{flag}`' for flag in flags)}.")
    if name not in ("prices", "harnesses", "gates"):
        facts.append(f"Variable: `SPOOL_{name.upper()}`.")
    if guard := GUARDS.get(name):
        facts.append({TrustLevel.TRUST: "**Trust.**", TrustLevel.OWN: "**Yours.**"}[guard])
    return f"### {name}\n\n{words}\n\n{' '.join(facts)}\n\n```toml\n{example(name)}\n```\n"


def example(name: str) -> str:
    """Return an example of a setting; raise if it is not valid."""
    default = getattr(Settings(), name)
    value = json.dumps(not default if isinstance(default, bool) else 10)
    found = EXAMPLES.get(name, f"{name} = {value}")
    merge([Layer("the example", tomllib.loads(found))])
    return found


def _shown(name: str, default: object) -> str:
    if name == "stall_iterations":
        return "3 for `wt-loop`, 5 for `ralph`, no limit for `ralph` with `max_iterations`"
    if name == "max_iterations":
        return "50 for `ralph`, 10 for `wt-loop`"
    if default in (None, "", (), {}):
        return "none"
    if name in DURATIONS:
        return f'`"{_duration(float(str(default)))}"`' if default else "`0`"
    if name in SIZES and default == 0:
        return "`0`"
    return f"`{json.dumps(default)}`"


def _duration(seconds: float) -> str:
    for unit, size in (("h", 3_600), ("m", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g}{unit}"
    return f"{seconds:g}s"


def _words() -> dict[str, str]:
    """Return the docstring of each setting."""
    (tree,) = ast.parse(inspect.getsource(Settings)).body
    fields = tree.body if isinstance(tree, ast.ClassDef) else []
    found: dict[str, str] = {}
    for field, after in pairwise(fields):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            said = after.value if isinstance(after, ast.Expr) else None
            if not isinstance(said, ast.Constant):
                raise SystemExit(f"the setting {field.target.id} needs a docstring")
            found[field.target.id] = str(said.value)
    return found


def _flags() -> dict[str, list[str]]:
    """Return the flags of each setting, of all commands that start loops."""
    commands = [spool.get_command(click.Context(spool), name) for name in ("ralph", "run", "land")]
    commands.append(wt_loop.get_command(click.Context(wt_loop), "start"))
    names = {"verify": "gates", "stall": "stall_iterations", "no_max_iterations": "max_iterations"}
    found: dict[str, list[str]] = {}
    for command in commands:
        for param in command.params if command else ():
            if isinstance(param, click.Option) and param.name:
                flag = "/".join([param.opts[0], *param.secondary_opts[:1]])
                known = found.setdefault(names.get(param.name, param.name), [])
                known += [flag] if flag not in known else []
    return found


if __name__ == "__main__":
    PAGE.write_text(page())
