"""The help, completion and tables: names as they are typed, under their headings, within the terminal."""

import re
from collections.abc import Iterator
from itertools import takewhile

import click
import pytest

from spool.cli.main import spool
from spool.cli.wt.main import wt_loop
from tests.seeds.test_000_ralph_loop import on_a_terminal
from tests.support import CHANGE, Scratch
from tests.support.worktrees import fleet_of

COMPLETE = {"promise": "COMPLETE"}
HEADINGS = ("Start", "Watch", "Check and land", "Plans", "Set up")


def help_of(scratch: Scratch, *words: str) -> str:
    return scratch.spool(*words, "--help").stdout


def wt_help(scratch: Scratch, *words: str) -> str:
    return scratch.wt_loop(*words, "--help").stdout


def section(text: str, heading: str) -> str:
    return text.partition(f"\n{heading}:\n")[2].partition("\n\n")[0]


def commands(command: click.Command, words: str) -> Iterator[tuple[str, click.Command]]:
    """Yield a command and all below it, each with the words that call it."""
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if (found := command.get_command(context, name)) is not None:
                yield from commands(found, f"{words} {name}")


@pytest.mark.parametrize(
    ("words", "command"), [*commands(spool, "spool"), *commands(wt_loop, "wt-loop")], ids=lambda one: str(one)[:30]
)
def test_every_command_has_help(words: str, command: click.Command) -> None:
    shown = command.get_help(click.Context(command, info_name=words, terminal_width=80))
    assert shown.startswith(f"Usage: {words}")
    assert len(command.get_short_help_str()) > 10
    assert all("..." not in section(shown, heading) for heading in ("Commands", *HEADINGS))


def test_the_help_groups_its_commands_and_help_works_as_a_command(scratch: Scratch) -> None:
    shown = help_of(scratch)
    places = [shown.index(f"\n{heading}:\n") for heading in HEADINGS]
    assert places == sorted(places)
    listed = [
        line.split()[0] for heading in HEADINGS for line in section(shown, heading).splitlines() if line[2] != " "
    ]
    assert sorted(listed) == sorted(spool.list_commands(click.Context(spool)))
    assert "\nCommands:\n" not in shown
    for words in ((), ("verify",), ("checkpoint", "list")):
        asked = scratch.spool("help", *words)
        assert (asked.returncode, asked.stdout) == (0, help_of(scratch, *words))
    assert scratch.wt_loop("help", "start").stdout == wt_help(scratch, "start")
    assert scratch.spool("help", "nosuch").returncode == 2


def test_the_surface_stays_within_its_budget() -> None:
    context = click.Context(spool)
    assert len(spool.list_commands(context)) <= 28
    run = spool.get_command(context, "run")
    assert run is not None and len([one for one in run.get_params(context) if isinstance(one, click.Option)]) <= 42


def test_earlier_names_work_and_are_not_listed(scratch: Scratch) -> None:
    listed = spool.list_commands(click.Context(spool))
    for name in ("loop", "stories", "validate"):
        assert name not in listed
        assert scratch.spool(name, "--help").stdout.startswith(f"Usage: spool {name} ")


def test_agent_is_an_alias_of_harness_on_every_command() -> None:
    every = [*commands(spool, "spool"), *commands(wt_loop, "wt-loop")]
    options = {words: [name for one in command.params for name in one.opts] for words, command in every}
    assert {words for words, names in options.items() if "--harness" in names} >= {
        "spool ralph",
        "spool run",
        "spool tui",
        "wt-loop start",
    }
    assert [words for words, names in options.items() if ("--harness" in names) != ("--agent" in names)] == []


def test_agent_chooses_the_agent(scratch: Scratch) -> None:
    scratch.script([COMPLETE])
    words = ("ralph", "Go", "--change", CHANGE, "--max-iterations", "1", "--agent")
    done = scratch.spool(*words, "scripted", "--json")
    assert '"harness":"scripted"' in done.stdout, done.stdout + done.stderr
    refused = scratch.spool(*words, "cloude")
    assert refused.returncode == 2 and "cloude" in refused.stderr


def test_loop_shows_itself_in_its_help(scratch: Scratch) -> None:
    shown = help_of(scratch, "loop")
    assert shown.startswith("Usage: spool loop ")
    assert 'spool loop "Implement the change"' in shown
    assert "spool ralph" not in shown


@pytest.mark.parametrize("words", [["ralph"], ["loop"], ["run"], ["tui"]])
def test_flags_stand_under_their_headings_and_examples_fit(scratch: Scratch, words: list[str]) -> None:
    shown = help_of(scratch, *words)
    assert "--no-interactive" not in section(shown, "Input")
    assert "--command-timeout" in section(shown, "Run")
    assert "5 done but" in shown or words == ["tui"]
    assert max(map(len, shown.splitlines())) <= 80


def test_fail_fast_says_what_it_stops_at(scratch: Scratch) -> None:
    shown = " ".join(help_of(scratch, "ralph").split())
    assert "--fail-fast Stop once an agent fails, times out or exits with an error." in shown


def test_wt_loop_names_its_own_default_agent_and_limit(scratch: Scratch) -> None:
    shown = " ".join(wt_help(scratch, "start").split())
    assert "[default: claude, unless configured]" in shown
    assert "[default: 10; with --done manual, no limit unless given]" in shown
    assert "[default: opencode, unless configured]" in " ".join(help_of(scratch, "ralph").split())
    assert max(map(len, wt_help(scratch, "start").splitlines())) <= 80


def test_a_mistyped_command_of_wt_loop_is_suggested(scratch: Scratch) -> None:
    with fleet_of(scratch) as fleet:
        done = fleet.wt("strat")
    assert (done.returncode, "did you mean: start?" in done.stderr) == (2, True)


def completed(scratch: Scratch, line: str) -> list[str]:
    words = {"_SPOOL_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    return scratch.spool(env=words).stdout.split()


def test_a_shell_completes_agents_loops_and_checkpoints(scratch: Scratch) -> None:
    assert completed(scratch, "spool ralph --harness cl") == ["plain,claude"]
    assert completed(scratch, "spool harness check aid") == ["plain,aider"]
    scratch.script([{"write": "idea.txt"}, {"promise": "FAILED: tired"}], [{"tick": 2}, COMPLETE])
    assert scratch.run().returncode == 0
    assert completed(scratch, "spool logs 002") == [f"plain,{CHANGE}"]
    (kept,) = completed(scratch, "spool checkpoint show 002")
    name = kept.removeprefix("plain,")
    assert name.startswith(CHANGE)
    shown = scratch.spool("checkpoint", "show", name[:-2])
    assert (shown.returncode, "idea.txt" in shown.stdout) == (0, True)


@pytest.mark.parametrize(
    ("shell", "at", "answer"),
    [("bash", "2", f"plain,{CHANGE}"), ("zsh", "2", f"plain\n{CHANGE}\n_"), ("fish", "002", f"plain,{CHANGE}")],
)
def test_each_shell_gets_a_script_and_its_answers(scratch: Scratch, shell: str, at: str, answer: str) -> None:
    script = scratch.spool(env={"_SPOOL_COMPLETE": f"{shell}_source"})
    assert (script.returncode, f"_SPOOL_COMPLETE={shell}_complete" in script.stdout) == (0, True)
    words = {"_SPOOL_COMPLETE": f"{shell}_complete", "COMP_WORDS": "spool run 002", "COMP_CWORD": at}
    assert scratch.spool(env=words).stdout.strip() == answer


def test_a_start_of_a_name_that_two_attempts_share_is_ambiguous(scratch: Scratch) -> None:
    failed = [{"write": "idea.txt"}, {"promise": "FAILED: tired"}]
    scratch.script(failed, failed, [{"tick": 2}, COMPLETE])
    assert scratch.run().returncode == 0
    done = scratch.spool("checkpoint", "show", "002")
    assert (done.returncode, "'002' is ambiguous" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    "words", [["ralph", "--status", "-c", CHANGE], ["ps", "--all"], ["harness", "list"], ["config"]]
)
def test_no_row_of_a_table_wraps_at_60_columns(scratch: Scratch, words: list[str]) -> None:
    usage = {"usage": {"tokens_in": 123_456, "tokens_out": 80_000, "cost_usd": 12.34}}
    scratch.script([usage, {"write": "a.txt"}, {"exit": 7}], [usage, COMPLETE])
    scratch.ralph("Go", "--harness", "scripted")
    scratch.env["COLUMNS"] = "60"
    screen, exit_code = on_a_terminal(scratch, words, answers=[])
    assert exit_code == 0
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in screen.splitlines()]
    first = next(at for at, line in enumerate(lines) if line.startswith(("#  ", "ID  ", "name  ", "setting  ")))
    rows = takewhile(bool, (line.rstrip() for line in lines[first:]))
    assert max(map(len, rows)) <= 60, screen


def test_under_help_is_nothing_but_help(scratch: Scratch) -> None:
    for words in ("report", "land", "new", "verify", "run", "ralph", "tui"):
        assert section(help_of(scratch, words), "Help").strip() == "-h, --help  Show this message and exit.", words
