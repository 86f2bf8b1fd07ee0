"""Every command that prints, in a repository full of escape sequences: none of them reaches a terminal."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from spool.cli.main import spool
from spool.cli.options.target import _row
from spool.cli.wt.main import wt_loop
from spool.domain.change.change import ChangeInfo
from spool.views.say import json_text
from tests.support import CHANGE, PATIENCE_S, Scratch, warm
from tests.support.hostile import ACTIVE, NASTY, ON_TWO_LINES, make_hostile, toml

pytestmark = pytest.mark.xdist_group("foreign text")  # one repository for all
VALUES = {"prompt": ["Go"], "task": ["Go"], "names": [CHANGE], "change_id": [CHANGE]}
"""What to give for an argument; a change for all others."""


def commands(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command of a tree with the words that call it."""
    if not isinstance(command, click.Group):
        yield words, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from commands(found, (*words, name))


def calls(command: click.Command, values: dict[str, list[str]], otherwise: str) -> Iterator[list[str]]:
    """Yield the arguments to call a command with: plain, and with each option that shows something in another form."""
    arguments = [param for param in command.params if isinstance(param, click.Argument)]
    given = [word for one in arguments for word in values.get(one.name or "", [otherwise])]
    options = {name for param in command.params if isinstance(param, click.Option) for name in param.opts}
    shown = [["--json"], ["--status", "--change", CHANGE], ["--all"], ["--status", "--json", "--change", CHANGE]]
    yield given
    yield ["--help"]
    yield from ([*word, *given] for word in shown if options.issuperset({one for one in word if one.startswith("--")}))
    yield from (word for word in shown if "--status" in word and "--status" in options)


TREES = [
    ("spool", words, found)
    for words, found in commands(spool)
    if words not in (("web",), ("fleet", "up"), ("fleet", "worker"))
]
"""Without those that do not end by themselves; `spool web` has a test of its own."""
TREES += [("wt-loop", words, found) for words, found in commands(wt_loop)]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    return make_hostile(tmp_path_factory)


def run(scratch: Scratch, program: str, words: list[str]) -> tuple[str, str]:
    done = warm.run(
        (scratch.argv if program == "spool" else scratch.wt_argv)(*words),
        cwd=scratch.root, env=scratch.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S,
        text=True, encoding="utf-8",
    )  # fmt: skip
    return done.stdout, done.stderr


def clean_of_controls(words: list[str], *texts: str) -> None:
    for text in texts:
        assert not ACTIVE.search(text), (words, ACTIVE.findall(text), text[:2_000])
        assert not [line for line in text.split("\n") if line.startswith("FORGED")], (words, text[:2_000])
        assert "Traceback" not in text, (words, text[-2_000:])


@pytest.mark.parametrize(("program", "words", "command"), TREES, ids=[" ".join((one[0], *one[1])) for one in TREES])
def test_no_control_of_the_repositorys_reaches_the_terminal(
    hostile: Scratch, program: str, words: tuple[str, ...], command: click.Command
) -> None:
    attempts = json.loads(run(hostile, "spool", ["checkpoint", "list", "--json"])[0])["discarded"]
    values = {**VALUES, "name": [attempts[0]["name"]]} if words[0] == "checkpoint" else VALUES
    for arguments in [*calls(command, values, CHANGE), *([NASTY],)]:
        clean_of_controls([program, *words, *arguments], *run(hostile, program, [*words, *arguments]))


def test_an_exact_patch_is_written_to_a_file(hostile: Scratch) -> None:
    listed = json.loads(run(hostile, "spool", ["checkpoint", "list", "--json"])[0])["discarded"]
    path = hostile.home / "exact.patch"
    names = [one["name"] for one in listed]
    shown_of = {name: run(hostile, "spool", ["checkpoint", "diff", name]) for name in names}
    name = next(name for name, (shown, _) in shown_of.items() if "FORGED" in shown)
    shown, complaint = shown_of[name]
    assert "Control characters are left out" in complaint
    run(hostile, "spool", ["checkpoint", "diff", name, "--output", str(path)])
    assert "\x1b]52;c;AAAA\x07" in path.read_bytes().decode()
    assert "+FORGED" in shown


@pytest.mark.parametrize("text", ['"{0}" = 1\n', 'harness = "{0}"\n', 'max_retries = "{0}"\n', '"{0}'])
@pytest.mark.parametrize("words", [["config"], ["ralph", "Go", "-c", CHANGE], ["harness", "list"], ["trust"]])
def test_no_control_reaches_the_terminal_in_an_error_about_settings(
    scratch: Scratch, text: str, words: list[str]
) -> None:
    quoted = toml(ON_TWO_LINES)[1:-1]
    (scratch.root / ".spool" / "config.toml").write_text(text.replace("{0}", quoted))
    clean_of_controls(words, *run(scratch, "spool", words))


def test_json_keeps_the_text_and_escapes_what_acts_on_a_terminal() -> None:
    text = json_text({"a": NASTY})
    assert not ACTIVE.search(text)
    assert json.loads(text) == {"a": NASTY}


def test_the_picker_shows_titles_without_controls() -> None:
    row = _row(ChangeInfo(id="a", source=".spool", title=ON_TWO_LINES, done=1, total=2))
    assert not ACTIVE.search(row)
    assert "\n" not in row


def test_nothing_prints_but_one_module() -> None:
    """A new command gets its output cleaned because there is no other way to print."""
    source = Path(__file__).parents[2] / "src" / "spool"
    printing = re.compile(r"\bclick\.s?echo|(?<![\w.])print\(|sys\.std(?:out|err)\.(?:buffer\.)?write")
    found = {
        str(path.relative_to(source))
        for package in ("cli", "views", "app", "tui", "web", "fleet")
        for path in (source / package).rglob("*.py")
        if printing.search(path.read_text())
    }
    assert found == {"views/say.py", "views/live/line_view.py", "cli/edge.py", "app/observing/observers.py"}
