"""The settings of a file travel with a change that is submitted."""

import subprocess

import pytest

from spool.app.starting.effective_settings import resolve_settings
from spool.domain.loop.spec import LoopSpec
from spool.fleet.values import ref_of
from spool.host.state.records import restored
from tests.fleet.support import Fleet, environment
from tests.support.every_setting import BY_INIT, KINDS, OWN, PROJECT

CHANGE = "001-01_one"


@pytest.mark.parametrize("kind", KINDS)
def test_a_submitted_change_has_them_all(fleet: Fleet, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    fleet.make(CHANGE)
    (fleet.root / "Makefile").write_text("test:\n\ttrue\n")
    if kind == BY_INIT:
        assert fleet.spool("init").returncode == 0
    else:
        (fleet.root / ".spool" / "config.toml").write_text(PROJECT)
        own = fleet.person / ".config" / "spool" / "config.toml"
        agent, tables = own.read_text().split("\n", 1)
        own.write_text(f"{agent}\n{OWN}\n{tables}")
        assert fleet.spool("trust", "--grant").returncode == 0
    fleet.submit(CHANGE)
    for name, value in environment(fleet.person).items():
        monkeypatch.setenv(name, value)
    settings = resolve_settings(fleet.root, {}).settings
    assert settings.gates
    words = ["git", "--git-dir", str(fleet.snapshots), "show", f"{ref_of(CHANGE)}:spec.json"]
    shown = subprocess.run(words, capture_output=True, check=True)
    assert restored(shown.stdout, LoopSpec).settings == settings
