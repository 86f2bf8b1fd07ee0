"""Play every case by hand, without Spool, and check what it claims about its project.

Usage: python -m tests.liars.blind.validate [NAME...]
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path

from .case import DOORS, OUTSIDE, Case
from .projects import CHANGE
from .table import CASES

PROMISE = "<promise>COMPLETE</promise>"
TIMEOUT_S = 120
DECIDERS = (
    *("test_*.py", "*_test.py", "*.test.js", "conftest.py", "pytest.py", "unittest.py", "sitecustomize.py", "quiet.py"),
    *("pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml", "package.json"),
    *("Makefile", "GNUmakefile", "check.sh", "lint.sh"),
)
"""Names of tests and of what decides about them, for the replay by hand."""
TEST_FOLDERS = ("tests", "test", "spec", "ci")


class Player:
    """One case in a folder of its own."""

    def __init__(self, case: Case, base: Path) -> None:
        self.case, self.base, self.root = case, base, base / "project"
        self.faults: list[str] = []
        for folder in ("project", "outside", "home"):
            (base / folder).mkdir()
        self.env = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(base / "home"),
            "LANG": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            **{f"GIT_{who}_NAME": "Test" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "test@example.com" for who in ("AUTHOR", "COMMITTER")},
        }

    def fill(self, text: str) -> str:
        return text.replace(OUTSIDE, str(self.base / "outside"))

    def expect(self, holds: bool, fault: str) -> None:
        if not holds:
            self.faults.append(fault)

    def bash(self, script: str, cwd: Path, timeout_s: float = TIMEOUT_S) -> tuple[int, str]:
        """Run a script in a session of its own, end what it leaves behind, return its status and output."""
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                ["bash", "-c", self.fill(script)],
                cwd=cwd, env=self.env, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
            status = wait(process, timeout_s)
            output.seek(max(0, output.seek(0, os.SEEK_END) - 100_000))
            return status, output.read().decode(errors="replace")

    def gates(self, cwd: Path) -> str:
        """Run all gates and return their color."""
        tables = tomllib.loads(self.fill(self.case.config)).get("gates", [])
        runs = [(gate, TIMEOUT_S) for gate in self.case.gates]
        runs += [(table["run"], table.get("timeout", TIMEOUT_S)) for table in tables]
        self.said = ""
        for command, timeout_s in runs:
            status, self.said = self.bash(command, cwd, timeout_s)
            if status:
                return "red"
        return "green"

    def write(self) -> None:
        for name, text in self.case.files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.fill(text))
            path.chmod(0o755 if text.startswith("#!") else 0o644)
        status, said = self.bash("git init -q -b main && git add -A && git commit -q -m start", self.root)
        self.expect(status == 0, f"git fails: {said}")

    def play(self) -> list[str]:
        case, plays = self.case, self.case.plays
        self.write()
        old = self.base / "old"
        shutil.copytree(self.root, old, symlinks=True)
        before = self.gates(self.root)
        self.color("before", plays.before, before)
        steps = case.steps if case.accept or len(case.steps) > 1 else case.steps * 2
        for script in steps:
            _, said = self.bash(script, self.root)
            self.expect(
                bool(said) and said.splitlines()[-1] == PROMISE, f"a step does not end with the promise: {said[-300:]}"
            )
        new = self.base / "new"
        shutil.copytree(self.root, new, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
        self.difference(old, new)
        after = self.gates(self.root)
        self.color("after", plays.after, after)
        for check in case.checks:
            status, said = self.bash(check, self.root)
            self.expect(status == 0, f"check fails: {check}: {said[-300:]}")
        replay = self.laid("replay", source=new, tests=old) if plays.replay else None
        self.color("replay", plays.replay, replay)
        on_old = self.laid("on_old", source=old, tests=new) if plays.on_old else None
        self.color("on_old", plays.on_old, on_old)
        self.consistent(before, after, replay, on_old)
        return self.faults

    def color(self, what: str, claimed: str | None, seen: str | None) -> None:
        self.expect(claimed in (None, seen), f"{what}: claimed {claimed}, is {seen}: {self.said[-600:]}")

    def laid(self, name: str, *, source: Path, tests: Path) -> str:
        """Return the color of one tree's source under another tree's tests and settings."""
        target = self.base / name
        shutil.copytree(source, target, symlinks=True)
        for path in [path for path in files(target) if decides(path)]:
            (target / path).unlink()
        for path in [path for path in files(tests) if decides(path)]:
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(tests / path, target / path)
        return self.gates(target)

    def difference(self, old: Path, new: Path) -> None:
        """Check that an accepted claim has work to show, and that no edit can meet a stale .pyc."""
        was, now = ({path: (tree / path).read_bytes() for path in files(tree)} for tree in (old, new))
        changed = {path for path in was.keys() | now.keys() if was.get(path) != now.get(path)}
        self.work = {path for path in changed if not path.startswith(CHANGE)}
        if self.case.accept and "--allow-empty" not in self.case.flags:
            self.expect(bool(self.work), "accepted without work")
        for path in sorted(self.work & was.keys() & now.keys()):
            if path.endswith(".py"):
                self.expect(len(was[path]) != len(now[path]), f"{path} keeps its size: a stale .pyc may hide the edit")

    def consistent(self, before: str, after: str, replay: str | None, on_old: str | None) -> None:
        """Check that the verdict follows from what was seen."""
        case = self.case
        if case.verdict == "proved":
            turned = (before, after) == ("red", "green")
            self.expect(turned or on_old == "red", "proved, but nothing was red on the base")
        if case.verdict == "unbroken" and not case.also and before == "green":
            self.expect(on_old != "red", "unbroken, but a new test is red on the base")
        if not case.accept:
            caught = after == "red" or replay == "red" or not self.work or bool(case.checks)
            self.expect(caught or "proof" in case.flags, "refused, but nothing here shows why")


def wait(process: subprocess.Popen[bytes], timeout_s: float) -> int:
    """Wait for a session's leader, end the session, and only then reap the leader, so that no pid is reused."""
    options, end = os.WEXITED | os.WNOWAIT | os.WNOHANG, time.monotonic() + timeout_s
    while os.waitid(os.P_PID, process.pid, options) is None and time.monotonic() < end:
        time.sleep(0.02)
    late = os.waitid(os.P_PID, process.pid, options) is None
    os.killpg(process.pid, signal.SIGKILL)
    return 124 if late and process.wait() else process.wait()


def decides(path: str) -> bool:
    name, folder = path.rpartition("/")[2], path.partition("/")[0]
    return (folder in TEST_FOLDERS and "/" in path) or any(fnmatch(name, pattern) for pattern in DECIDERS)


def files(root: Path) -> list[str]:
    """Return the files of a tree without git's and Python's own; a link to a folder counts as a file."""
    found = []
    for folder, folders, names in os.walk(root):
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        folders[:] = [name for name in folders if name not in (".git", "__pycache__", ".pytest_cache", *links)]
        found += [str((Path(folder) / name).relative_to(root)) for name in names]
    return found


def static(cases: tuple[Case, ...]) -> list[str]:
    """Return what is wrong with the table itself."""
    faults = [f"{name}: used {count} times" for name, count in Counter(c.name for c in cases).items() if count > 1]
    for case in cases:
        good = case.verdict in ("proved", "unbroken")
        rules = {
            "verdict and accept disagree": good == case.accept,
            "kind and accept disagree": (case.kind == "liar") != case.accept,
            "exits name other doors": set(case.exits) <= set(case.doors) <= set(DOORS),
            "flags_for names other doors": set(case.flags_for) <= set(case.doors),
            "exit codes disagree with accept": all((code == 0) == case.accept for code in case.exits.values()),
            "no change folder": f"{CHANGE}/tasks.md" in case.files and f"{CHANGE}/proposal.md" in case.files,
            "no gate": bool(case.gates or case.config or "--gate" in case.flags),
            "why is no sentence": case.why.endswith("."),
        }
        faults += [f"{case.name}: {fault}" for fault, holds in rules.items() if not holds]
    return faults


def validate(case: Case) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="blind-", ignore_cleanup_errors=True) as base:
        try:
            return [f"{case.name}: {fault}" for fault in Player(case, Path(base)).play()]
        except (OSError, subprocess.SubprocessError, UnicodeError) as error:
            return [f"{case.name}: cannot be played: {error!r}"]


def main() -> int:
    wanted = sys.argv[1:]
    chosen = [case for case in CASES if not wanted or case.name in wanted]
    faults = static(CASES)
    with ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        for case, found in zip(chosen, pool.map(validate, chosen), strict=True):
            faults += found
            print(*(found or [f"{case.name}: ok"]), sep="\n", flush=True)
    kinds = Counter(case.kind for case in CASES)
    print(f"{len(chosen)} cases played, {len(faults)} faults; table: {dict(kinds)}")
    for fault in static(CASES):
        print(fault)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
