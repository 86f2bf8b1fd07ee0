"""Notices: whoever asked for them gets them, and no loop waits for it."""

import json
import os
import pty
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from spool.app.observing import notices
from spool.app.observing.delivery_process import post
from spool.domain.account.occasions import Notice, NoticeKind
from tests.support import CHANGE, Scratch, wait_for
from tests.support.scene import loop_in

DONE = [{"promise": "COMPLETE"}]
NOTICE = Notice(kind=NoticeKind.DONE, title="t", text="x", change="c", project="p", run_id="r")


def configure(scratch: Scratch, text: str) -> None:
    """Add settings of the person's own, before any table."""
    config = scratch.home / ".config" / "spool" / "config.toml"
    config.write_text(f"{text}\n{config.read_text()}")


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@contextmanager
def server(*codes: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Answer requests with these codes, the last one for good; 0 is an answer that is not HTTP."""
    got: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            if not (code := codes[min(len(got), len(codes)) - 1]):
                self.wfile.write(b"this is not HTTP\r\n\r\n")
                return
            self.send_response(code)
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    serving = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=serving.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{serving.server_port}/hook", got
    finally:
        serving.shutdown()
        serving.server_close()


def test_a_command_gets_the_notice_on_standard_input(scratch: Scratch, tmp_path: Path) -> None:
    scratch.script([{"usage": {"tokens_in": 5, "cost_usd": 0.5}}, *DONE])
    told = tmp_path / "told"
    configure(scratch, f'on_event = "cat >> {told}"')
    assert scratch.ralph("Go", "--harness", "scripted").returncode == 0
    notice = wait_for(lambda: lines_of(told))[0]
    assert (notice["kind"], notice["title"]) == ("done", f"{CHANGE} is done")
    assert notice["text"].startswith("agent's word: ")
    assert (notice["project"], notice["iterations"], notice["cost_usd"]) == ("project", 1, 0.5)
    assert str(scratch.root) not in json.dumps(notice)


def test_a_command_or_an_address_of_a_repository_needs_trust(scratch: Scratch) -> None:
    scratch.script(DONE)
    for setting in ('on_event = "touch pwned"', 'webhook = "https://example.com"'):
        (scratch.root / ".spool" / "config.toml").write_text(setting)
        done = scratch.ralph("Go", "--harness", "scripted")
        assert done.returncode == 2
        assert "settings that you have not trusted" in done.stderr


def test_an_address_that_is_none_is_refused(scratch: Scratch) -> None:
    scratch.script(DONE)
    configure(scratch, 'webhook = "file:///etc/passwd"')
    done = scratch.ralph("Go", "--harness", "scripted")
    assert (done.returncode, "must start with https:// or http://" in done.stderr) == (2, True)


def test_a_webhook_gets_it_and_secrets_stay_here(scratch: Scratch) -> None:
    scratch.script([{"error": "the key hunter2-hunter2 is wrong", "error_kind": "auth"}, {"exit": 1}])
    with server(200) as (url, got):
        configure(scratch, f'webhook = "{url}"')
        scratch.ralph("Go", "--harness", "scripted", env={"MY_API_KEY": "hunter2-hunter2"})
        wait_for(lambda: got)
    assert got[0]["kind"] == "person"
    assert got[0]["text"] == "the key [hidden] is wrong"
    assert got[0]["message"] == f"{CHANGE} needs you: the key [hidden] is wrong"


def test_a_webhook_that_never_answers_holds_up_no_loop(scratch: Scratch) -> None:
    scratch.script(DONE)
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        configure(scratch, f'webhook = "http://127.0.0.1:{silent.getsockname()[1]}/"')
        assert scratch.ralph("Go", "--harness", "scripted").returncode == 0  # nobody has answered yet
        connection, _ = silent.accept()
        connection.close()


@pytest.mark.parametrize(
    ("codes", "arrives", "tries"),
    [((503, 429, 200), True, 3), ((0, 200), True, 2), ((404,), False, 1), ((302,), False, 1), ((500,), False, 6)],
)
def test_a_webhook_is_tried_again_only_if_that_may_help(codes: tuple[int, ...], arrives: bool, tries: int) -> None:
    with server(*codes) as (url, got):
        assert post(url, NOTICE, sleep=lambda _: None) is arrives
    assert len(got) == tries


def test_the_desktop(scratch: Scratch, tmp_path: Path) -> None:
    scratch.script(DONE)
    told = tmp_path / "told"
    source = f"import json, sys\nopen({str(told)!r}, 'a').write(json.dumps({{'argv': sys.argv[1:]}}) + '\\n')\n"
    scratch.agent(source, "notify-send")
    configure(scratch, 'notify = ["desktop"]')
    scratch.ralph("Go", "--harness", "scripted")
    words = wait_for(lambda: lines_of(told))[0]["argv"]
    assert words[:3] == ["--app-name=Spool", "--", f"{CHANGE} is done"]


def test_the_terminal(scratch: Scratch) -> None:
    scratch.script(DONE)
    ours, theirs = pty.openpty()
    argv = scratch.argv("ralph", "Go", "--change", CHANGE, "--harness", "scripted")
    env = {**scratch.env, "SPOOL_NOTIFY": "terminal"}
    done = subprocess.run(argv, cwd=scratch.root, env=env, stderr=theirs, stdout=subprocess.PIPE, check=False)
    os.close(theirs)
    said = b""
    try:
        while chunk := os.read(ours, 65_536):
            said += chunk
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert done.returncode == 0, said
    assert f"\033]9;Spool: {CHANGE} is done\a\a".encode() in said


def test_a_killed_runner_is_reported_by_whoever_notices(scratch: Scratch, tmp_path: Path) -> None:
    scratch.script([{"say": "hm"}, {"sleep": 600}])
    told = tmp_path / "told"
    configure(scratch, f'on_event = "cat >> {told}"')
    runner = scratch.start("ralph", "Go", "--change", CHANGE, "--harness", "scripted")
    journal = scratch.state / "journal.jsonl"
    wait_for(lambda: journal.exists() and "AgentEvent" in journal.read_text())
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    assert scratch.spool("ps").returncode == 0
    assert [one["kind"] for one in wait_for(lambda: lines_of(told))] == ["killed"]


def test_it_is_reported_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "state" / "spool" / "loops").mkdir(parents=True)
    sent: list[Notice] = []
    monkeypatch.setattr(notices, "deliver", lambda notice, *_: sent.append(notice))
    monkeypatch.setattr(notices, "kept_spec", lambda _: type("Spec", (), {"settings": None, "root": ""}))
    for _ in range(2):
        notices.report_killed([loop_in(tmp_path)])
    assert [notice.kind for notice in sent] == [NoticeKind.KILLED]
