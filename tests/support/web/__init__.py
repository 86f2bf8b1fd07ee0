"""What the tests of the page share: a real server in a process of its own, a small client, and a browser."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support import PATIENCE_S, Scratch

AXE = (
    Path(
        os.environ.get("SPOOL_AXE_DIR")
        or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "spool-axe"
    )
    / "node_modules"
    / "axe-core"
    / "axe.min.js"
)
CHROMIUM = shutil.which("chromium") or ""
needs_browser = pytest.mark.skipif(not CHROMIUM, reason="no chromium: apt-get install chromium")
needs_axe = pytest.mark.skipif(not AXE.exists(), reason="no axe-core: make axe")


@dataclass
class Answer:
    """An answer of the server."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass
class Server:
    """A running `spool web`."""

    process: subprocess.Popen[str]
    url: str
    cookie: str = ""
    base: str = "/"
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 0

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc

    @property
    def token(self) -> str:
        return parse_qs(urlsplit(self.url).query).get("token", [""])[0]

    def connect(self) -> http.client.HTTPConnection:
        address = urlsplit(self.url).hostname if self.token else "127.0.0.1"
        return http.client.HTTPConnection(address or "", self.port, timeout=PATIENCE_S)

    def ask(self, path: str, method: str = "GET", body: str | None = None, **headers: str) -> Answer:
        """Send a request as it is; `Host` and the session come from the arguments alone."""
        connection = self.connect()
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, {"Host": self.host, **named})
            got = connection.getresponse()
            return Answer(got.status, {name.lower(): value for name, value in got.getheaders()}, got.read())
        finally:
            connection.close()

    def head(self, path: str) -> bytes:
        """Return a request for a page as it stands on the wire."""
        lines = (f"GET {self.base}{path} HTTP/1.1", f"Host: {self.host}", f"Cookie: {self.cookie}", "", "")
        return "\r\n".join(lines).encode()

    def enter(self) -> None:
        """Exchange the token for a session."""
        got = self.ask(f"/?token={self.token}")
        assert got.status == 200
        self.cookie = got.headers["set-cookie"].partition(";")[0]
        self.base = re.findall(r"Path=([^;]+)", got.headers["set-cookie"])[0]

    def get(self, path: str = "", **headers: str) -> Answer:
        """Ask for a page with the session."""
        return self.ask(f"{self.base}{path}", Cookie=self.cookie, **headers)

    def post(self, path: str, body: str = "", **headers: str) -> Answer:
        """Post a form as the page itself would."""
        given = {"Origin": f"http://{self.host}", "Content_Type": "application/x-www-form-urlencoded", **headers}
        return self.ask(f"{self.base}{path}", "POST", body, Cookie=self.cookie, **given)

    def loop(self) -> str:
        """Return the path of the first loop in the list."""
        found = re.findall(rf'href="{self.base}(loop/[0-9a-f]+)"', self.get().text)
        return str(found[0])


@contextmanager
def serving(
    scratch: Scratch, *words: str, env: Mapping[str, str] | None = None, err: IO[str] | int = subprocess.DEVNULL
) -> Iterator[Server]:
    """Run `spool web` for the loops of a scratch machine."""
    process = subprocess.Popen(
        scratch.argv("web", "--port", "0", *words),
        cwd=scratch.root,
        env={**scratch.env, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=err,
        text=True,
    )
    try:
        assert process.stdout is not None
        server = Server(process, process.stdout.readline().strip())
        if server.token:
            server.enter()
        yield server
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def events_of(server: Server, path: str, until: Callable[[list[Event]], object], **headers: str) -> list[Event]:
    """Read server-sent events until enough have come."""
    connection, found = server.connect(), list[Event]()
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {"Host": server.host, "Cookie": server.cookie, **named}
        connection.request("GET", f"{server.base}{path}", headers=sent)
        got, event = connection.getresponse(), Event()
        assert got.status == 200
        while not until(found):
            line = got.fp.readline().decode()
            assert line, "the stream ended"
            name, _, value = line.rstrip("\n").partition(": ")
            match name:
                case "event":
                    event.name = value
                case "data":
                    event.data = json.loads(value)
                case "id":
                    event.id = value
                case "" if event.name and line == "\n":
                    found.append(event)
                    event = Event()
        return found
    finally:
        connection.close()


@dataclass
class Event:
    """A server-sent event."""

    name: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    id: str = ""


def log_of(found: list[Event]) -> str:
    """Return the HTML of the agent's stream in some events."""
    return "".join(one.data["html"] for one in found if one.name == "log")
