"""The page under attack: other names and sites, guessed tokens, hostile text, odd addresses, slow and dead clients."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import CHANGE, PATIENCE_S, Scratch, make_scratch, wait_for
from tests.support.web import Server, events_of, log_of, serving

pytest.importorskip("starlette")
pytestmark = pytest.mark.xdist_group("web-attacks")  # its machine is made once

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'><svg/onload=alert(1)>\x1b]0;x\x07\u202e\udcff&amp;"
MARKDOWN = """\
# <script>alert(1)</script>

[a](javascript:alert(1)) ![b](http://example.com/x.png) <http://example.com/> <b onclick=alert(1)>c</b>

[ref]: javascript:alert(1) "x"
[ref]

| left | <i>right</i> |
|:-----|------:|
| "><script>alert(1)</script> | b |

```x"><script>alert(1)</script>
</code></pre><script>alert(1)</script>
```
"""


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    """A machine with a loop whose every text is hostile."""
    scratch = make_scratch(tmp_path_factory.mktemp("machine"))
    (scratch.change / "tasks.md").write_text(
        '## 1. <script>alert(1)</script>\n\n- [ ] 1.1 "><img src=x onerror=alert(1)>\n'
    )
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", "hostile")
    name = "<img src=x onerror=alert(1)>\x1b[31m.txt"
    scratch.script(
        [
            {"say": MARKDOWN},
            {"write": name, "text": "</pre><script>alert(1)</script>\n"},
            {"tick": 1},
            {"promise": "COMPLETE"},
        ]
    )
    assert scratch.run("--commit-stories").returncode == 0
    journal = scratch.run_state / "journal.jsonl"
    said = [
        {"kind": "message", "text": HOSTILE},
        {"kind": "tool_use", "tool": HOSTILE, "summary": HOSTILE, "call_id": HOSTILE},
        {"kind": "tool_result", "output": HOSTILE + "\n</pre></details><script>alert(1)</script>", "call_id": HOSTILE},
        {"kind": "denied", "tool": HOSTILE, "summary": HOSTILE},
        {"kind": "error", "message": HOSTILE},
    ]
    with journal.open("a", encoding="utf-8", errors="surrogateescape") as file:
        for event in said:
            file.write(json.dumps({"type": "StoryEvent", "story_id": "1", "iteration": 1, "event": event}) + "\n")
        file.write(json.dumps({"type": "Warning", "message": HOSTILE, "hint": HOSTILE}) + "\n")
        file.write(json.dumps({"type": "StopRequested", "by": HOSTILE}) + "\n")
        file.write(json.dumps({"type": "GateEnded", "gate": HOSTILE, "purpose": "claim", "green": False}) + "\n")
    return scratch


@pytest.fixture(scope="module")
def server(machine: Scratch) -> Iterator[Server]:
    with serving(machine) as made:
        yield made


def pages(server: Server) -> list[str]:
    loop = server.loop()
    return ["", loop, f"{loop}/story?id=1", f"{loop}/log"]


def test_hostile_text_is_text_on_every_page(server: Server) -> None:
    for path in pages(server):
        got = server.get(path)
        assert got.status == 200
        tags = re.findall(r"<([a-z0-9]+)((?:\s[^<>]*)?)>", got.text)
        assert {name for name, _ in tags} <= {
            *(
                "html",
                "head",
                "meta",
                "link",
                "script",
                "title",
                "body",
                "a",
                "header",
                "nav",
                "strong",
                "span",
                "main",
            ),
            *("h1", "h2", "h3", "p", "section", "div", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "dl"),
            *("dt", "dd", "details", "summary", "pre", "code", "small", "figure", "figcaption", "svg", "rect", "line"),
            *("text", "title", "ol", "blockquote", "em", "br"),
        }
        assert [kind for name, kind in tags if name == "script" and 'src="/static/live.js"' not in kind] == []
        unquoted = re.sub(r'"[^"]*"', "", "".join(kind for _, kind in tags))
        assert not re.search(r"\bon\w+=|javascript:", unquoted)
        assert "example.com/x.png" not in "".join(kind for _, kind in tags)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", got.text)


def test_hostile_text_is_text_in_server_sent_events(server: Server) -> None:
    found = events_of(server, f"{server.loop()}/stream", lambda seen: {"log", "panels"} <= {one.name for one in seen})
    for event in found:
        data = json.dumps(event.data)
        assert "<script" not in data
        assert "<img" not in data
        assert not re.search(r"<svg/", data)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "localhost.evil.example:{port}",
        "0.0.0.0:{port}",
        "evil.example",
        "",
    ],
)
def test_a_name_that_was_rebound_to_this_machine_is_refused(server: Server, host: str) -> None:
    name = host.format(port=server.port)
    for path in (f"/?token={server.token}", server.base, "/static/live.js", "/"):
        got = server.ask(path, Host=name, Cookie=server.cookie)
        assert got.status in (400, 421), (host, path)
        assert "set-cookie" not in got.headers


def test_localhost_is_a_name_of_this_server(server: Server) -> None:
    assert server.get(Host=f"localhost:{server.port}").status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"},
        {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "cors"},
    ],
)
def test_another_sites_page_reads_nothing(server: Server, headers: dict[str, str]) -> None:
    sent = {name: value.format(port=server.port) for name, value in headers.items()}
    for path in pages(server):
        got = server.get(path, **sent)
        assert (got.status, CHANGE in got.text) == (403, False)


def test_no_other_page_can_frame_or_embed_it(server: Server) -> None:
    for got in (server.get(), server.ask("/"), server.ask("/static/live.js"), server.get("nothing")):
        assert got.headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in got.headers["content-security-policy"]
        assert got.headers["cross-origin-resource-policy"] == "same-origin"
        assert got.headers["cross-origin-opener-policy"] == "same-origin"
        assert got.headers["x-content-type-options"] == "nosniff"
        assert got.headers["referrer-policy"] == "same-origin"
        assert got.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in got.headers
        assert "server" not in got.headers


@pytest.mark.parametrize(
    "given", ["", "?token=", "?token=x", "?token={short}", "?token={token}x", "?token=%00", "?Token={token}"]
)
def test_only_the_whole_token_opens_a_session(server: Server, given: str) -> None:
    got = server.ask(f"/{given.format(token=server.token, short=server.token[:-1])}")
    assert (got.status, "set-cookie" in got.headers) == (401, False)
    assert server.base not in got.text


@pytest.mark.parametrize(
    "cookie", ["", "spool=", "spool=x", "spool=\xff", 'spool="\\"', "spool={token}", ";;;=", "a=b; spool=x; " * 50]
)
def test_without_the_sessions_cookie_nothing_is_shown(server: Server, cookie: str) -> None:
    for path in pages(server):
        got = server.ask(f"{server.base}{path}", Cookie=cookie.format(token=server.token))
        assert (got.status, CHANGE in got.text) == (401, False)


def test_the_cookie_is_for_this_server_alone(server: Server) -> None:
    header = server.ask(f"/?token={server.token}").headers["set-cookie"]
    assert "HttpOnly" in header
    assert "SameSite=Strict" in header
    assert f"Path={server.base};" in header
    assert re.fullmatch(r"/[0-9a-f]{16}/", server.base)  # cookies know no ports: another server here must not get it
    assert server.token not in header


def test_neither_token_nor_session_stand_on_any_page(server: Server) -> None:
    session = server.cookie.partition("=")[2]
    for path in pages(server):
        text = server.get(path).text
        assert server.token not in text
        assert session not in text
    assert server.token not in Path(f"/proc/{server.process.pid}/cmdline").read_text()


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_without_control_nothing_takes_more_than_a_question(server: Server, method: str) -> None:
    loop = server.loop()
    for path in (f"{loop}/stop", f"{loop}/note", loop, ""):
        got = server.ask(f"{server.base}{path}", method, "note=x", Cookie=server.cookie, Origin=f"http://{server.host}")
        assert got.status in (404, 405)
    assert "<form" not in server.get(loop).text


@pytest.mark.parametrize(
    "name",
    [
        *(
            "..",
            "../..",
            "%2e%2e",
            "..%2f..%2fetc%2fpasswd",
            "%00",
            "a%0ab",
            "/etc/passwd",
            "x" * 5_000,
            "-",
            "*",
            "%ff",
        ),
        *("..%5c..", "0", "constructor", "__proto__", "%F0%9F%92%A9"),
    ],
)
def test_an_odd_name_leads_nowhere(server: Server, name: str) -> None:
    for path in (f"loop/{name}", f"loop/{name}/log", f"loop/{name}/story?id={name}", f"loop/{name}/output?at=0"):
        got = server.get(path)
        assert got.status in (400, 404), path
        assert "root:" not in got.text
    assert server.ask(f"/static/{name}").status in (400, 401, 404)


@pytest.mark.parametrize("place", ["-1", "1e9", "9" * 19, "9" * 5_000, "%D9%A3", "0x10", "%00", "", "7"])
def test_an_odd_place_in_the_journal_shows_no_error(server: Server, place: str) -> None:
    loop = server.loop()
    for query in (f"log?at={place}", f"log?before={place}", f"output?at={place}", f"story?id={place}"):
        assert server.get(f"{loop}/{query}").status in (200, 404)


@pytest.mark.parametrize("cursor", ["x", "1-", "-", "99999-5", "1-99999999999999999999", "%0aevent: x", "é", "0-0-0"])
def test_an_odd_cursor_starts_at_the_end(server: Server, cursor: str) -> None:
    given = cursor.encode().decode("latin-1")
    found = events_of(server, f"{server.loop()}/stream", log_of, Last_Event_ID=given)
    assert found[0].data["anew"] is True


def test_a_journal_that_is_no_file_of_events_breaks_nothing(machine: Scratch, server: Server) -> None:
    journal, loop = machine.run_state / "journal.jsonl", server.loop()
    kept = journal.read_bytes()
    for content in (
        b"",
        b"\n" * 1_000,
        b"{" * 300_000,
        b'{"type":"RunStarted"}\nnull\n[]\n"x"\n\xff\xfe\n',
        b"x" * (9 << 20),
    ):
        journal.write_bytes(content)
        for path in (loop, f"{loop}/log", f"{loop}/log?at=0", f"{loop}/log?before=100000"):
            assert server.get(path).status == 200
    journal.unlink()
    assert server.get(loop).status == 200
    assert server.get(f"{loop}/log").status == 404
    journal.symlink_to("/etc/passwd")
    assert "root:" not in server.get(loop).text + server.get(f"{loop}/log").text
    journal.unlink()
    journal.write_bytes(kept)


def test_clients_that_say_nothing_or_read_nothing_hold_up_nobody(server: Server) -> None:
    address, held = ("127.0.0.1", server.port), []
    try:
        for number in range(40):
            client = socket.create_connection(address)
            held.append(client)
            if number % 2:
                client.sendall(b"GET / HTTP/1.1\r\nHost:")
            else:
                client.sendall(server.head(server.loop()))
        assert server.get(server.loop()).status == 200
        silent = held[1]
        silent.settimeout(PATIENCE_S)
        assert silent.recv(1) == b""  # it is closed, not waited for
    finally:
        for client in held:
            client.close()
    wait_for(lambda: server.get().status == 200)


@pytest.mark.parametrize(
    "request_",
    [b"\x00\x01\x02", b"GET / HTTP/9.9\r\n\r\n", b"GET " + b"/" * 200_000, b"A: b\r\n" * 10_000, b"\x16\x03\x01\x02"],
)
def test_what_is_no_request_is_refused(server: Server, request_: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.settimeout(PATIENCE_S)
        try:
            client.sendall(request_)
            answer = client.recv(64)
        except ConnectionError:
            answer = b""
        assert answer == b"" or answer.startswith(b"HTTP/1.1 4")
    assert server.get().status == 200
