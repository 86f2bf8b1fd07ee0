"""A repository full of escape sequences, on the page."""

import re
from pathlib import Path

import pytest

from tests.support.hostile import ACTIVE, make_hostile
from tests.support.web import serving

pytest.importorskip("starlette")


def test_the_page_shows_no_control_and_prints_none(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> None:
    hostile = make_hostile(tmp_path_factory)
    with (tmp_path / "err").open("w") as err, serving(hostile, err=err) as server:
        listed = server.get().text
        loops = set(re.findall(rf'href="{server.base}(loop/[0-9a-f]+)"', listed))
        assert loops
        pages = [listed] + [server.get(f"{loop}{part}").text for loop in loops for part in ("", "/log", "/story?id=1")]
        server.process.terminate()
        assert server.process.stdout is not None
        printed = server.process.stdout.read()
    for text in (*pages, printed, (tmp_path / "err").read_text()):
        assert not ACTIVE.search(text)
    assert "x]52" not in "".join(pages)
