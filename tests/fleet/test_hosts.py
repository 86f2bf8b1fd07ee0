"""What a host gives to the agents, and what it needs before it takes work."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from temporalio.client import Client

from spool.app.machine.extras import install_command
from tests.fleet.machinery import descendants
from tests.fleet.support import Fleet, Server, environment, git
from tests.support import PATIENCE_S, wait_for
from tests.support.sandboxed import needs_a_sandbox

CHANGE = "001-01_work"
BLOCKED = """
import sys
sys.modules["temporalio"] = None
from spool.__main__ import main
sys.argv[0] = "spool"
sys.exit(main())
"""


@needs_a_sandbox
def test_a_fenced_in_change_is_set_up_and_snapshotted_through_the_fence(fleet: Fleet) -> None:
    fleet.make(CHANGE, stories=1)
    secret = fleet.base / "host-a" / "secret.txt"
    steps: list[dict[str, object]] = [
        {"run": ["sh", "-c", f"cat {secret} > seen.txt 2>&1; cp set-up.txt out.txt; exit 0"]}
    ]
    steps += [{"tick": 2}, {"promise": "COMPLETE"}]
    script = fleet.base / "script.json"
    script.write_text(json.dumps({"iteration": [{"steps": steps}]}))
    config = fleet.person / ".config" / "spool" / "config.toml"
    config.write_text(f'harness = "scripted"\n[harnesses.scripted]\nscript = "{script}"\n')
    fleet.home("a")
    secret.write_text("s3cret\n")
    fleet.host("a", env={"FLEET_SETUP": f"echo made > set-up.txt; cat {secret} >> set-up.txt; true"})
    fleet.submit(CHANGE, "--sandbox", "--sandbox-read", str(script), heartbeat=60)
    fleet.ends(CHANGE)
    assert git("show", f"change/{CHANGE}:out.txt", cwd=fleet.code) == "made\n"
    assert "s3cret" not in git("show", f"change/{CHANGE}:seen.txt", cwd=fleet.code)
    started = next(one for one in fleet.records(CHANGE, "journal.jsonl") if one["type"] == "RunStarted")
    assert started["sandbox"].startswith("sandboxed")


@pytest.mark.long
def test_what_an_agent_writes_into_its_git_directory_never_runs_in_the_worker(fleet: Fleet) -> None:
    """Programs that git would start there show whose git it was: only the worker has the credentials."""
    fleet.make(CHANGE, stories=1)
    seen, hooks = fleet.base / "seen.txt", fleet.base / "hooks"
    hooks.mkdir()
    spy = f"#!/bin/sh\nenv >> {seen}\n"
    for name in ("spy", "reference-transaction", "post-index-change", "pre-push", "pre-auto-gc"):
        (hooks / name).write_text(spy)
        (hooks / name).chmod(0o755)
    keys = ("core.fsmonitor", "core.sshCommand", "uploadpack.packObjectsHook", "core.gitProxy")
    words = [f"git config {key} {hooks}/spy" for key in keys] + [f"git config core.hooksPath {hooks}", "git status"]
    steps = [{"run": ["sh", "-c", "; ".join(words)]}, {"write": "out.txt", "text": "x"}, {"tick": 2}]
    script = fleet.base / "script.json"
    script.write_text(json.dumps({"iteration": [{"steps": [*steps, {"promise": "COMPLETE"}]}]}))
    config = fleet.person / ".config" / "spool" / "config.toml"
    config.write_text(f'harness = "scripted"\n[harnesses.scripted]\nscript = "{script}"\n')
    fleet.host("a")
    fleet.submit(CHANGE, heartbeat=60)
    fleet.ends(CHANGE)
    assert git("show", f"change/{CHANGE}:out.txt", cwd=fleet.code) == "x"
    assert "SPOOL_CHANGE=" in seen.read_text(), "the agent's own git starts them"
    assert not any(word in seen.read_text() for word in ("s3cret", "TEMPORAL_"))


def test_the_child_gets_what_its_agent_declares_and_no_other_secret(fleet: Fleet) -> None:
    from spool.app.starting.construction import new_run_id
    from spool.domain.loop.settings import Settings
    from spool.domain.loop.spec import LoopSpec
    from spool.domain.loop.summary import LoopKind
    from spool.fleet.worker.child_process import child_environment

    spec = LoopSpec(run_id=new_run_id(), door=LoopKind.RUN, change="x", root="/", settings=Settings(harness="claude"))
    given = {
        "PATH": "/bin", "HOME": "/h", "ANTHROPIC_API_KEY": "agent's", "TEMPORAL_API_KEY": "no", "GITHUB_TOKEN": "no",
        "SSH_AUTH_SOCK": "no", "GIT_ASKPASS": "no", "TEMPORAL_TLS_CLIENT_KEY_DATA": "no", "AWS_SECRET_ACCESS_KEY": "no",
    }  # fmt: skip
    assert child_environment(spec, given) == {"PATH": "/bin", "HOME": "/h", "ANTHROPIC_API_KEY": "agent's"}


@pytest.mark.long
def test_a_killed_worker_takes_its_runner_and_its_agent_along(fleet: Fleet) -> None:
    """Only the worker process is killed, not its host."""
    fleet.make(CHANGE)
    fleet.hold(CHANGE)
    host = fleet.host("a", apart=False)
    fleet.submit(CHANGE)
    fleet.working(CHANGE)
    host.process.kill()
    host.process.wait()
    wanted = f"agent.py\0{fleet.notes}".encode()
    wait_for(lambda: not any(wanted in _command(path) for path in Path("/proc").glob("[0-9]*")), "the end of the agent")
    fleet.release(CHANGE)
    fleet.host("a", apart=False)
    fleet.ends(CHANGE)
    fleet.is_exact(CHANGE)
    fleet.swept(host)


@pytest.mark.long
def test_a_host_that_shuts_down_hands_its_change_over_at_once(fleet: Fleet) -> None:
    """All its processes are asked to end; the heartbeat timeout is longer than the patience of this test."""
    fleet.make(CHANGE)
    fleet.hold(CHANGE)
    host = fleet.host("a", apart=False)
    fleet.submit(CHANGE, heartbeat=3_600)
    fleet.working(CHANGE)
    for pid in descendants(host.process.pid):
        os.kill(pid, signal.SIGTERM)
    assert host.process.wait(timeout=PATIENCE_S) == 0
    fleet.release(CHANGE)
    fleet.host("b")
    fleet.ends(CHANGE)
    fleet.is_exact(CHANGE)
    assert fleet.history(CHANGE) == [(1, "interrupted"), (2, "completed"), (3, "completed")]


def test_the_server_listens_on_loopback_only(server: Server) -> None:
    pid = server.about["process"]["pid"]
    open_files = [os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir() if path.is_symlink()]
    inodes = {name[8:-1] for name in open_files if name.startswith("socket:[")}
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    bound = {row[1].rpartition(":")[0] for row in rows if row[3] == "0A" and row[9] in inodes}
    assert bound
    assert bound <= {"0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"}


def _command(path: Path) -> bytes:
    try:
        return (path / "cmdline").read_bytes()
    except OSError:
        return b""


def test_a_worker_without_its_agent_takes_no_work_and_says_so(fleet: Fleet) -> None:
    fleet.make(CHANGE)
    program = fleet.base / "claude"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    env = {"PATH": f"{fleet.base}{os.pathsep}{os.environ['PATH']}", "SPOOL_HARNESS": "claude"}
    done = fleet.spool("fleet", "worker", "--once", env=env)
    assert done.returncode == 2
    assert "claude is not signed in on this host" in done.stderr
    done = fleet.spool("fleet", "worker", "--once", env={"SPOOL_HARNESS": "codex", "PATH": "/usr/bin:/bin"})
    assert (done.returncode, "codex is not installed" in done.stderr) == (2, True)


@pytest.mark.long
def test_a_worker_for_one_change_exits_when_that_has_ended(fleet: Fleet) -> None:
    changes = ("001-01_one", "002-01_two")
    fleet.make(*changes, stories=1)
    fleet.submit("--all", heartbeat=60)
    done = fleet.spool("fleet", "worker", "--once", "--json")
    assert done.returncode == 0, done.stderr
    steps = [json.loads(line)["step"] for line in done.stdout.splitlines()]
    assert steps == ["clone", "claim", "gate", "agent", "end", "result", "completion"]
    assert sorted(row["status"] for row in fleet.rows().values()) == ["done", "queued"]
    failed = fleet.spool("fleet", "worker", "--once", "--setup", "exit 3")
    assert (failed.returncode, "the setup command exited with code 3" in failed.stderr) == (75, True)


def test_a_change_whose_agent_is_not_signed_in_here_is_left_to_others(fleet: Fleet) -> None:
    fleet.make(CHANGE)
    program = fleet.base / "claude"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    host = fleet.host("a", env={"PATH": f"{fleet.base}{os.pathsep}{os.environ['PATH']}"})
    fleet.submit(CHANGE, "--harness", "claude", heartbeat=60)
    wait_for(lambda: f"{CHANGE}: claude is not signed in on this host" in host.said(), "the words")
    assert {one["step"] for one in host.steps()} == {"clone"}
    assert fleet.mark(CHANGE)["stage"] == "submitted"
    assert "claude is not signed in" in wait_for(lambda: fleet.row(CHANGE)["reason"], "the reason")


def test_a_worker_that_is_too_old_for_the_protocol_takes_no_work_and_says_so(fleet: Fleet) -> None:
    fleet.make(CHANGE)

    async def start() -> None:
        client = await Client.connect(f"127.0.0.1:{fleet.server.port}")
        await client.start_workflow("ChangeRun", id="newer/change", task_queue="spool-fleet-2")

    asyncio.run(start())
    host = fleet.host("a")
    wait_for(lambda: "too old for 1 change in the queue (protocol 1): upgrade Spool here" in host.said(), "the words")
    assert not host.steps()


def test_without_the_extra_the_commands_name_it(tmp_path: Path) -> None:
    for words in (["list"], ["worker"], ["up"], ["submit", "x"], ["show", "x"], ["stop", "x"], ["retry", "x"]):
        done = subprocess.run(
            [sys.executable, "-c", BLOCKED, "fleet", *words], env=environment(tmp_path), capture_output=True, text=True
        )
        assert done.returncode == 2, done.stderr
        assert install_command("fleet") in done.stderr


def test_no_other_command_loads_temporal(tmp_path: Path) -> None:
    code = "import spool.app.starting.runner, spool.cli.commands.start.run, spool.cli.commands.watch.ps\n"
    code += "import spool.cli.commands.watch.stop, spool.cli.commands.watch.attach, sys\n"
    code += (
        "import spool.cli.commands.fleet.worker, spool.cli.commands.fleet.submit, spool.fleet.worker.runner_process\n"
    )
    code += "assert 'temporalio' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], env=environment(tmp_path), check=True)
