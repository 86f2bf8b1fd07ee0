"""Every choice joined to every other: real loops of two stories, each of which ends in what the docs say."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.docs.stage import TESTS
from tests.journeys.pairs import Row, pairs_of, rows
from tests.journeys.person import AGENT
from tests.support import PATIENCE_S, PYTHON, Scratch, make_scratch, wait_for
from tests.support.sandboxed import NO_SANDBOX

FACTORS = {
    "door": ("run", "ralph", "wt-loop", "api"),
    "source": ("spool", "openspec", "plan file"),
    "workspace": ("here", "worktree", "clone"),
    "sandbox": ("off", "on"),
    "checks": ("none", "green", "red before"),
    "baseline": ("tolerant", "strict"),
    "agent": ("command", "json"),
    "attended": ("foreground", "detached", "attached"),
    "settings": ("file", "flag", "variable"),
    "git": ("clean", "dirty", "untracked", "no commits", "no git"),
}
STORIES = "## 1. Discounts\n\n- [ ] Orders of 100 or more cost less\n\n## 2. Receipts\n\n- [ ] Print a receipt\n"
GREEN = TESTS[: TESTS.index("    def test_discount")]
OWN = '[harnesses.worker]\nargv = ["worker"]\n'
MINE = "my own words\n"
# The agent of the journeys; the plain one prints text instead of JSON, and in ralph both do everything at once.
EVERYTHING = AGENT.replace("    work()\n        end(", "    work(); 'Do everything' in prompt and work()\n        end(")
PLAIN = EVERYTHING.replace("def say(text):\n", "def say(text):\n    return print(text, flush=True)\n").replace(
    "    say(text)\n    print(json", "    sys.exit(say(text))\n    print(json"
)
API = """
import sys
from spool import api
row, spec = {row}, {spec}
loop = api.start(api.loop_spec({change!r}, **spec), workspace=row["workspace"])
sys.exit(0 if row["attended"] == "detached" else int(loop.wait()))
"""


def allowed(row: Row) -> bool:
    """Return whether the choices can be made together at all."""
    if row["door"] == "wt-loop":  # it works in worktrees, on changes, in the background
        return row["workspace"] == "worktree" and row["source"] != "plan file" and row["attended"] != "foreground"
    return True


def refused(row: Row) -> bool:
    """Return whether the docs say that nothing starts."""
    elsewhere = row["workspace"] != "here" or row["sandbox"] == "on"
    if row["git"] == "no git":
        return row["door"] != "ralph" or elsewhere
    if row["git"] == "no commits" and elsewhere:
        return True
    return row["sandbox"] == "on" and row["workspace"] != "clone"


ROWS = rows(FACTORS, allowed)
IDS = ["-".join(row.values()).replace(" ", "_") for row in ROWS]
THIN = 12
"""How many rows are in `make test`; the rest are long."""


def test_every_pair_that_can_occur_occurs_in_some_row() -> None:
    covered = set().union(*(pairs_of(row) for row in ROWS))
    assert (("door", "api"), ("git", "dirty")) in covered
    assert (("door", "wt-loop"), ("source", "plan file")) not in covered
    assert len(ROWS) < 60


class Play:
    """One row, set up in a project of its own."""

    def __init__(self, row: Row, base: Path) -> None:
        self.row = row
        self.at: Scratch = make_scratch(base, git=False)
        shutil.rmtree(self.at.root / ".spool")
        self.change = "PLAN.md" if row["source"] == "plan file" else "add-shop"
        self.flags: list[str] = []
        self.spec: dict[str, object] = {}
        self._write_project()
        self._write_plan()
        self._hire()
        self._set_up()
        self._use_git()

    def _put(self, name: str, text: str) -> None:
        path = self.at.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def _write_project(self) -> None:
        self._put("shop.py", "def total(prices):\n    return sum(prices)\n")
        self._put("test_shop.py", GREEN if self.row["checks"] == "green" else TESTS)
        self._put("Makefile", f"test:\n\t{PYTHON} -B -m unittest -v\n")
        self._put("README.md", "a shop\n")

    def _write_plan(self) -> None:
        if self.row["source"] == "plan file":
            self._put("PLAN.md", f"# A better shop\n\n{STORIES}")
            return
        folder = ".spool/changes/add-shop" if self.row["source"] == "spool" else "openspec/changes/add-shop"
        self._put(f"{folder}/proposal.md", "# A better shop\n\n## Why\n\nIt sells too little.\n")
        self._put(f"{folder}/tasks.md", STORIES)

    def _hire(self) -> None:
        self.at.agent(PLAIN, "worker")
        self.at.agent(EVERYTHING, "claude")
        own = self.at.home / ".config/spool/config.toml"
        own.parent.mkdir(parents=True)
        own.write_text(OWN)
        self.at.env["SPOOL_CLAUDE_AS_ROOT"] = "pretend-sandbox"

    def _set_up(self) -> None:
        values: dict[str, object] = {
            "harness": "worker" if self.row["agent"] == "command" else "claude",
            "baseline": self.row["baseline"],
            "allow_all": True,
            "stall_iterations": 3,
        }
        if self.row["door"] == "api" and self.row["settings"] == "flag":
            self.spec |= values
        elif self.row["settings"] == "flag":
            self.flags += ["--harness", str(values["harness"]), "--baseline", self.row["baseline"], "--allow-all"]
        elif self.row["settings"] == "variable":
            self.at.env |= {f"SPOOL_{name.upper()}": str(value).lower() for name, value in values.items()}
        lines = [f"{name} = {json.dumps(value)}\n" for name, value in values.items()]
        in_file = "".join(lines) if self.row["settings"] == "file" else ""
        if self.row["checks"] != "none":
            in_file += '\n[[gates]]\nname = "tests"\nrun = "make test"\n'
        if in_file:
            self._put(".spool/config.toml", in_file)
        if self.row["sandbox"] == "on":
            self.at.env["SPOOL_SANDBOX"] = "true"

    def _use_git(self) -> None:
        if self.row["git"] != "no git":
            self.at.git("init", "--quiet", "--initial-branch=main")
        if self.row["git"] in ("clean", "dirty", "untracked"):
            self.at.git("add", "--all")
            self.at.git("commit", "--quiet", "--message", "a shop")
        if self.row["git"] == "dirty":
            self._put("README.md", MINE)
        if self.row["git"] == "untracked":
            self._put("notes.txt", MINE)
        if (self.at.root / ".spool/config.toml").exists():
            self.at.trust()

    def start(self) -> subprocess.CompletedProcess[str]:
        """Start the loop; in the foreground, or from Python, wait for its end as well."""
        detach = [] if self.row["attended"] == "foreground" else ["--detach"]
        place = ["--in", self.row["workspace"]]
        match self.row["door"]:
            case "run":
                return self.at.spool("run", self.change, *self.flags, *place, *detach)
            case "ralph":
                named = "--plan" if self.row["source"] == "plan file" else "--change"
                return self.at.spool("ralph", "Do everything", named, self.change, *self.flags, *place, *detach)
            case "wt-loop":
                words = ("start", self.change, "Do everything", "--create", "--terminal", "none", *self.flags)
                return self.at.wt_loop(*words)
            case "api":
                code = API.format(row=self.row, spec=self.spec, change=self.change)
                argv = [sys.executable, "-c", code]
                return subprocess.run(
                    argv, cwd=self.at.root, env=self.at.env, capture_output=True, text=True, timeout=PATIENCE_S
                )
            case other:
                raise AssertionError(other)

    def ended(self) -> dict[str, object]:
        """Return the entry of the loop in the registry once its runner has ended."""

        def finished() -> list[dict[str, object]]:
            listed = json.loads(self.at.spool("ps", "--all", "--json").stdout)
            return [loop for loop in listed if loop["status"] != "running"]

        return wait_for(finished, "the end of the loop")[0]

    def file(self, name: str) -> str:
        """Return a file where the work ended."""
        if self.row["door"] == "wt-loop":
            return (self.at.root.parent / "project-wt-add-shop" / name).read_text()
        if self.row["workspace"] == "here":
            return (self.at.root / name).read_text()
        return self.at.git("show", f"change/{self.change}:{name}")


@pytest.fixture
def play(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Play]:
    """The row's project; a loop that is left over is stopped."""
    made = Play(request.param, tmp_path)
    yield made
    made.at.spool("stop", "--all-projects")


def _marked() -> list[ParameterSet]:
    """Return the rows; all but a thin slice are long."""
    marks = [() if number < THIN else pytest.mark.long for number in range(len(ROWS))]
    return [pytest.param(row, id=name, marks=mark) for row, name, mark in zip(ROWS, IDS, marks, strict=True)]


@pytest.mark.parametrize("play", _marked(), indirect=True)
def test_a_loop_ends_in_what_the_docs_say(play: Play) -> None:
    row = play.row
    if row["sandbox"] == "on" and NO_SANDBOX:
        pytest.skip(NO_SANDBOX)
    done = play.start()
    if refused(row):
        assert done.returncode in (1, 2), done.stdout + done.stderr
        assert "[x]" not in "".join(path.read_text() for path in play.at.root.rglob("*.md"))
        return
    assert done.returncode == 0, done.stdout + done.stderr
    if row["attended"] == "attached" and row["door"] != "api":
        attach = play.at.wt_loop if row["door"] == "wt-loop" else play.at.spool
        assert attach("attach", play.change).returncode == 0
    assert play.ended()["status"] == "done"
    assert "discounted" in play.file("shop.py") and "Total" in play.file("receipt.py")
    if row["git"] == "dirty":
        assert (play.at.root / "README.md").read_text() == MINE
    if row["git"] == "untracked":
        assert (play.at.root / "notes.txt").read_text() == MINE
    report = play.at.spool("report", play.change).stdout
    assert ("agent's word" if row["checks"] == "none" else "proved") in report, report
