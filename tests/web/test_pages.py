"""The pages of a night that ended stuck, as the server sends them."""

import json
import re
import signal
from collections.abc import Iterator

import pytest

from spool.app.loops.loop_list import loop_at
from spool.app.reporting.loop_reports import account_loop
from spool.domain.loop.summary import LoopKind
from spool.views import words
from tests.support import CHANGE, PATIENCE_S, Scratch, make_scratch
from tests.support.figures import check, text_in
from tests.support.html_page import Page
from tests.support.night import run_night, set_up_night
from tests.support.web import Server, serving

pytest.importorskip("starlette")
pytestmark = pytest.mark.xdist_group("web-pages")  # its machine is made once


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    scratch = make_scratch(tmp_path_factory.mktemp("night"))
    set_up_night(scratch)
    assert run_night(scratch).returncode == 1
    return scratch


@pytest.fixture(scope="module")
def server(night: Scratch) -> Iterator[Server]:
    with serving(night) as made:
        yield made


class WholePage(Page):
    """A page with tags that need no end."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        super().handle_starttag(tag, attrs)
        if tag in ("link", "input", "br", "hr"):
            self.open.pop()


def read(text: str) -> WholePage:
    page = WholePage()
    page.feed(text)
    page.close()
    assert page.open == []
    return page


def test_the_list_shows_each_loop_with_its_figures(server: Server) -> None:
    text = read(server.get().text).text
    assert "No loop is running." in text
    for figure in ("002-01_add-ralph-loop", "failed", "project on main", "scripted", "3 of 4", "40.9k", "$0.93"):
        assert figure in text


def test_a_loop_shows_verdict_stories_stream_figures_and_next_steps(server: Server) -> None:
    text = read(server.get(server.loop()).text).text
    for said in (
        "! failed: story 3: no promise",
        "the limit of 1 retry is reached, the last attempt was number 2",
        "2 proved · 1 failed · 1 not started",
        "test_add.Calc.test_add fails without the change",
        "iteration 5: failed · ",
        "⚑ COMPLETE",
        "a promise did not count: inside a sentence",
        "Refused claims",
        "Get back with:",
    ):
        assert said in text


def test_a_story_shows_tasks_gates_and_its_diff(server: Server) -> None:
    got = read(server.get(f"{server.loop()}/story?id=2").text)
    for said in ("✓ done: 2.1 Write subtract", "proved by", "test_subtract.Calc.test_subtract fails", "return a - b"):
        assert said in " ".join(got.text.split())
    assert ("span", {"class": "added"}) in got.tags


def test_pages_run_and_load_nothing_but_the_servers_own_files(server: Server) -> None:
    loop = server.loop()
    for path in ("", loop, f"{loop}/story?id=2", f"{loop}/log"):
        got = server.get(path)
        policy = got.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        page = read(got.text)
        loaded = {attrs.get("src") or attrs.get("href") for tag, attrs in page.tags if tag in ("script", "link", "img")}
        assert loaded <= {"/static/icon.svg", "/static/page.css", "/static/live.js"}
        assert not [name for _, attrs in page.tags for name in attrs if name == "style" or name.startswith("on")]
        links = [attrs["href"] or "" for tag, attrs in page.tags if tag == "a"]
        assert [link for link in links if not link.startswith((server.base, "#", "/"))] == []
    for name in ("page.css", "live.js", "icon.svg"):
        assert "//" not in server.ask(f"/static/{name}").text.replace("http://www.w3.org/2000/svg", "").replace(
            "// ", ""
        )


def test_every_iteration_leads_to_its_place_in_the_stream(server: Server) -> None:
    found = re.findall(rf'href="{server.base}({server.loop()}/log\?at=\d+)">(\d+)<', server.get(server.loop()).text)
    assert [number for _, number in found] == ["1", "2", "3", "4", "5", "6"]
    for path, number in found:
        first = re.findall(r"<h3[^>]*>iteration (\d+)", server.get(path).text)[0]
        assert first == number


def test_the_stream_is_read_page_by_page_in_both_directions(server: Server, night: Scratch) -> None:
    size = (night.run_state / "journal.jsonl").stat().st_size
    middle = server.get(f"{server.loop()}/log?before={size // 2}").text
    assert "I begin with add." in middle
    assert "Earlier" not in middle
    later = re.findall(rf'href="{server.base}([^"]+)">Later<', middle)[0]
    assert "I stop here." in server.get(later).text


def test_long_output_is_cut_and_whole_on_a_page_of_its_own(night: Scratch, server: Server) -> None:
    journal = night.run_state / "journal.jsonl"
    output = "".join(f"line {number}\n" for number in range(2_000))
    event = {"kind": "tool_result", "output": output, "call_id": "x"}
    with journal.open("a") as file:
        file.write(json.dumps({"type": "StoryEvent", "story_id": "3", "iteration": 6, "event": event}) + "\n")
    text = server.get(f"{server.loop()}/log").text
    assert "line 1999" in text
    assert "line 3\n" not in text
    whole = re.findall(rf'href="{server.base}([^"]+output[^"]+)"', text)[-1].replace("&amp;", "&")
    got = server.get(whole)
    assert got.headers["content-type"].startswith("text/plain")
    assert got.text == output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_server_also_while_a_page_follows(night: Scratch, number: signal.Signals) -> None:
    with serving(night) as own:
        connection = own.connect()
        connection.request("GET", f"{own.base}{own.loop()}/stream", headers={"Host": own.host, "Cookie": own.cookie})
        assert connection.getresponse().fp.readline()
        own.process.send_signal(number)
        assert own.process.wait(PATIENCE_S) == 0
        connection.close()


def test_the_page_shows_the_figures_of_the_account(night: Scratch) -> None:
    loop_there = loop_at(night.root, LoopKind.RUN, CHANGE)
    assert loop_there is not None
    account = account_loop(loop_there).history
    usage = account.receipt.usage
    with serving(night) as server:
        listed, loop = text_in(server.get().text), server.loop()
        check(text_in(server.get(loop).text), account)
        for story in account.stories:
            found = " ".join(text_in(server.get(f"{loop}/story?id={story.id}").text).split())
            assert f"Cost {'-' if story.usage.cost_usd is None else f'${story.usage.cost_usd:.2f}'}" in found
            assert f"Gates {words.duration(story.gates_s) if story.gates_s else '-'}" in found
    figures = f"{words.duration(account.elapsed_s)} {words.tokens(usage.tokens or 0)} ${usage.cost_usd:.2f}"
    assert figures in " ".join(listed.split())
