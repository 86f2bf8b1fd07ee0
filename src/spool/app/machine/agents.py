"""Lists the agents that Spool can run, and tries one out."""

import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from spool.app.machine.agent_programs import require_program
from spool.app.machine.program_answers import asked
from spool.app.machine.trusted_settings import trust_report
from spool.app.starting.construction import new_spec
from spool.app.starting.effective_settings import resolve_settings, root_here
from spool.app.starting.runner import run
from spool.domain.agent.invocation import Traits
from spool.domain.loop.settings import TABLES, Settings
from spool.domain.loop.spec import Show
from spool.domain.loop.state import IterationRecord
from spool.domain.loop.summary import LoopKind
from spool.domain.loop.verdict import ExitCode
from spool.domain.text.common_fields import carried
from spool.domain.text.plain_text import one_line
from spool.errors import SpoolError
from spool.harness import registry
from spool.host.git.repository import git_environment
from spool.host.state.loop_store import StateFolder

CHECK_PROMPT = "Write the word hello into a new file hello.txt. That is the whole task."


class AgentRow(msgspec.Struct, frozen=True, kw_only=True):
    """One row of `spool harness list`."""

    name: str
    installed: bool
    path: str | None
    version: str
    model: bool
    resume: bool
    json: bool
    tokens: bool
    cost: bool
    allow_all: bool
    install: str
    trusted: bool
    """False for an agent of the repository that the person has not trusted; it is not asked for its version."""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an agent's tiny task."""

    record: IterationRecord
    wrote: bool


def list_agents() -> list[AgentRow]:
    """Return a row for each agent."""
    root = root_here()
    resolved = resolve_settings(root)
    untrusted = trust_report(root, resolved).untrusted if root else {}
    tables = resolved.settings.harnesses
    # Some agents take seconds to print their version.
    with ThreadPoolExecutor() as pool:
        rows = pool.map(
            lambda name: _row(name, resolved.settings, trusted=f"{TABLES}.{name}" not in untrusted),
            registry.names(tables),
        )
        return list(rows)


def find_traits(name: str, settings: Settings) -> tuple[Traits, str]:
    """Return an agent's traits and the path of its program."""
    harness = registry.find(name, settings.harnesses)
    return harness.traits, require_program(harness, settings)


def version_of(traits: Traits) -> str:
    """Return the first line of `--version`, or an empty string; pi prints it on standard error."""
    done = asked([traits.program, "--version"])
    if done is None:
        return ""
    output = (done.stdout or done.stderr).decode("utf-8", "replace").strip()
    return one_line(output.splitlines()[0], 40) if output and not done.returncode else ""


def try_agent(name: str, settings: Settings) -> Trial | None:
    """Run one iteration of a tiny change in a scratch repository; return None if interrupted."""
    settings = msgspec.structs.replace(
        settings,
        harness=name,
        allow_all=True,
        max_iterations=1,
        error_threshold=1,
        iteration_timeout=300.0,
        rate_limit_pause=0.0,
    )
    with tempfile.TemporaryDirectory(prefix="spool-check-") as folder:
        root = Path(folder).resolve()
        change = root / ".spool" / "changes" / "check"
        change.mkdir(parents=True)
        (change / "proposal.md").write_text("# Check\n\nA check whether the agent can work here.\n")
        subprocess.run(["git", "init", "--quiet"], cwd=root, env=git_environment(), check=True, capture_output=True)
        spec = new_spec(LoopKind.RALPH, root, "check", settings, task=CHECK_PROMPT, show=Show.NOTHING, listed=False)
        if run(spec).exit_code is ExitCode.INTERRUPTED:
            return None
        history = StateFolder(Path(spec.folder)).history(last=1)
        if not history:
            raise SpoolError("the agent was never started")
        return Trial(record=history[0], wrote=(root / "hello.txt").exists())


def _row(name: str, settings: Settings, *, trusted: bool) -> AgentRow:
    traits = registry.find(name, settings.harnesses).traits
    path = shutil.which(traits.program)
    # A command of the person's own may take any word for work to do.
    has_version = traits.reads_prompt and "argv" not in settings.harnesses.get(name, {})
    return AgentRow(
        name=name,
        installed=path is not None,
        path=path,
        version=version_of(traits) if path and has_version and trusted else "",
        trusted=trusted,
        **carried(traits, AgentRow),
    )
