"""The generated page of the docs is up to date; `make docs` builds the site and checks the rest."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

from spool.domain.loop.settings import Settings

TOP = Path(__file__).parents[2]


def settings_page() -> ModuleType:
    spec = importlib.util.spec_from_file_location("settings_page", TOP / "docs/settings_page.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_every_setting_is_on_its_page_with_an_example() -> None:
    made = settings_page()
    for name in Settings.__struct_fields__:
        assert list(tomllib.loads(made.example(name))) == [name]
    assert (TOP / "docs/settings.md").read_text() == made.page(), "run `make settings-page`"


def test_make_docs_refuses_a_site_that_loads_something_from_elsewhere(tmp_path: Path) -> None:
    check = [sys.executable, str(TOP / "docs/loads_nothing.py"), str(tmp_path)]
    assert subprocess.run(check, capture_output=True).returncode == 1, "an empty folder is not a site"
    (tmp_path / "index.html").write_text('<img src="pictures/web.png"><a href="https://example.org">read</a>')
    assert subprocess.run(check).returncode == 0
    (tmp_path / "page.html").write_text('<script src="https://example.org/x.js"></script>')
    refused = subprocess.run(check, capture_output=True, text=True)
    assert refused.returncode == 1 and "page.html loads" in refused.stderr
