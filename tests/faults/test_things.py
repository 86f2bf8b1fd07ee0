"""Whatever stands in the place of a file that Spool reads, no command waits for it."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

import pytest

from spool.host.state.places import path_key
from tests.faults.things import KINDS
from tests.support import CHANGE, PATIENCE_S, Scratch
from tests.support.scale import SCALE

PROJECT = Path(__file__).parents[2]
MOST_CPU_S = 1.0
"""Processor time: on a machine at a load of 48 a second passes without any work."""
QUICK = (
    ["ps", "--all"],
    ["run", CHANGE, "--status", "--json"],
    ["report", CHANGE],
    ["logs", CHANGE],
    ["land", "--status"],
    ["list"],
    ["config"],
)
SHARED = ("loops", "specs")
SLOW = (["checkpoint", "list"], ["doctor"], ["run", CHANGE, "--harness", "scripted"])
NAMED = {  # what a command cannot do without is refused by name
    "state.json": "run",
    "history.jsonl": "run",
    "context.md": "run",
    "journal.jsonl": "logs",
    "tasks.md": "list",
    "proposal.md": "list",
    "config.toml": "config",
}


class Played(NamedTuple):
    """What a command did beside a thing."""

    kind: str
    file: str
    words: list[str]
    code: int | None
    took_s: float
    said: str


@pytest.fixture
def used(scratch: Scratch) -> Scratch:
    """A project with a finished run, a discarded attempt, settings, a note, and a loop that ended."""
    scratch.script([{"tick": 1}, {"say": "no promise"}], [{"tick": 1}, {"promise": "COMPLETE"}])
    (scratch.root / ".spool" / "config.toml").write_text("max_retries = 1\n")
    assert scratch.run("--add-context", "The port is 8080").returncode == 0
    assert scratch.run().returncode in (0, 1)
    scratch.spool("trust", "--grant")
    landings = scratch.home / ".local" / "state" / "spool" / "landings" / path_key(scratch.root / ".git")
    landings.mkdir(parents=True)
    (landings / f"change-{CHANGE}.json").write_text("{}")
    return scratch


def kept_files(scratch: Scratch) -> list[Path]:
    """Return every file that Spool keeps or reads, as the disk has them: none is listed from memory."""
    # Not git's own files: git itself waits for them, for as long as a command of git may take.
    roots = (scratch.root / ".spool", scratch.root / ".git" / "spool", scratch.home)
    found = [path for root in roots for path in root.rglob("*") if path.is_file() and is_own(path)]
    return sorted(found)


def is_own(path: Path) -> bool:
    """Whether a file is not git's alone, and not that of a later iteration like the first one's."""
    git_alone = "shadow" in path.parts and path.parent.name not in ("snapshots", "discarded")
    return not git_alone and not path.name.startswith(("0002.", "0003."))


def played(scratch: Scratch, plays: list[tuple[str, Path, list[str]]]) -> list[Played]:
    about = {
        "root": str(scratch.root),
        "output": str(scratch.root.parent / "said"),
        "plays": [(kind, str(path), words) for kind, path, words in plays],
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.things"],
        input=json.dumps(about),
        env={**scratch.env, "PYTHONPATH": str(PROJECT)},
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=20 * PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [Played(*json.loads(line)) for line in done.stdout.splitlines()]


def wrong(found: list[Played], most_s: float = MOST_CPU_S) -> Iterator[Played]:
    """Yield those that hang, take long, break, or refuse a file without naming it."""
    for one in found:
        broken = "Traceback" in one.said or "internal error" in one.said
        if one.code is None or one.took_s > most_s or broken:
            yield one
        elif ".spool" in one.file and not (one.kind in ("growing", "sparse") and one.file.endswith(".jsonl")):
            name = Path(one.file).name  # what is not a line of a journal is skipped
            if NAMED.get(name) == one.words[0] and name not in one.said and one.kind != "growing":
                yield one


def test_no_command_waits_for_what_stands_in_the_place_of_a_file(used: Scratch) -> None:
    files, kinds, turn = kept_files(used), [*KINDS, "growing"], cycle(QUICK)
    plays = [(kind, path, words) for kind in kinds for path in files for words in QUICK]
    if SCALE < 1:  # a pipe in every place, other things where they are refused by name; one command each
        reader = {words[0]: words for words in QUICK}
        plays = [("fifo", path, words) for path in files if path.parent.name in SHARED for words in QUICK]
        plays += [("fifo", path, next(turn)) for path in files]
        named = [path for path in files if path.name in NAMED and ".git" not in path.parts]
        plays += [(kind, path, reader[NAMED[path.name]]) for kind in kinds for path in named]
    found = played(used, plays)
    assert len(found) == len(plays)
    assert list(wrong(found)) == []


def test_no_run_waits_for_a_pipe_in_the_place_of_its_locks_or_its_identity(used: Scratch) -> None:
    own = used.root / ".git" / "spool"
    files = [own / "worktree", next((own / "locks").iterdir())] if SCALE < 1 else kept_files(used)
    found = played(used, [("fifo", path, words) for path in files for words in SLOW])
    assert list(wrong(found, most_s=10 * MOST_CPU_S)) == []


def test_a_prompt_comes_from_a_file_or_a_shell_and_not_from_a_pipe_that_nobody_writes(scratch: Scratch) -> None:
    os.mkfifo(scratch.root / "prompt")
    done = scratch.ralph("--prompt-file", "prompt")
    assert (done.returncode, "prompt is not a file" in done.stderr) == (2, True)
    for source in (["new", "--from", "prompt"], ["run", "prompt.md"]):
        (scratch.root / "prompt.md").unlink(missing_ok=True)
        os.mkfifo(scratch.root / "prompt.md")
        done = scratch.spool(*source)
        assert (done.returncode, "is not a file" in done.stderr) == (2, True), done.stderr
    shell = f"{shlex.join(scratch.argv('ralph', '--change', CHANGE))} --prompt-file <(sleep 0.1)"
    done = subprocess.run(["bash", "-c", shell], cwd=scratch.root, env=scratch.env, capture_output=True, text=True)
    assert (done.returncode, "is empty" in done.stderr) == (2, True), done.stderr
