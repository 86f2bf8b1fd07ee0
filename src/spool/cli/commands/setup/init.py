"""`spool init`: sets a repository up."""

import sys
from pathlib import Path

import click

from spool.app.machine.project_setup import ProjectScan, settings_text, take_inventory, toml_string, write_settings
from spool.app.machine.trusted_settings import trust_report
from spool.domain.text.plain_text import one_line
from spool.views.paragraphs import say_commands
from spool.views.say import say, say_text


@click.command("init")
@click.option("--dry-run", is_flag=True, help="Print the settings that would be written.")
@click.help_option("-h", "--help")
def init(dry_run: bool) -> None:
    """Set this repository up: find the agent and the tests, and write .spool/config.toml.

    On a terminal it asks two questions. The settings that it writes are trusted; existing ones stay as they are.
    """
    found = take_inventory(Path.cwd())
    _report(found)
    if found.configured:
        say("", f"{found.settings_file} is already there and stays as it is.")
        if found.toolchain.test and not found.checked:
            say(f"No check runs your tests: add [[gates]] with run = {toml_string(found.toolchain.test)}")
        if trust_report(found.root).untrusted:
            say("Some of it is not trusted: spool trust shows it, spool trust --grant lets it count.")
        _next(found)
        return
    agent, test = (found.agents[0] if found.agents else ""), found.toolchain.test
    if sys.stdin.isatty() and sys.stdout.isatty() and not dry_run:
        agent, test = _ask(found, agent, test)
    text = settings_text(agent, test)
    if dry_run:
        say("", f"Would write {found.settings_file}:", "")
        say_text(text)
        return
    write_settings(found, text)
    say("", f"Wrote {found.settings_file}, and trusted it.")
    _next(found)


def _report(found: ProjectScan) -> None:
    tools = found.toolchain
    rows = {
        "Project": str(found.root),
        "Git": "yes" if found.git else "no; Spool needs it to revert: git init",
        **found.formats,
        "Agents": ", ".join(found.agents) or "none installed; spool harness list shows how to get one",
        "Language": tools.language or "unknown",
        "Tests": tools.test or "no command found",
    }
    say(*(f"{name:<10}{one_line(value, 400)}" for name, value in rows.items()))


def _ask(found: ProjectScan, agent: str, test: str) -> tuple[str, str]:
    import questionary

    if len(found.agents) > 1:
        agent = questionary.select("Which agent?", choices=list(found.agents), default=agent).unsafe_ask()
    test = questionary.text("Which command runs the tests? (empty for none)", default=test).unsafe_ask()
    return agent, test.strip()


def _next(found: ProjectScan) -> None:
    todo = [change.id for change in found.changes if not change.total or change.done < change.total]
    commands = {} if found.git else {"git init": "so that Spool can take back what failed"}
    if todo or found.plan:
        commands[f"spool run {todo[0] if todo else found.plan}"] = "run it"
    else:
        commands |= {'spool new "Add login"': "write a change", "spool run PLAN.md": "or run any Markdown list"}
    if not found.agents:
        alone = {"spool demo": "see a loop without an agent", "spool harness list": "see how to install an agent"}
        commands = alone | commands
    say("", "Next:")
    say_commands(commands)
