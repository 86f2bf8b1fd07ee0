"""Takes the pictures of the page and of a report for the docs: `make web-pictures`."""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from spool.domain.loop.events import Event
from spool.domain.loop.verdict import Status
from tests.support import CHANGE, make_scratch
from tests.support.night import run_night, set_up_night
from tests.support.scene import finished, half_way, stuck
from tests.support.web import CHROMIUM, serving
from tests.web.fleet import add_loop

LIST: tuple[tuple[Status, list[Event], str, str], ...] = (
    (Status.RUNNING, half_way(), "shop", "add-auth"),
    (Status.RUNNING, half_way()[:8], "search", "faster-search"),
    (Status.DONE, [*half_way(), *finished()], "site", "dark-mode"),
    (Status.STUCK, [*half_way(), *stuck()], "mail", "retry-bounces"),
)


def main() -> None:
    """Write the pictures into the folder that is named: a loop on a wide dark page, the list on a phone, a report."""
    folder = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as base, sync_playwright() as run:
        machine = make_scratch(Path(base))
        for number, (status, events, project, change) in enumerate(LIST):
            add_loop(machine, number, status, events, project=project, change=change)
        browser = run.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        with serving(machine) as server:
            wide = browser.new_page(viewport={"width": 1280, "height": 860}, color_scheme="dark")
            wide.goto(server.url)
            wide.click("a:has-text('add-auth')")
            wide.wait_for_selector("main.loop[data-live=yes]")
            wide.screenshot(path=folder / "web-loop.png")
            phone = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme="light")
            phone.goto(server.url)
            phone.wait_for_selector("main[data-live=yes]")
            phone.screenshot(path=folder / "web-phone.png")
        report = browser.new_page(viewport={"width": 900, "height": 1370}, color_scheme="dark")
        report.goto(night_report(Path(base, "night")).as_uri())
        report.screenshot(path=folder / "report.png")
        browser.close()


def night_report(base: Path) -> Path:
    """Return the HTML report of a night that ended stuck, with names of a project that people know."""
    base.mkdir()
    night, file = make_scratch(base), base / "report.html"
    set_up_night(night)
    tasks = night.change / "tasks.md"
    tasks.write_text(tasks.read_text().replace(" <script>alert(1)</script>", ""))
    night.git("commit", "--quiet", "--all", "--message", "plain titles")
    run_night(night)
    night.spool("report", "--html", str(file))
    file.write_text(file.read_text().replace(CHANGE, "add-calculator").replace(" in project on ", " in shop on "))
    return file


if __name__ == "__main__":
    main()
