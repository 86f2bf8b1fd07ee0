"""After any sequence of attempts, `spool undo` brings back every byte that a person had and that no commit holds."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support import CHANGE, Scratch, wait_for
from tests.support.machine import Warm, end, nobody_left, shell_agent
from tests.support.scale import SCALE, SEED, trials

TASKS = "## 1. One\n\n- [ ] 1.1 A\n\n## 2. Two\n\n- [ ] 2.1 B\n"
AGENT = """
act="$HOME/acts/$SPOOL_ITERATION"
touch "$act.begun"
[ -e "$act" ] && . "$act"
"""
HARM = (
    "rm -f notes.txt",
    "rm -rf deep",
    ": > draft.txt",
    "echo agent > draft.txt",
    "echo agent > deep/er/idea.txt",
    "rm -f .env",
    "echo agent > .env",
    "echo agent > tracked.txt",
    "rm -f tracked.txt",
    "mv notes.txt moved.txt",
    "rm -f notes.txt; mkdir notes.txt; echo agent > notes.txt/inside",
    "git add -A; git commit -qm agent",
    "git stash -uq",
    "git checkout -q -b side; echo agent > side.txt; git add side.txt; git commit -qm side",
    "git clean -fdq",
    "git reset -q --hard",
    "chmod 600 notes.txt",
    "echo new > new.txt",
    "ln -sf /etc/hostname draft.txt",
)
ENDS = ("claim", "claim", "claim", "fail", "silent", "crash", "kill", "stop", "done")
SAYS = {
    "claim": "echo '<promise>COMPLETE</promise>'",
    "fail": "echo '<promise>FAILED: no</promise>'",
    "silent": "echo nothing",
    "crash": "exit 3",
    "kill": "touch $HOME/ready; sleep 600",
    "stop": "touch $HOME/ready; sleep 600",
    "done": "sed -i '0,/\\[ \\]/s//[x]/' $SPOOL_TASK_FILE; echo '<promise>COMPLETE</promise>'",
}
Files = dict[str, tuple[str, bytes]]
COUNT = trials(round(1000 * SCALE), least=3)
"""A thousand in the long profile; each takes a second or more, so the suite plays very few."""
WORDS = ("run", CHANGE, "--harness", "mine")


def test_undo_brings_back_what_a_person_had_after_any_sequence_of_attempts(scratch: Scratch, warm: Warm) -> None:
    (scratch.change / "tasks.md").write_text(TASKS)
    (scratch.root / ".gitignore").write_text(".env\n")
    (scratch.root / "tracked.txt").write_text("tracked\n")
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", "plan")
    shell_agent(scratch, AGENT, name="mine")
    config = scratch.home / ".config" / "spool" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[harnesses.mine]\nargv = ["mine"]\n')
    shutil.copytree(scratch.root, scratch.home / "project", symlinks=True)
    began_s = time.monotonic()
    for number in range(COUNT):
        seed = SEED + number
        with anew(scratch):
            Sequence(scratch, warm, random.Random(seed)).play(f"sequence {number}, SPOOL_SEED={seed}")
    print(f"{COUNT} sequences in {time.monotonic() - began_s:.0f} s")


@contextmanager
def anew(scratch: Scratch) -> Iterator[None]:
    """Start from the same repository each time."""
    shutil.rmtree(scratch.root)
    shutil.copytree(scratch.home / "project", scratch.root, symlinks=True)
    shutil.rmtree(scratch.home / "acts", ignore_errors=True)
    (scratch.home / "acts").mkdir()
    yield
    nobody_left(scratch)


class Sequence:
    """A person, an agent that misbehaves, and what the person had."""

    def __init__(self, scratch: Scratch, warm: Warm, chance: random.Random) -> None:
        self._scratch = scratch
        self._warm = warm
        self._chance = chance
        self._told: list[str] = []

    def play(self, name: str) -> None:
        self._edit()
        story = run = self._mine()
        for turn in range(self._chance.randint(1, 3)):
            if turn and self._chance.random() < 0.5:
                self._edit()
            had, agents = self._mine(), self._iterations
            self._run()
            if self._iterations > agents:  # a run that starts no agent leaves the beginning of the one before
                run = had
        self._told.append("undo --run")
        self._check(self._undo("--run"), run, name)
        if not self._accepted:
            self._told.append("undo")
            self._check(self._undo(), story, name)

    def _check(self, found: Files, had: Files, name: str) -> None:
        """Compare all files; new ignored ones stay, and those of accepted work are not kept."""
        if ".env" not in had or self._finished:
            found, had = ({name: file for name, file in some.items() if name != ".env"} for some in (found, had))
        assert found == had, f"{name}: {self._told}\n{self._warm.errors('undo')}"

    @property
    def _accepted(self) -> bool:
        return '"StoryDone"' in self._journal

    @property
    def _finished(self) -> bool:
        return '"Complete"' in self._journal

    @property
    def _journal(self) -> str:
        return (self._scratch.run_state / "journal.jsonl").read_text()

    def _edit(self) -> None:
        """Write files as a person does, tracked, untracked, ignored and staged."""
        root, text = self._scratch.root, f"mine {self._chance.random()}\n"
        for name in self._chance.sample(["notes.txt", "draft.txt", "deep/er/idea.txt", ".env", "tracked.txt"], 3):
            path = root / name
            if path.is_dir() or path.parent.is_symlink() or path.parent.is_file():
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            path.write_text(text + name)
        self._told.append("edit")

    def _mine(self) -> Files:
        """Return every file with its bytes, git's and Spool's own aside."""
        found = {}
        for folder, names, files in os.walk(self._scratch.root):
            names[:] = [name for name in names if name not in (".git", ".state")]
            for name in files:
                path = Path(folder, name)
                content = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
                found[str(path.relative_to(self._scratch.root))] = (oct(path.lstat().st_mode), content)
        return found

    def _run(self) -> None:
        """Start the loop, with a few attempts to come; the last may end with the runner."""
        first = self._iterations + 1
        for number in range(first, first + 8):
            harm = self._chance.sample(HARM, self._chance.randint(0, 3))
            how = self._chance.choice(ENDS)
            (self._scratch.home / "acts" / str(number)).write_text("\n".join([*harm, SAYS[how]]))
            self._told.append(f"{number}: {harm}, {how}")
        ready = self._scratch.home / "ready"
        ready.unlink(missing_ok=True)
        resume = self._chance.choice(([], ["--on-resume", "keep"], ["--on-resume", "revert"]))
        commit = self._chance.choice(([], ["--commit-stories", "--include-dirty"]))
        self._told.append(f"run {resume} {commit}")
        pid = self._warm.start("spool", *WORDS, *resume, *commit, name="run")
        wait_for(lambda: ready.exists() or self._warm.ended(pid), "the end of a run")
        if ready.exists():
            how = "kill" if "kill" in self._told_of(self._iterations) else "stop"
            end(pid, signal.SIGKILL if how == "kill" else signal.SIGINT)
        self._warm.wait(pid)
        nobody_left(self._scratch)

    def _told_of(self, iteration: int) -> str:
        return next(text for text in reversed(self._told) if text.startswith(f"{iteration}: ")).rpartition(", ")[2]

    @property
    def _iterations(self) -> int:
        return len(list((self._scratch.home / "acts").glob("*.begun")))

    def _undo(self, *words: str) -> Files:
        """Undo, now and then killed with -9 on the way."""
        for _ in range(self._chance.choice([0, 0, 0, 1, 2])):
            pid = self._warm.start("spool", "undo", "--yes", *words, name="killed")
            time.sleep(self._chance.uniform(0, 0.25))
            end(pid)
            self._warm.wait(pid)
            self._told.append("undo killed")
        pid = self._warm.start("spool", "undo", "--yes", *words, name="undo")
        code = self._warm.wait(pid)
        assert code == 0, f"{self._told}\n{self._warm.errors('undo')}"
        return self._mine()
