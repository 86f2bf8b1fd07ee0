"""The command that adds an extra, by how Spool was installed."""

import json
import sys
from pathlib import Path

import pytest

from spool.app.machine import extras
from tests.support import PYTHON


class Installed:
    """A distribution as `importlib.metadata` reads it."""

    requires = ("click>=8", 'starlette>=0.37; extra == "web"', "uvicorn ; extra == 'web'", "x; extra == 'dev'")

    def __init__(self, url: str) -> None:
        self._url = url

    def read_text(self, name: str) -> str | None:
        return json.dumps({"url": self._url}) if name == "direct_url.json" and self._url else None


@pytest.mark.parametrize(
    ("marker", "url", "expected"),
    [
        ("uv-receipt.toml", "", "uv tool install --with 'starlette>=0.37' --with uvicorn ."),
        ("uv-receipt.toml", "file:///a%20b", "uv tool install --with 'starlette>=0.37' --with uvicorn '/a b'"),
        ("pipx_metadata.json", "file:///a", "pipx inject spool-loop 'starlette>=0.37' uvicorn"),
        ("", "", f"{PYTHON} -m pip install '.[web]'"),
        ("", "file:///a", f"{PYTHON} -m pip install '/a[web]'"),
    ],
)
def test_uv_users_read_uv_tool_install_with_and_pipx_users_pipx_inject(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, marker: str, url: str, expected: str
) -> None:
    if marker:
        (tmp_path / marker).touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(extras, "distribution", lambda _: Installed(url))
    assert extras.install_command("web") == expected
