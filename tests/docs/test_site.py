"""The site of the docs loads nothing from elsewhere, and its generated page is up to date."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from spool.domain.settings import Settings

TOP = Path(__file__).parents[2]
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio)\b[^>]*\bsrc=["']?(?:https?:)?//"""
    r"""|<link\b(?=[^>]*\brel=["']?(?:stylesheet|icon|preload|preconnect|modulepreload))[^>]*\bhref=["']?(?:https?:)?//"""
    r"""|url\(["']?(?:https?:)?//|@import\s""",
    re.IGNORECASE,
)


def settings_page() -> ModuleType:
    spec = importlib.util.spec_from_file_location("settings_page", TOP / "docs/settings_page.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_every_setting_is_on_its_page_with_an_example() -> None:
    made = settings_page()
    assert set(made.EXAMPLES) == set(Settings.__struct_fields__), "add an example to docs/settings_page.py"
    assert (TOP / "docs/settings.md").read_text() == made.page(), "run `make settings-page`"


def test_the_site_is_built_strictly_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(
        build, cwd=TOP, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    files = [path for path in (tmp_path / "site").rglob("*") if path.suffix in (".html", ".css", ".svg")]
    assert len([path for path in files if path.suffix == ".html"]) > 25
    found = {path.name: LOADED.findall(path.read_text()) for path in files}
    assert {name: loads for name, loads in found.items() if loads} == {}
