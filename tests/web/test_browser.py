"""The page in a real browser: at three widths, by keyboard alone, live, without script, and under attack."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from spool.domain.agent.stream import Message, ToolResult
from spool.domain.loop.events import Event
from spool.domain.loop.verdict import Status
from spool.host.state.journal import JournalWriter
from tests.support import PATIENCE_S, Scratch, make_scratch, wait_for
from tests.support.night import run_night, set_up_night
from tests.support.scene import Clock, finished, half_way, said, stuck
from tests.support.web import AXE, CHROMIUM, Server, needs_axe, needs_browser, serving
from tests.web.fleet import add_loop

pytest.importorskip("starlette")
playwright = pytest.importorskip("playwright.sync_api")
pytestmark = [needs_browser, pytest.mark.xdist_group("web-browser")]

SIZES = ((390, "dark"), (1024, "light"), (1600, "dark"))
EVIL = "evil.example"
_PATIENCE_MS = PATIENCE_S * 1_000
"""How long a browser on a busy machine is waited for; playwright's own 30 s are not enough beside a whole suite."""


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    """A machine with a real night that ended stuck, a loop that runs, and some that have ended."""
    made = make_scratch(tmp_path_factory.mktemp("browser"))
    set_up_night(made)
    assert run_night(made).returncode == 1
    add_loop(made, 1)
    add_loop(made, 2, Status.DONE, [*half_way(), *finished()], project="search", change="faster-search")
    add_loop(made, 3, Status.STUCK, [*half_way(), *stuck()], project="site", change="dark-mode")
    return made


@pytest.fixture(scope="module")
def server(machine: Scratch) -> Iterator[Server]:
    with serving(machine, "--control") as made:
        yield made


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    rules = f"--host-resolver-rules=MAP {EVIL} 127.0.0.1"
    with playwright.sync_playwright() as run:
        browser = run.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", rules], timeout=_PATIENCE_MS)
        yield browser
        browser.close()


@contextmanager
def opened(chromium: Any, server: Server, width: int = 1024, scheme: str = "light", **more: Any) -> Iterator[Any]:
    """Open the printed address in a window of its own; errors of the page, and everything it fetches, are kept."""
    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **more)
    context.set_default_timeout(_PATIENCE_MS)
    page = context.new_page()
    page.said, page.fetched = [], []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("dialog", lambda dialog: (page.said.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: page.fetched.append(request.url))
    page.goto(server.url)
    page.wait_for_selector("h1:has-text('Loops of this machine')")
    yield page
    context.close()


def live(page: Any) -> None:
    page.wait_for_selector("main[data-live=yes]")


def visit(page: Any, change: str) -> None:
    """Open a loop from the list."""
    page.click(f"table a:has-text('{change}')")
    page.wait_for_selector("main.loop")


def quiet(page: Any, server: Server) -> None:
    """Check that a page ran into no error, and fetched from its own server alone."""
    assert page.said == []
    assert [url for url in page.fetched if not url.startswith(f"http://{server.host}/")] == []


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_every_page_fits_its_window(chromium: Any, server: Server, width: int, scheme: str) -> None:
    with opened(chromium, server, width, scheme) as page:
        live(page)
        for go in every_page(page):
            go()
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, page.url
            ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert ground == ("rgb(20, 23, 27)" if scheme == "dark" else "rgb(255, 255, 255)")
        quiet(page, server)


def every_page(page: Any) -> list[Any]:
    """Return what opens each page in turn: list, running loop, stuck loop, story with its diff, stream."""

    def show(selector: str, then: str) -> Any:
        def go() -> None:
            page.click(selector)
            page.wait_for_selector(then)
            page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")

        return go

    return [
        lambda: None,
        show("table a:has-text('add-auth')", "main.loop"),
        show("nav a:has-text('Loops')", "h1:has-text('Loops of this machine')"),
        show("table a:has-text('add-ralph-loop')", "main.loop"),
        show("#stories table a >> nth=1", "h2:has-text('Changes')"),
        show("h3 + p a", "h1 + h2:has-text('Agent')"),
    ]


@needs_axe
@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_axe_finds_no_violation(chromium: Any, server: Server, width: int, scheme: str) -> None:
    source, found = AXE.read_text(), []
    with opened(chromium, server, width, scheme) as page:
        live(page)
        for go in every_page(page):
            go()
            page.evaluate(source)
            ran = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
            found += [(page.url, one["id"], [node["target"] for node in one["nodes"]][:3]) for one in ran["violations"]]
    assert found == []


def test_by_keyboard_alone(chromium: Any, server: Server) -> None:
    with opened(chromium, server, 1600) as page:
        live(page)
        press(page, "Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        reach(page, "a", "add-auth")
        press(page, "Enter")
        page.wait_for_selector("main.loop[data-live=yes]")
        reach(page, "summary", "Control")
        press(page, "Enter")
        reach(page, "button", "Stop this loop")
        reach(page, "textarea", "")
        reach(page, "a", "1 Tokens")
        reach(page, "div", "iteration 3")
        assert page.evaluate("document.activeElement.id") == "log"
        before = page.evaluate("document.activeElement.scrollTop")
        press(page, "PageUp")
        wait_for(lambda: page.evaluate("document.getElementById('log').scrollTop") != before)
        reach(page, "summary", "pytest -q")
        press(page, "Space")
        assert page.evaluate("document.activeElement.parentElement.open") is True
        reach(page, "summary", "Every iteration")
        press(page, "Enter")
        reach(page, "a", "3")
        press(page, "Enter")
        page.wait_for_selector("h1 + h2:has-text('Agent')")
        quiet(page, server)


def press(page: Any, key: str) -> None:
    page.keyboard.press(key)


def reach(page: Any, tag: str, text: str) -> None:
    """Press Tab until the focus is on an element, and check that it can be seen."""
    for _ in range(80):
        press(page, "Tab")
        now = page.evaluate("(() => { const e = document.activeElement; return [e.localName, e.innerText || ''] })()")
        if now[0] == tag and text in now[1]:
            style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert style != "none", f"the focus on {text} cannot be seen"
            return
    raise AssertionError(f"no key leads to {tag} {text}")


def write(machine: Scratch, folder: str, *events: Event) -> None:
    writer = JournalWriter(Path(folder) / "journal.jsonl", run_id="run", now=Clock().now)
    for event in events:
        writer.emit(event)
    writer.close()


def test_the_stream_arrives_and_what_is_unfolded_or_read_stays(chromium: Any, server: Server, machine: Scratch) -> None:
    loop = add_loop(machine, 11, change="live-one")
    with opened(chromium, server, 1600) as page:
        live(page)
        visit(page, "live-one")
        live(page)
        page.wait_for_selector("#log >> text=► running")
        at_end = "(() => { const e = document.getElementById('log'); return Math.abs(e.scrollTop) < 2 })()"
        assert page.evaluate(at_end)
        page.click("#log summary:has-text('tests/conftest.py') >> nth=0")
        write(machine, loop.folder, *said("2", 3, ToolResult(output="8 passed", call_id="e")))
        page.wait_for_selector("#log summary:has-text('pytest -q tests/test_middleware.py')")
        page.wait_for_selector("#log >> text=► running", state="detached")
        write(machine, loop.folder, *said("2", 3, *(Message(text=f"message {number}") for number in range(300))))
        page.wait_for_selector("#log >> text=message 299")
        assert page.evaluate(at_end)
        assert page.evaluate("document.querySelector('#log details[open] summary').innerText.includes('conftest')")
        # Who reads further up is not moved.
        page.evaluate("document.getElementById('log').scrollBy(0, -4000)")
        line = "[...document.querySelectorAll('.block')].find(one => one.innerText.trim() === 'message 150')"
        page.evaluate(f"{line}.scrollIntoView({{block: 'center'}})")
        before = page.evaluate(f"{line}.getBoundingClientRect().top")
        write(machine, loop.folder, *said("2", 3, *(Message(text=f"later {number}") for number in range(30))))
        page.wait_for_selector("#log >> text=later 29", state="attached")
        assert abs(page.evaluate(f"{line}.getBoundingClientRect().top") - before) < 5
        quiet(page, server)


def test_a_page_that_was_hidden_continues_where_it_was(chromium: Any, server: Server, machine: Scratch) -> None:
    loop = add_loop(machine, 12, change="hidden-one")
    with opened(chromium, server) as page:
        live(page)
        visit(page, "hidden-one")
        live(page)
        write(machine, loop.folder, *said("2", 3, Message(text="before")))
        page.wait_for_selector("#log >> text=before")
        hide = "value => { Object.defineProperty(document, 'hidden', {value, configurable: true}); "
        hide += "document.dispatchEvent(new Event('visibilitychange')) }"
        page.evaluate(hide, True)
        write(machine, loop.folder, *said("2", 3, Message(text="meanwhile")))
        page.evaluate(hide, False)
        page.wait_for_selector("#log >> text=meanwhile")
        assert page.locator("#log .block:has-text('before')").count() == 1
        assert page.locator("#log .block:has-text('meanwhile')").count() == 1


def test_the_window_keeps_a_bounded_part_of_the_stream(chromium: Any, server: Server, machine: Scratch) -> None:
    loop = add_loop(machine, 13, change="long-one")
    with opened(chromium, server) as page:
        live(page)
        visit(page, "long-one")
        live(page)
        for part in range(4):
            texts = (Message(text=f"message {part * 1_000 + number}") for number in range(1_000))
            write(machine, loop.folder, *said("2", 3, *texts))
            page.wait_for_selector(f"#log >> text=message {part * 1_000 + 999}")
        assert page.locator("#log .block").count() <= 1_500
        page.click("#earlier")
        page.wait_for_selector("h1 + h2:has-text('Agent')")
        assert page.locator(".block:has-text('message 2300')").count() == 1


def test_without_script_all_can_be_read(chromium: Any, server: Server) -> None:
    with opened(chromium, server, 390, java_script_enabled=False) as page:
        visit(page, "add-auth")
        assert page.locator("#log >> text=pytest -q tests/test_middleware.py").is_visible()
        box, last = page.locator("#log").bounding_box(), page.locator(".block").last.bounding_box()
        assert box["y"] <= last["y"] <= box["y"] + box["height"]  # the end is in view
        page.click("#stories table a >> nth=0")
        page.wait_for_selector("h2:has-text('Attempts')")
        page.go_back()
        page.click("text=On a page of its own")
        page.wait_for_selector("h1 + h2:has-text('Agent')")


def test_the_token_stays_nowhere(chromium: Any, server: Server) -> None:
    with opened(chromium, server) as page:
        live(page)
        assert server.token not in page.url
        assert server.token not in page.evaluate("document.referrer + document.cookie + JSON.stringify(history.state)")
        assert page.evaluate("document.cookie") == ""
        page.go_back()
        assert server.token not in page.url
        assert server.token not in "".join(page.fetched[1:])


def test_the_address_works_from_a_file_and_from_a_link_of_another_site(
    chromium: Any, server: Server, tmp_path: Path
) -> None:
    """Neither is a visit from the site itself, so after a plain redirect the strict cookie would not be sent."""
    file = tmp_path / "open.html"
    file.write_text(f'<meta http-equiv="refresh" content="0;url={server.url}">')
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Attacker) as mail:
        threading.Thread(target=mail.serve_forever, daemon=True).start()
        Attacker.page = f'<a href="{server.url}">Spool</a>'.encode()
        for start in (file.as_uri(), f"http://{EVIL}:{mail.server_port}/"):
            context = chromium.new_context()
            context.set_default_timeout(_PATIENCE_MS)
            page = context.new_page()
            page.goto(start)
            if start.startswith("http"):
                page.click("text=Spool")
            page.wait_for_selector("h1:has-text('Loops of this machine')")
            context.close()
        mail.shutdown()


def test_the_page_stops_a_loop_and_adds_a_note(chromium: Any, machine: Scratch, server: Server, tmp_path: Path) -> None:
    own = make_scratch(tmp_path)
    own.script([{"say": "Working"}, {"sleep": 600}])
    assert own.run("--detach").returncode == 0
    with serving(own, "--control") as other, opened(chromium, other, 390) as page:
        visit(page, "add-ralph-loop")
        page.click("text=Control")
        page.fill("textarea", "Use metric units <b>")
        page.click("text=Add the note")
        page.wait_for_selector("text=The note is added")
        assert "Use metric units <b>" in (own.run_state / "context.md").read_text()
        page.click("text=Back to the loop")
        page.click("text=Control")
        page.click("text=Stop this loop")
        page.wait_for_selector("text=A stop is requested")
        page.click("text=Back to the loop")
        page.wait_for_selector("text=· stopped")
        quiet(page, other)


class Attacker(http.server.BaseHTTPRequestHandler):
    """Another site, on another port of this machine."""

    page = b""
    seen: list[tuple[str, str]] = []  # noqa: RUF012 - the server makes a handler for each request

    def do_GET(self) -> None:
        self.seen.append((self.path, self.headers.get("Cookie", "")))
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.page)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


ATTACK = """<!doctype html><title>Attack</title>
<form id=f method=post target=t action="{target}/stop"></form><iframe name=t id=t></iframe>
<iframe id=framed src="{target}"></iframe><script src="{target}/stream"></script>
<script>
const post = {{method: "POST", credentials: "include", mode: "no-cors"}};
const tries = [
  fetch("{target}", {{credentials: "include"}}).then(r => r.text()).catch(() => "refused"),
  fetch("{target}/stop", post).then(r => r.type, () => "refused"),
  fetch("{target}/note", {{...post, body: new URLSearchParams("note=evil")}}).then(r => r.type, () => "refused"),
  new Promise(done => {{ const s = new EventSource("{target}/stream", {{withCredentials: true}});
    s.onmessage = s.onopen = () => done("read"); s.onerror = () => done("refused") }}),
];
document.getElementById("f").submit();
Promise.all(tries).then(found => {{ document.title = "over"; window.found = found }});
</script>"""


SITES = ("127.0.0.1", "localhost", EVIL)


@pytest.mark.parametrize("site", SITES)
def test_a_page_of_another_site_neither_reads_nor_acts(
    chromium: Any, server: Server, machine: Scratch, site: str
) -> None:
    loop = add_loop(machine, 20 + SITES.index(site), change="target")
    target = f"http://{server.host}{server.base}loop/{loop.id}"
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Attacker) as attacker:
        threading.Thread(target=attacker.serve_forever, daemon=True).start()
        Attacker.page, Attacker.seen = ATTACK.format(target=target).encode(), []
        with opened(chromium, server) as page:
            evil = page.context.new_page()
            answers: list[Any] = []
            evil.on("response", lambda got: answers.append(got))
            evil.goto(f"http://{site}:{attacker.server_port}/")
            evil.wait_for_function("document.title === 'over'")
            evil.wait_for_function("window.frames.length === 2")
            found = evil.evaluate("window.found")
            assert "target" not in json.dumps(found)
            assert found[3] == "refused"
            evil.wait_for_load_state("networkidle")
            asked = [one for one in answers if one.url.startswith(target)]
            posted = {one.status for one in asked if one.request.method == "POST"}
            read = {one.status for one in asked if one.request.method == "GET" and one.url != target}
            assert posted | read <= {401, 403}
            assert {one.status for one in asked if one.request.resource_type == "fetch"} <= {401, 403}
            assert all("spool=" not in cookie for _, cookie in Attacker.seen)
        attacker.shutdown()
    assert not (Path(loop.folder) / "context.md").exists()
    assert "Stop this loop" in server.get(f"loop/{loop.id}").text


def test_a_rebound_name_is_refused(chromium: Any, server: Server) -> None:
    context = chromium.new_context()
    context.set_default_timeout(_PATIENCE_MS)
    page = context.new_page()
    got = page.goto(f"http://{EVIL}:{server.port}/?token={server.token}")
    assert got.status == 421
    assert context.cookies() == []
    assert page.goto(f"http://{EVIL}:{server.port}{server.base}").status == 421
    context.close()
