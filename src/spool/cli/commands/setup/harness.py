"""`spool harness`: lists the agents and checks whether one works."""

import click
import msgspec

from spool.app.machine.agents import AgentRow, find_traits, list_agents, try_agent, version_of
from spool.app.machine.trusted_settings import require_trust
from spool.app.starting.effective_settings import resolve_settings, root_here
from spool.cli.options.target import complete_harness, resume_command
from spool.domain.loop.outcome import OutcomeKind
from spool.domain.loop.state import IterationRecord
from spool.domain.text.plain_text import one_line
from spool.views.hints import worded
from spool.views.say import say, say_json
from spool.views.tables import room, table


@click.group("harness")
def harness() -> None:
    """List the agents that Spool can run, and check whether one works."""


@harness.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_harnesses(as_json: bool) -> None:
    """List the agents with their version and features.

    Any command that reads a prompt from standard input can be an agent. Name it in your own config.toml, or in
    .spool/config.toml, then use --harness NAME:

    \b
      [harnesses.NAME]
      argv = ["my-agent", "--quiet"]
    """
    rows = list_agents()
    if as_json:
        say_json(rows, indent=2)
        return
    _show(rows)


@harness.command("check")
@click.argument("name", shell_complete=complete_harness)
@click.option("--model", metavar="NAME", help="Model for the agent.")
def check(name: str, model: str | None) -> int:
    """Run one tiny task with an agent and report any problem.

    This is a real run in a temporary repository. It costs as much as a short question to the model.
    """
    root = root_here()
    settings = require_trust(root, resolve_settings(root)).settings
    if model is not None:
        settings = msgspec.structs.replace(settings, model=model)
    traits, path = find_traits(name, settings)
    say(f"ok     {path}, {version_of(traits) or 'version unknown'}")
    if not traits.reads_prompt:
        say("ok     plays a script; nothing else to check")
        return 0
    trial = try_agent(name, settings)
    if trial is None:
        raise click.Abort
    return _judge(trial.record, traits.program, wrote=trial.wrote)


def _show(rows: list[AgentRow]) -> None:
    cells, notes = [], []
    for row in rows:
        able = [word for word in ("model", "resume", "json", "tokens", "cost") if getattr(row, word)]
        if not row.trusted:
            version, note = "not trusted", "defined by this repository; see: spool trust"
        elif row.installed:
            version, note = one_line(row.version or "installed", 28), ", ".join(able)
        else:
            version, note = "not installed", row.install
        cells.append((row.name, version))
        notes.append(note)
    head = ("name", "version")
    for line in table(head, cells, width=room(), left=head, notes=notes, noted="supports"):
        say(line)


def _judge(record: IterationRecord, program: str, *, wrote: bool) -> int:
    if record.outcome is OutcomeKind.COMPLETED and wrote:
        say("ok     wrote the file and promised completion")
        return 0
    wrong, then = _trouble(record, program)
    say(f"wrong  {wrong}", f"next   {then}")
    return 1


def _trouble(record: IterationRecord, program: str) -> tuple[str, str]:
    """Return the problem and the next step."""
    again = f"then: {resume_command()}"
    said = f": {record.reason}" if record.reason else ""
    match record.outcome:
        case OutcomeKind.COMPLETED:
            return "promised completion but wrote no file", f"check that it may use its tools, {again}"
        case OutcomeKind.NO_PROMISE | OutcomeKind.FAILED:
            other = f"spool harness check {record.harness} --model NAME"
            return f"ran but made no promise{said}", f"another model may follow the prompt better: {other}"
        case OutcomeKind.RATE_LIMITED:
            return f"{record.outcome}{said}", f"wait for the limit to reset, {again}"
        case _:
            return f"{record.outcome}{said}", f"{worded(record.note) or f'run {program} directly to see why'}, {again}"
