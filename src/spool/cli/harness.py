"""`spool harness`: which agents there are, what each can do, and whether one works here."""

import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import click
import msgspec

from spool.cli.target import load_settings, resume_command
from spool.domain.invocation import Traits
from spool.domain.outcome import OutcomeKind
from spool.domain.settings import Settings
from spool.domain.state import IterationRecord
from spool.domain.text import one_line
from spool.domain.verdict import ExitCode
from spool.errors import SpoolError, UsageError
from spool.harness import registry
from spool.host.git.repository import git_environment
from spool.sources.project import find_project

CHECK_PROMPT = "Write the word hello into a new file hello.txt. That is the whole task."
_VERSION_TIMEOUT_S = 15


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """What is told of one harness."""

    name: str
    installed: bool
    path: str | None
    version: str
    model: bool
    resume: bool
    json: bool
    cost: bool
    allow_all: bool
    install: str


@click.group("harness")
@click.help_option("-h", "--help")
def harness() -> None:
    """Show the agents that Spool can run, and check whether one works."""


@harness.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.help_option("-h", "--help")
def list_harnesses(as_json: bool) -> None:
    """List the agents: installed or not, their version, and what they support."""
    settings = _settings()
    names = registry.names(settings.harnesses)
    # Some take seconds to tell their version.
    with ThreadPoolExecutor() as pool:
        rows = list(pool.map(lambda name: _row(name, settings), names))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(rows), indent=2).decode())
        return
    _show(rows)


@harness.command("check")
@click.argument("name")
@click.option("--model", metavar="NAME", help="The model that the agent is to use.")
@click.help_option("-h", "--help")
def check(name: str, model: str | None) -> int:
    """Let an agent do one tiny task in a temporary repository, and say what is wrong if it does not.

    It is a real run: it costs what a short question to the model costs.
    """
    settings = msgspec.structs.replace(
        _settings(),
        harness=name,
        allow_all=True,
        max_iterations=1,
        error_threshold=1,
        iteration_timeout=300.0,
        rate_limit_pause=0.0,
    )
    if model is not None:
        settings = msgspec.structs.replace(settings, model=model)
    traits = registry.find(name, settings.harnesses).traits
    path = shutil.which(traits.program)
    if path is None:
        raise SpoolError(f"{traits.program} is not installed, or not on PATH", hint=f"install it: {traits.install}")
    click.echo(f"ok     {path}, {_version(traits) or 'version unknown'}")
    if not traits.reads_prompt:
        click.echo("ok     it plays a script, and there is no more to check")
        return 0
    with tempfile.TemporaryDirectory(prefix="spool-check-") as folder:
        record, wrote = _try(Path(folder), settings)
    return _judge(record, traits.program, wrote=wrote)


def _settings() -> Settings:
    try:
        root: Path | None = find_project(Path.cwd()).root
    except UsageError:
        root = None
    return load_settings(root, {})


def _row(name: str, settings: Settings) -> Row:
    traits = registry.find(name, settings.harnesses).traits
    path = shutil.which(traits.program)
    return Row(
        name=name,
        installed=path is not None,
        path=path,
        version=_version(traits) if path and name != "scripted" else "",
        model=traits.model,
        resume=traits.resume,
        json=traits.json,
        cost=traits.cost,
        allow_all=traits.allow_all,
        install=traits.install,
    )


def _version(traits: Traits) -> str:
    """Return the first line that `--version` prints; pi prints it on standard error."""
    try:
        done = subprocess.run(
            [traits.program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_VERSION_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    said = (done.stdout or done.stderr).decode("utf-8", "replace").strip()
    return one_line(said.splitlines()[0], 40) if said and not done.returncode else ""


def _show(rows: list[Row]) -> None:
    width = max(len(row.name) for row in rows)
    click.echo(f"{'name':<{width}}  {'version':<28}  supports")
    for row in rows:
        able = [word for word in ("model", "resume", "json", "cost") if getattr(row, word)]
        if row.installed:
            told = f"{row.version or 'installed':<28}  {', '.join(able)}"
        else:
            told = f"{'not installed':<28}  {row.install}"
        click.echo(f"{row.name:<{width}}  {told}".rstrip())


def _try(folder: Path, settings: Settings) -> tuple[IterationRecord, bool]:
    """Run one iteration of a tiny change; return its record, and whether the agent could write."""
    from spool.cli.ralph_job import ralph_job
    from spool.cli.runner import run_job
    from spool.cli.views.viewer import Show
    from spool.host.state.store import StateFolder

    change = folder / ".spool" / "changes" / "check"
    change.mkdir(parents=True)
    (change / "proposal.md").write_text("# Check\n\nA check whether the agent can work here.\n")
    subprocess.run(["git", "init", "--quiet"], cwd=folder, env=git_environment(), check=True, capture_output=True)
    project = find_project(folder)
    job = ralph_job(project, "check", settings, CHECK_PROMPT, show=Show.NOTHING)
    if run_job(replace(job, listed=False)) == ExitCode.INTERRUPTED:
        raise click.Abort
    record = StateFolder(project.state / "ralph" / "check").history(last=1)[0]
    return record, (folder / "hello.txt").exists()


def _judge(record: IterationRecord, program: str, *, wrote: bool) -> int:
    if record.outcome is OutcomeKind.COMPLETED and wrote:
        click.echo("ok     it wrote the file and kept its promise")
        return 0
    wrong, then = _trouble(record, program)
    click.echo(f"wrong  {wrong}\nnext   {then}")
    return 1


def _trouble(record: IterationRecord, program: str) -> tuple[str, str]:
    """Return what is wrong, and what to do about it."""
    again = f"then: {resume_command()}"
    said = f": {record.reason}" if record.reason else ""
    match record.outcome:
        case OutcomeKind.COMPLETED:
            return "it promised, but wrote nothing", f"see that it may use its tools, {again}"
        case OutcomeKind.NO_PROMISE | OutcomeKind.FAILED:
            other = f"spool harness check {record.harness} --model NAME"
            return f"it ran, but made no promise{said}", f"another model may follow the prompt better: {other}"
        case OutcomeKind.RATE_LIMITED:
            return f"{record.outcome}{said}", f"wait until the limit is over, {again}"
        case _:
            return f"{record.outcome}{said}", f"{record.note or f'see what {program} says by itself'}, {again}"
