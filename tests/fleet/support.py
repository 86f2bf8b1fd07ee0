"""A fleet on one machine: a real Temporal server, hosts as process trees that die as a whole, and real git."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from temporalio.client import Client
from temporalio.service import RPCError

from tests.fleet.machinery import Proxy, alive, descendants
from tests.support import PATIENCE_S, wait_for

AGENT = Path(__file__).with_name("agent.py")
PROJECT = Path(__file__).parents[2]
HEARTBEAT_S = 8
"""After which a host counts as dead; those of a test share two processors with the rest, and must not seem so."""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as trial:
        return int(trial.getsockname()[1])


@cache
def pid_namespaces() -> bool:
    """Whether a host can be a pid namespace, of which nothing outlives the first process."""
    words = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "true"]
    return shutil.which("unshare") is not None and subprocess.run(words, capture_output=True).returncode == 0


@dataclass
class Server:
    """The Temporal server of `spool fleet up`."""

    home: Path
    _process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, for the first time or again."""
        known = self._record.read_bytes() if self._record.exists() else b""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "spool", "fleet", "up"],
            env=environment(self.home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        wait_for(lambda: self._record.exists() and self._record.read_bytes() != known, "the server")

    @property
    def _record(self) -> Path:
        return self.home / ".local" / "state" / "spool" / "fleet" / "server.json"

    @property
    def about(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads(self._record.read_text())
        return loaded

    @property
    def port(self) -> int:
        return int(self.about["address"].rpartition(":")[2])

    def kill(self) -> None:
        """Kill it, as a crash does."""
        assert self._process is not None
        with suppress(ProcessLookupError):
            os.kill(self.about["process"]["pid"], signal.SIGKILL)
        self._process.wait(timeout=PATIENCE_S)


@dataclass
class WorkerHost:
    """One host: a home, a worker, and everything that it starts."""

    name: str
    home: Path
    process: subprocess.Popen[bytes]
    proxy: Proxy

    def steps(self) -> list[dict[str, Any]]:
        return read_lines(self.home / "steps.jsonl")

    def reaches(self, step: str) -> str:
        """Wait until the host is at the step at which it freezes; return its change."""
        at = self.home / f"at-{step}"
        return wait_for(lambda: at.read_text() if at.exists() else "", lambda: f"{self.name} at {step}: {self.said()}")

    def wake(self, step: str) -> None:
        """Let the host continue from the step at which it froze."""
        (self.home / f"at-{step}").unlink()

    def said(self) -> str:
        return (self.home / "worker.log").read_text()[-2_000:]

    def kill(self) -> None:
        """End the host as a power cut does: nothing of it is left."""
        gone = descendants(self.process.pid)
        self.process.kill()
        self.process.wait()
        if not pid_namespaces():
            for pid in gone:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not any(alive(pid) for pid in gone), "the end of a host")

    def freeze(self) -> None:
        for pid in descendants(self.process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        for pid in descendants(self.process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.thaw()
            self.kill()


@dataclass
class Fleet:
    """The server, a person with a repository, and the hosts."""

    base: Path
    server: Server
    name: str
    hosts: list[WorkerHost] = field(default_factory=list)

    @property
    def person(self) -> Path:
        return self.base / "person"

    @property
    def root(self) -> Path:
        return self.base / "project"

    @property
    def notes(self) -> Path:
        return self.base / "notes"

    @property
    def code(self) -> Path:
        return self.base / f"{self.name}.git"

    @property
    def snapshots(self) -> Path:
        return self.base / "snapshots.git"

    def make(self, *changes: str, stories: int = 2) -> None:
        """Make a repository with changes that are not committed yet."""
        self.notes.mkdir()
        home(self.person, self)
        for bare in (self.code, self.snapshots):
            git("init", "--quiet", "--bare", "--initial-branch=main", str(bare), cwd=self.base)
        git("init", "--quiet", "--initial-branch=main", str(self.root), cwd=self.base)
        (self.root / "code.py").write_text("print(1)\n")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "start")
        self.git("remote", "add", "origin", f"fleet://{self.code.name}")
        self.git("push", "--quiet", str(self.code), "main")
        for change in changes:
            folder = self.root / ".spool" / "changes" / change
            folder.mkdir(parents=True)
            (folder / "proposal.md").write_text(f"# {change}\n\nWork.\n")
            parts = [f"## {n}. Part {n}\n\n- [ ] {n}.1 one\n- [ ] {n}.2 two\n" for n in range(1, stories + 1)]
            (folder / "tasks.md").write_text("\n".join(parts))

    def git(self, *words: str) -> str:
        return git(*words, cwd=self.root)

    def spool(self, *words: str, **kwargs: Any) -> subprocess.CompletedProcess[str]:
        """Run the real command line as the person."""
        env = environment(self.person) | {"TEMPORAL_ADDRESS": f"127.0.0.1:{self.server.port}"}
        return subprocess.run(
            [sys.executable, "-m", "spool", *words],
            cwd=kwargs.pop("cwd", self.root),
            env=env | kwargs.pop("env", {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """Start the real command line as the person, and return at once."""
        env = environment(self.person) | {"TEMPORAL_ADDRESS": f"127.0.0.1:{self.server.port}"}
        argv = [sys.executable, "-m", "spool", *words]
        return subprocess.Popen(argv, cwd=self.root, env=env, stdin=subprocess.DEVNULL)

    def submit(self, *words: str, heartbeat: int = HEARTBEAT_S) -> None:
        done = self.spool(
            "fleet", "submit", *words, "--snapshots", f"fleet://{self.snapshots.name}", "--heartbeat", f"{heartbeat}s"
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def rows(self) -> dict[str, dict[str, Any]]:
        done = self.spool("fleet", "list", "--json")
        assert done.returncode == 0, done.stderr
        return {row["change"]: row for row in json.loads(done.stdout)}

    def row(self, change: str) -> dict[str, Any]:
        return self.rows()[change]

    def ends(self, *changes: str, patience_s: float = PATIENCE_S) -> None:
        """Wait until changes are done."""
        wanted = set(changes)

        def over() -> bool:
            if any(self.mark(change)["stage"] != "done" for change in wanted):  # cheaper than to ask the server
                return False
            rows = self.rows()
            return all(rows.get(change, {}).get("status") == "done" for change in wanted)

        def told() -> str:
            return f"the changes: {self.rows()}\n" + "\n".join(f"{host.name}: {host.said()}" for host in self.hosts)

        wait_for(over, told, patience_s)

    def home(self, name: str) -> Path:
        """Make the home of a host, unless it is there."""
        folder = self.base / f"host-{name}"
        if not folder.exists():
            home(folder, self)
        return folder

    def host(
        self,
        name: str,
        *,
        slots: int = 1,
        dead_at: str = "",
        env: dict[str, str] | None = None,
        apart: bool = True,
    ) -> WorkerHost:
        """Start a host; one that is not apart is its worker only."""
        folder = self.home(name)
        proxy = Proxy(self.server.port)
        words = [sys.executable, "-m", "tests.fleet.host", name, str(slots), *([dead_at] if dead_at else [])]
        alone = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"] if apart and pid_namespaces() else []
        with (folder / "worker.log").open("ab") as log:
            process = subprocess.Popen(
                [*alone, *words],
                cwd=PROJECT,
                env=environment(folder)
                | {"TEMPORAL_ADDRESS": f"127.0.0.1:{proxy.port}", "GITHUB_TOKEN": "s3cret", "PYTHONPATH": str(PROJECT)}
                | (env or {}),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        made = WorkerHost(name, folder, process, proxy)
        self.hosts.append(made)
        return made

    def swept(self, host: WorkerHost) -> None:
        """Wait until nothing of a run is left on a host; its worker removes a clone after the change has ended."""
        runs = host.home / ".local/share/spool/fleet/runs"
        wait_for(lambda: not list(runs.glob("*")), lambda: f"{host.name} to remove {list(runs.glob('*'))}")

    def agents(self, change: str = "", what: str = "start") -> list[dict[str, Any]]:
        found = read_lines(self.notes / "agents.jsonl")
        return [one for one in found if one["what"] == what and change in ("", one["change"])]

    def hold(self, change: str) -> None:
        """Have the agents of a change wait."""
        (self.notes / f"hold-{change}").write_text("")

    def release(self, change: str) -> None:
        (self.notes / f"hold-{change}").unlink()

    def working(self, change: str, times: int = 1) -> None:
        """Wait until an agent works on a change."""
        wait_for(lambda: len(self.agents(change)) >= times, f"agent {times} on {change}")

    def result(self, change: str) -> tuple[list[str], dict[str, str]]:
        """Return the commits on the branch of a change, oldest first, and the files of the work."""
        branch = f"change/{change}"
        bare = self.code
        log = git("log", "--reverse", "--format=%s", f"main..{branch}", cwd=bare).splitlines()
        names = git("ls-tree", "-r", "--name-only", branch, "out/", cwd=bare).splitlines()
        return log, {name: git("show", f"{branch}:{name}", cwd=bare) for name in names}

    def history(self, change: str) -> list[tuple[int, str]]:
        """Return the iterations of a change by its snapshot, each with its outcome."""
        return [(one["iteration"], one["outcome"]) for one in self.records(change, "history.jsonl")]

    def records(self, change: str, name: str) -> list[dict[str, Any]]:
        ref = f"refs/spool/fleet/{change}"
        pieces = git("ls-tree", "-r", "--name-only", ref, f"{name}/", cwd=self.snapshots).splitlines()
        text = "".join(git("show", f"{ref}:{piece}", cwd=self.snapshots) for piece in pieces)
        return [json.loads(line) for line in text.splitlines()]

    def mark(self, change: str) -> dict[str, Any]:
        ref = f"refs/spool/fleet/{change}"
        loaded: dict[str, Any] = json.loads(git("log", "-1", "--format=%B", ref, cwd=self.snapshots))
        return loaded

    def is_exact(self, change: str, stories: int = 2) -> None:
        """Assert that the branch has each story once, in order, and nothing else."""
        log, files = self.result(change)
        assert log == [f"Story {n}: Part {n}" for n in range(1, stories + 1)], (change, log)
        assert files == {f"out/{change}/story{n}.txt": "done\n" for n in range(1, stories + 1)}, (change, files)

    def close(self) -> None:
        """End the hosts, and all that is in the queue."""
        for host in self.hosts:
            host.stop()
        asyncio.run(self._empty())

    async def _empty(self) -> None:
        client = await Client.connect(f"127.0.0.1:{self.server.port}")
        async for one in client.list_workflows("ExecutionStatus = 'Running'"):
            with suppress(RPCError):
                await client.get_workflow_handle(one.id).terminate()


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a person or a host: nothing of the tester's but the programs."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
        "LANG": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Test",
        "GIT_AUTHOR_EMAIL": "test@example.com",
        "GIT_COMMITTER_NAME": "Test",
        "GIT_COMMITTER_EMAIL": "test@example.com",
    }


def home(folder: Path, fleet: Fleet) -> None:
    """Make a home whose git finds the remotes, and whose agent is the one of the tests."""
    config = folder / ".config" / "spool" / "config.toml"
    config.parent.mkdir(parents=True)
    argv = json.dumps([sys.executable, str(AGENT), str(fleet.notes)])
    config.write_text(f'harness = "tester"\n[harnesses.tester]\nargv = {argv}\n')
    reach(folder, fleet.base)


def reach(folder: Path, base: Path | str) -> None:
    """Lead the remotes of a home to a folder."""
    temporary = folder / ".gitconfig.new"
    temporary.write_text(f'[url "{base}/"]\n\tinsteadOf = fleet://\n[safe]\n\tdirectory = *\n')
    temporary.rename(folder / ".gitconfig")


def git(*words: str, cwd: Path) -> str:
    env = environment(cwd) | {"GIT_CONFIG_GLOBAL": "/dev/null"}
    done = subprocess.run(
        ["git", *words], cwd=cwd, env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file that another process writes; the last one may be written only in part."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


def running_server(base: Path) -> Iterator[Server]:
    """Run a server for as long as it is needed."""
    folder = base / "server"
    folder.mkdir()
    server = Server(folder)
    server.start()
    yield server
    server.kill()
