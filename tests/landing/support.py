"""What the tests of landing share: a repository whose changes have branches and finished loops, with real git."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from spool.domain.judging.gates.gate import Proof
from spool.domain.loop.plan_memory import StoryMemory
from spool.domain.loop.state import LoopState
from spool.domain.loop.summary import LoopKind, Runner, state_path
from spool.domain.loop.verdict import Status
from spool.host.state.loop_store import StateFolder
from tests.support import PATIENCE_S, PYTHON, Scratch, make_scratch

CHECK = f"{PYTHON} -m unittest"
TEST = """import pathlib
import unittest


class {name}(unittest.TestCase):
    def test_{what}(self):
        self.assertTrue({claim})
"""
_RUNNER = Runner(pid=1, start_time="0", boot_id="none", host="none")


@dataclass
class Field:
    """A project with branches that may land."""

    scratch: Scratch

    @property
    def root(self) -> Path:
        return self.scratch.root

    def git(self, *words: str, cwd: Path | None = None) -> str:
        done = subprocess.run(
            ["git", *words], cwd=cwd or self.root, env=self.scratch.env, capture_output=True, text=True,
            timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def tip(self, branch: str = "main") -> str:
        return self.git("rev-parse", f"refs/heads/{branch}")

    def commit(self, files: dict[str, str], message: str, *, cwd: Path | None = None) -> str:
        """Commit files where a person, or an agent, works."""
        for name, text in files.items():
            path = (cwd or self.root) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("add", "--all", cwd=cwd)
        self.git("commit", "--quiet", "--message", message, cwd=cwd)
        return self.git("rev-parse", "HEAD", cwd=cwd)

    def branch(self, change: str, *commits: dict[str, str], base: str = "main") -> str:
        """Make the branch of a change, without touching the tree one stands in."""
        place = self.root.parent / f"place-{change}"
        self.git("worktree", "add", "--quiet", "-b", f"change/{change}", str(place), base)
        for number, files in enumerate(commits, 1):
            tip = self.commit(files, f"{change} {number}", cwd=place)
        self.git("worktree", "remove", str(place))
        return tip

    def finish(self, change: str, proof: Proof | None = Proof.PROVED, status: Status = Status.DONE) -> None:
        """Write the state of a loop that has ended."""
        now = datetime.now(UTC)
        path = state_path(str(self.root), LoopKind.RUN, change)
        folder = StateFolder(Path(path))
        folder.prepare()
        folder.save(
            LoopState(
                run_id=f"run-{change}",
                door=LoopKind.RUN,
                change=change,
                project=str(self.root),
                worktree=str(self.root),
                root=str(self.root),
                folder=path,
                status=status,
                memory=StoryMemory(proof=proof),
                runner=_RUNNER,
                started_at=now,
                updated_at=now,
                ended_at=now,
            )
        )

    def change(self, name: str, *commits: dict[str, str], needs: str = "", base: str = "main") -> str:
        """Make a change that is finished and proved."""
        tip = self.branch(name, *commits, base=base)
        if needs:
            folder = self.root / ".spool" / "changes" / name
            folder.mkdir(parents=True)
            (folder / "proposal.md").write_text(f"---\ndepends_on: [{needs}]\n---\n# {name}\n")
        self.finish(name)
        return tip

    def land(self, *words: str, code: int | None = None, **kwargs: Any) -> subprocess.CompletedProcess[str]:
        done = self.scratch.spool("land", "--verify", CHECK, *words, **kwargs)
        assert code is None or done.returncode == code, f"{done.returncode}: {done.stdout}\n{done.stderr}"
        return done

    def landed(self, *words: str, code: int | None = None) -> dict[str, dict[str, Any]]:
        """Land, and return what became of each change."""
        found = json.loads(self.land("--json", *words, code=code).stdout)
        return {one["change"]: one for one in found["landings"]}

    def fates(self, *words: str, code: int | None = None) -> dict[str, str]:
        return {change: one["fate"] for change, one in self.landed(*words, code=code).items()}

    def leavings(self) -> list[str]:
        """Return what a landing must not leave behind."""
        refs = self.git("for-each-ref", "--format=%(refname)", "refs/spool/landing/").splitlines()
        clones = [str(path) for path in self.scratch.home.rglob(".landing-*")]
        locks = [str(path) for path in (self.root / ".git").glob("*index.*")]
        moves = [str(path) for path in self.scratch.home.rglob("move.json")]
        return [*refs, *clones, *locks, *moves]

    def status(self) -> str:
        return self.git("status", "--porcelain", "--", ".", ":(exclude).spool")

    def is_green(self, commit: str) -> bool:
        """Whether the tests pass in a fresh checkout of a commit."""
        place = self.root.parent / "green"
        self.git("worktree", "add", "--quiet", "--detach", str(place), commit)
        try:
            done = subprocess.run(
                [sys.executable, "-m", "unittest"], cwd=place, capture_output=True, timeout=PATIENCE_S, check=False
            )
            return done.returncode == 0
        finally:
            self.git("worktree", "remove", "--force", str(place))


def part(name: str) -> dict[str, str]:
    """Return the files of work that concerns nobody else."""
    claim = f"pathlib.Path('{name}.txt').exists()"
    return {f"{name}.txt": f"{name}\n", f"test_{name}.py": TEST.format(name=name.title(), what=name, claim=claim)}


def make_field(base: Path) -> Field:
    """Make a project with one green test, and nothing else."""
    field = Field(make_scratch(base))
    files = {
        "shared.txt": "one\ntwo\nthree\n",
        ".gitignore": "__pycache__/\n",
        "test_start.py": TEST.format(name="Start", what="start", claim="True"),
    }
    field.commit(files, "a green start")
    field.scratch.env["PYTHONDONTWRITEBYTECODE"] = "1"
    return field
