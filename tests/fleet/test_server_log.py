"""What the embedded server says is in its log, not on the terminal of `spool fleet up`."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from spool.errors import SpoolError
from spool.fleet.queue import embedded_server, server_log
from tests.fleet.machinery import alive
from tests.fleet.support import environment
from tests.support import PATIENCE_S, wait_for

TALKATIVE = """
import socket, sys
print("error: busy", file=sys.stderr, flush=True)
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as listening:
    listening.accept()
print("error: \\x1b[31mstill busy", file=sys.stderr, flush=True)
"""
BROKEN = """
import sys
for number in range(40):
    print(f"line {number}", file=sys.stderr)
print("\\x1b[31merror: no such table", file=sys.stderr)
sys.exit(3)
"""


def play(source: str, monkeypatch: pytest.MonkeyPatch, home: Path) -> list[embedded_server.LocalServer]:
    """Run a program in the place of the server; return what was said of it."""
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(embedded_server, "_command", lambda _, port, __: [sys.executable, "-c", source, str(port)])
    found: list[embedded_server.LocalServer] = []
    embedded_server.serve(None, found.append)
    return found


def test_errors_of_the_server_are_in_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        (about,) = play(TALKATIVE, monkeypatch, tmp_path)
        assert Path(about.log).read_text() == "error: busy\nerror: \x1b[31mstill busy\n"
    assert Path(f"{about.log}.1").exists()
    assert capfd.readouterr() == ("", "")


def test_a_server_that_does_not_start_is_an_error_with_its_last_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SpoolError) as caught:
        play(BROKEN, monkeypatch, tmp_path)
    first, *lines = str(caught.value).split("\n")
    assert first == "the Temporal server did not start (exit code 3)"
    assert lines == [*(f"    line {number}" for number in range(31, 40)), "    error: no such table"]
    assert caught.value.hint == f"its log is {tmp_path}/.local/state/spool/fleet/server.log"
    assert capfd.readouterr() == ("", "")


def test_a_log_does_not_fill_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_log, "_MOST_BYTES", 4)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    log = server_log.ServerLog()
    descriptor = log.open()
    for data in (b"long", b"er", b"kept"):
        os.write(descriptor, data)
        log.limit()
    os.close(descriptor)
    assert log.path.read_bytes() == b"kept"


def up(home: Path, *words: str) -> subprocess.Popen[str]:
    argv = [sys.executable, "-m", "spool", "fleet", "up", *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(argv, env=environment(home), stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True)


def test_up_names_its_log_and_ends_in_silence(tmp_path: Path) -> None:
    running = up(tmp_path, "--json")
    assert running.stdout is not None
    about = json.loads(running.stdout.readline())
    assert about["log"] == f"{tmp_path}/.local/state/spool/fleet/server.log"
    assert Path(about["log"]).stat().st_mode & 0o777 == 0o600
    running.send_signal(signal.SIGTERM)
    assert running.communicate(timeout=PATIENCE_S)[1] == ""
    assert running.returncode == 0


STUBBORN = """
import signal, socket, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with socket.create_server(("127.0.0.1", int(sys.argv[1]))):
    time.sleep(600)
"""


def test_the_server_of_a_killed_up_ends_with_it(tmp_path: Path) -> None:
    running = up(tmp_path, "--json")
    assert running.stdout is not None
    running.stdout.readline()
    record = tmp_path / ".local" / "state" / "spool" / "fleet" / "server.json"
    server_pid = json.loads(record.read_text())["process"]["pid"]
    running.kill()
    running.wait(timeout=PATIENCE_S)
    wait_for(lambda: not alive(server_pid), "the end of the server")
    running.communicate(timeout=PATIENCE_S)
    again = up(tmp_path, "--json")
    assert again.stdout is not None
    assert json.loads(again.stdout.readline())["address"], "the next one starts on the same database"
    again.terminate()
    again.communicate(timeout=PATIENCE_S)


def test_a_server_that_ignores_sigterm_ends_with_a_killed_up(tmp_path: Path) -> None:
    source = f"""
import sys
from spool.fleet.queue import embedded_server
embedded_server._command = lambda _, port, __: [sys.executable, "-c", {STUBBORN!r}, str(port)]
embedded_server.serve(None, lambda about: print(about.process.pid, flush=True))
"""
    with subprocess.Popen(
        [sys.executable, "-c", source], env=environment(tmp_path), stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        server_pid = int(running.stdout.readline())
        running.kill()
    wait_for(lambda: not alive(server_pid), "the end of the server")


def test_up_says_why_the_real_server_does_not_start(tmp_path: Path) -> None:
    database = tmp_path / "temporal.db"
    database.write_text("not a database " * 1_000)
    said = up(tmp_path, "--db", str(database))
    out, err = said.communicate(timeout=PATIENCE_S)
    assert (said.returncode, out) == (1, "")
    assert err.startswith("spool: the Temporal server did not start (exit code ")
    assert "file is not a database" in err
    assert err.endswith(f"  its log is {tmp_path}/.local/state/spool/fleet/server.log\n")
