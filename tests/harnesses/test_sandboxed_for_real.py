"""Each real agent at work inside the sandbox: the home is hidden, the model is on loopback, the work comes back."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.harnesses.rig import Rig
from tests.harnesses.script import COMPLETE, Run, Say, Shell, work
from tests.harnesses.setups import agents_path
from tests.support import CHANGE, make_scratch
from tests.support.sandboxed import needs_a_sandbox

pytestmark = needs_a_sandbox


def test_the_work_is_done_inside(rig: Rig) -> None:
    home = rig.scratch.home
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id").write_text("a-private-key")
    steal = f"cat '{home}/.ssh/id' > stolen.txt; touch '{home}/planted' '{rig.scratch.root}/planted'; "
    rig.play(work() if rig.name == "aider" else Run((Shell(f"{steal}echo made > made.txt"), Say(COMPLETE))))
    rig.scratch.env["SPOOL_SANDBOX_ENV"] = "LOCAL_KEY"  # the variable that the tests' own codex settings name
    del rig.scratch.env["SPOOL_CLAUDE_AS_ROOT"]  # in a sandbox nobody has to pretend
    done = rig.ralph("--sandbox")
    assert done.returncode == 0, rig.story(done)
    assert rig.outcomes() == ["completed"]
    files = rig.scratch.git("ls-tree", "-r", "--name-only", f"change/{CHANGE}").splitlines()
    assert "made.txt" in files
    if "stolen.txt" in files:
        assert "a-private-key" not in rig.scratch.git("show", f"change/{CHANGE}:stolen.txt")
    assert not (home / "planted").exists() and not (rig.scratch.root / "planted").exists()
    assert "sandboxed: bwrap, net on" in rig.scratch.ralph("--status").stdout


@contextmanager
def reporting() -> Iterator[tuple[int, list[str]]]:
    """Answer requests on loopback, and list them."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"here")

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port, asked
        server.shutdown()


MISSING = [name for name in ("srt", "socat", "rg") if shutil.which(name, path=agents_path()) is None]
CALL = """
import os, sys, urllib.request as request
del os.environ["no_proxy"], os.environ["NO_PROXY"]
opener = request.build_opener(request.ProxyHandler({"http": os.environ["http_proxy"]}))
print(opener.open(sys.argv[1], timeout=20).read())
"""


@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
def test_only_the_allowed_hosts_are_reached(tmp_path: Path) -> None:
    with reporting() as (allowed, asked), reporting() as (other, others):
        scratch = make_scratch(tmp_path)
        scratch.env["PATH"] = agents_path()
        (scratch.root / "call.py").write_text(CALL)
        scratch.git("add", "--all")
        scratch.git("commit", "--quiet", "--message", "a call")
        calls = [f"python3 call.py http://127.0.0.1:{port}/" for port in (allowed, other)]
        direct = f"python3 -c \"import socket; socket.create_connection(('127.0.0.1', {allowed}), 5)\""
        script = f"{calls[0]} && ! {calls[1]} && ! {direct} && echo made > made.txt"
        scratch.script([{"run": ["sh", "-c", script]}, {"promise": "COMPLETE"}])
        words = ["Go", "--harness", "scripted", "--sandbox", "--sandbox-read", str(scratch.home / "script.json")]
        done = scratch.ralph(*words, "--allow-host", f"127.0.0.1:{allowed}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (len(asked), len(others)) == (1, 0), done.stdout + done.stderr
    assert "made.txt" in scratch.git("ls-tree", "-r", "--name-only", f"change/{CHANGE}").splitlines()
    assert f"sandboxed: srt, net 127.0.0.1:{allowed}" in scratch.ralph("--status").stdout
