"""`spool web` on the command line: what it prints, asks and refuses."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path
from urllib.parse import urlencode

import pytest

from spool.app.machine.extras import install_command
from tests.seeds.test_000_ralph_loop import on_a_terminal
from tests.support import Scratch, wait_for
from tests.support.web import serving

pytest.importorskip("starlette")
PASSWORD = "correct horse battery"


def test_it_prints_an_address_on_this_machine_with_a_token(scratch: Scratch) -> None:
    with serving(scratch) as server:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{43}", server.url)
    with serving(scratch, "--listen", "::1") as server:
        assert server.url.startswith("http://[::1]:")


def test_without_the_extra_it_names_it(scratch: Scratch) -> None:
    hidden = scratch.home / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(
        "import importlib.util as util\n_find = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'uvicorn' else _find(name, *rest)\n"
    )
    done = subprocess.run(
        scratch.argv("web"),
        env={**scratch.env, "PYTHONPATH": str(hidden)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == f"spool: spool web needs uvicorn\n  install it: {install_command('web')}\n"


def test_a_port_that_is_taken_is_named(scratch: Scratch) -> None:
    with serving(scratch) as server:
        done = scratch.spool("web", "--port", str(server.port))
    assert done.returncode == 1
    assert f"cannot listen on 127.0.0.1, port {server.port}" in done.stderr
    assert "--port; 0 takes any" in done.stderr


@pytest.mark.parametrize(
    ("address", "password", "said"),
    [
        ("0.0.0.0", "", "listening on 0.0.0.0 needs a password"),
        ("::", "", "listening on :: needs a password"),
        ("0.0.0.0", "too short", "shorter than 12 characters"),
        ("somewhere", PASSWORD, "'somewhere' is not an IP address"),
    ],
)
def test_other_machines_need_a_password(scratch: Scratch, address: str, password: str, said: str) -> None:
    env = {"SPOOL_WEB_PASSWORD": password} if password else {}
    done = scratch.spool("web", "--port", "0", "--listen", address, env=env)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_a_password_is_never_an_argument(scratch: Scratch) -> None:
    assert scratch.spool("web", "--password", PASSWORD).returncode == 2


def test_on_a_terminal_the_password_is_asked_for_and_not_shown(scratch: Scratch) -> None:
    words = ["web", "--port", "0", "--listen", "0.0.0.0"]
    questions = [(b"Password for the page: ", b"short one\r"), (b"Repeat for confirmation: ", b"short one\r")]
    shown, code = on_a_terminal(scratch, words, questions)
    assert (code, "shorter than 12" in shown) == (2, True)
    assert "short one" not in shown


def test_the_password_opens_the_page_and_the_token_does_not(scratch: Scratch) -> None:
    with serving(scratch, "--listen", "0.0.0.0", env={"SPOOL_WEB_PASSWORD": PASSWORD}) as server:
        assert "token" not in server.url
        host = f"127.0.0.1:{server.port}"
        own = {"Host": host, "Origin": f"http://{host}"}
        assert "Password" in server.ask("/", Host=host).text
        for path in ("/?token=", f"/?token={'x' * 43}"):
            assert "set-cookie" not in server.ask(path, Host=host).headers
        for guess in ("", PASSWORD[:-1], PASSWORD + "x"):
            got = server.ask("/", "POST", urlencode({"password": guess}), **own)
            assert (got.status, "set-cookie" in got.headers) == (401, False)
        assert (
            server.ask("/", "POST", urlencode({"password": PASSWORD}), Host=host, Origin="http://evil.example").status
            == 403
        )
        assert (
            server.ask(
                "/", "POST", urlencode({"password": PASSWORD}), Host="evil.example", Origin="http://evil.example"
            ).status
            == 421
        )
        got = server.ask("/", "POST", urlencode({"password": PASSWORD}), **own)
        assert got.status == 303
        cookie = got.headers["set-cookie"].partition(";")[0]
        assert "Loops of this machine" in server.ask(got.headers["location"], Host=host, Cookie=cookie).text
        assert server.ask(got.headers["location"], Host=host).status == 401


def test_many_guesses_at_once_are_refused(scratch: Scratch) -> None:
    with serving(scratch, "--listen", "0.0.0.0", env={"SPOOL_WEB_PASSWORD": PASSWORD}) as server:
        host, held = f"127.0.0.1:{server.port}", []
        os.kill(server.process.pid, signal.SIGSTOP)  # so that it meets them all at once
        for _ in range(12):
            connection = server.connect()
            connection.request("POST", "/", "password=guess", {"Host": host, "Origin": f"http://{host}"})
            held.append(connection)
        os.kill(server.process.pid, signal.SIGCONT)
        found = [connection.getresponse().status for connection in held]
        assert set(found) == {401, 429}
        assert (
            server.ask("/", "POST", urlencode({"password": PASSWORD}), Host=host, Origin=f"http://{host}").status == 303
        )


BROWSER = """#!/bin/sh
file="${1#file://}"
{ echo "$1"; stat -c %a "$file"; cat "$file"; } > "$HOME/opened.tmp"
mv "$HOME/opened.tmp" "$HOME/opened"
"""


def test_open_shows_the_token_to_no_other_user(scratch: Scratch) -> None:
    seen, browser = scratch.home / "opened", scratch.bin / "browser"
    browser.write_text(BROWSER)
    browser.chmod(0o755)
    with serving(scratch, "--open", env={"BROWSER": f"{browser} %s"}) as server:
        wait_for(seen.exists)
        argument, mode, page = seen.read_text().split("\n", 2)
        assert server.token not in argument
        assert (mode, server.token in page) == ("600", True)
        assert Path(argument.removeprefix("file://")).exists()
    assert not Path(argument.removeprefix("file://")).exists()
