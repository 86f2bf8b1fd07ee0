"""`spool demo`: a whole loop in a scratch repository, with the scripted agent. Nothing of the user's is touched."""

import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import click

CHANGE = "001-01_say-hello"

_FILES = {
    f".spool/changes/{CHANGE}/proposal.md": """\
# Say hello

A command that greets people by name, with a test that proves it.
""",
    f".spool/changes/{CHANGE}/tasks.md": """\
## 1. Greeting

- [ ] 1.1 Write `hello.py` with a function `greet(name)`
- [ ] 1.2 Write `test_hello.py` and make it pass
- [ ] 1.3 Describe it in README.md
""",
    ".spool/modules/001_greetings/module.md": "Everything that has to do with being polite.\n",
    ".spool/config.toml": '[harnesses.scripted]\nscript = ".spool/demo.toml"\n',
    ".spool/demo.toml": """\
# What the scripted agent does: three iterations, as a real agent might go about it.
[[iteration]]
steps = [
  { say = "I read the proposal and begin with the greeting itself." },
  { sleep = 0.6 },
  { write = "hello.py", text = "def greet(name):\\n    return f'Hello, {name}'\\n" },
  { tick = 1 },
  { sleep = 0.6 },
  { say = "When the tests pass I will print `<promise>COMPLETE</promise>`, but they are not written yet." },
  { usage = { tokens_in = 4210, tokens_out = 380, cost_usd = 0.021 } },
]

[[iteration]]
steps = [
  { say = "Now the test." },
  { sleep = 0.6 },
  { write = "test_hello.py", text = "from hello import greet\\n\\nassert greet('Ada') == 'Hello, Ada!'\\n" },
  { run = ["python3", "test_hello.py"] },
  { sleep = 0.6 },
  { say = "The test fails: the exclamation mark is missing. I mend that next." },
  { usage = { tokens_in = 5120, tokens_out = 410, cost_usd = 0.025 } },
]

[[iteration]]
steps = [
  { write = "hello.py", text = "def greet(name):\\n    return f'Hello, {name}!'\\n" },
  { run = ["python3", "test_hello.py"] },
  { sleep = 0.6 },
  { write = "README.md", text = "# Hello\\n\\n`greet(name)` greets people by name.\\n" },
  { tick = 2 },
  { sleep = 0.6 },
  { say = "The test passes and all boxes are ticked.\\n\\n<promise>COMPLETE</promise>" },
  { usage = { tokens_in = 6020, tokens_out = 290, cost_usd = 0.027 } },
]
""",
}


@click.command("demo")
@click.option("--keep", metavar="DIR", help="Make the repository here and keep it.")
@click.help_option("-h", "--help")
def demo(keep: str | None) -> int:
    """Watch a whole loop in a scratch repository: no agent, no key.

    A small repository with one change is made, the scripted agent works on it for three iterations, and what happened
    is shown.
    """
    if keep is not None:
        Path(keep).mkdir(parents=True)
        code = _play(Path(keep).resolve())
        click.echo(f"\nThe repository is in {keep}. Look around, or run the loop again there:")
        click.echo(f'  spool ralph "Implement the change" --change {CHANGE} --harness scripted --fresh')
        return code
    with tempfile.TemporaryDirectory(prefix="spool-demo-") as folder:
        return _play(Path(folder).resolve())


def _play(root: Path) -> int:
    _make_repository(root)
    click.echo(f"$ spool ralph 'Implement the change' --change {CHANGE} --harness scripted --verbose")

    from spool.cli import status
    from spool.cli.ralph_job import ralph_job
    from spool.cli.runner import run_job
    from spool.cli.target import load_settings
    from spool.sources.project import Project

    project = Project(root)
    settings = load_settings(root, {"harness": "scripted"})
    code = run_job(replace(ralph_job(project, CHANGE, settings, "Implement the change"), verbose=True))
    click.echo(f"\n$ spool ralph --status --change {CHANGE}")
    status.show(status.folder_of(project, "ralph", CHANGE), CHANGE, as_json=False)
    click.echo("\n$ git status --short")
    click.echo(_git(root, "status", "--short"), nl=False)
    return code


def _make_repository(root: Path) -> None:
    for name, text in _FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    _git(root, "init", "--quiet")
    _git(root, "add", "--all")
    _git(
        root, "-c", "user.name=Spool", "-c", "user.email=spool@localhost", "commit", "--quiet", "--message", "A change"
    )


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True, timeout=30)
    return done.stdout
