"""Attacks on the sandbox by somebody who has not seen it; each has a check of its own, run outside afterwards.

The hostile agent attacks twice: first it gives up, so that Spool reverts in a clone that the attack prepared, then it
claims completion, so that gates run, the work is committed, and its branch is fetched.
"""

import json
import os
import secrets
import shlex
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support import CHANGE, PATIENCE_S, Scratch, warm
from tests.support.sandboxed import needs_a_sandbox

pytestmark = needs_a_sandbox
BLIND = Path(__file__).parent / "blind"
ATTACKS = sorted(path.parent.name for path in BLIND.glob("*/attack.sh"))
ON_A_TERMINAL = "26-terminal"
WAITING = ("25-inherited-descriptors", "34-flicker")
OFFLINE = ("27-net-off", "36-net-deputy")
FLOOD = "(strict) MAIN grew"
"""Not an escape: an agent's output is kept whole, up to `output_limit_mb`, with the loop's state."""
DEADLINE_S = 240
AGENT = """#!/bin/bash
bash '{attack}' </dev/null
if [ "$SPOOL_ITERATION" -gt 1 ]; then
  sed -i 's/\\[ \\]/[x]/' '{tasks}'
  echo '<promise>COMPLETE</promise>'
else
  echo '<promise>FAILED: not yet</promise>'
fi
"""


@contextmanager
def listening(heard: Path) -> Iterator[int]:
    """Write all that arrives at a port of loopback into a file."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection, heard.open("ab") as file:
                    connection.settimeout(2)
                    try:
                        while data := connection.recv(65_536):
                            file.write(data)
                    except OSError:
                        pass

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def prepare(scratch: Scratch, canary: str) -> None:
    """Put secrets into the person's home, and a check into their repository."""
    for name in (".ssh/id_test", "secrets/other-clone/file"):
        path = scratch.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(canary)
    check = scratch.root / "check.sh"
    check.write_text("#!/bin/sh\ntest -d .spool\n")
    check.chmod(0o755)
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", "a check")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name in WAITING else ()) for name in ATTACKS]
)
def test_the_fence_holds(scratch: Scratch, name: str) -> None:
    canary = secrets.token_hex(16)
    prepare(scratch, canary)
    agent_socket = socket.socket(socket.AF_UNIX)
    agent_socket.bind(str(scratch.home / "agent.sock"))
    with agent_socket, listening(scratch.home / "heard") as port:
        agent_socket.listen()
        attack = scratch.home / "attack.sh"
        text = (BLIND / name / "attack.sh").read_text()
        for mark, value in {"@HOME@": scratch.home, "@MAIN@": scratch.root, "@PORT@": port}.items():
            text = text.replace(mark, str(value))
        attack.write_text(text)
        agent = scratch.home / "agent.sh"
        agent.write_text(AGENT.format(attack=attack, tasks=f".spool/changes/{CHANGE}/tasks.md"))
        words = ["--sandbox", "--sandbox-read", str(attack), "--sandbox-read", str(agent), "--max-retries", "1"]
        words += ["--verify", "./check.sh", "--net", "off" if name in OFFLINE else "on"]
        config = scratch.home / ".config" / "spool" / "config.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(f"[harnesses.hostile]\nargv = {json.dumps(['bash', str(agent)])}\n")
        secret = {"ATTACK_SECRET": canary, "SSH_AUTH_SOCK": str(scratch.home / "agent.sock")}
        argv = scratch.argv("run", CHANGE, "--harness", "hostile", "--no-interactive", *words)
        if name == ON_A_TERMINAL:
            argv = ["script", "--quiet", "--return", "--command", shlex.join(argv), "/dev/null"]
        done = warm.run(
            argv,
            cwd=scratch.root,
            env={**scratch.env, **secret, "TERM": "xterm"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=DEADLINE_S,
        )
        output = scratch.home.parent / "output"
        output.write_text(done.stdout + done.stderr)
        state = json.loads((scratch.run_state / "state.json").read_text())
        env = {
            **scratch.env,
            **secret,
            "ATTACK_HOME": str(scratch.home),
            "MAIN": str(scratch.root),
            "CLONE": state["workspace"]["path"],
            "CANARY": canary,
            "PORT": str(port),
            "SPOOL_OUT": str(output),
        }
        checked = subprocess.run(
            ["bash", str(BLIND / name / "check.sh")],
            env=env,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    told = checked.stdout + checked.stderr + "\n" + done.stdout[-2_000:] + done.stderr[-2_000:]
    assert checked.returncode == 0 or FLOOD in checked.stdout, told
    assert "Traceback" not in done.stderr
    assert os.path.lexists(scratch.root / "check.sh")
    assert state["iteration"] >= 1, done.stderr
