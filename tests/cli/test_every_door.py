"""The settings of a file travel to every command that starts, checks or continues a loop."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from spool.app.loops.client import Client
from spool.app.starting.effective_settings import resolve_settings
from spool.domain.loop.settings import Layer, Settings, merge
from spool.host.state.specs import kept_spec
from spool.sources.project import find_project
from tests.support import CHANGE, Scratch, make_scratch, wait_for
from tests.support.every_setting import KINDS, configure
from tests.support.worktrees import Fleet


@pytest.fixture(params=KINDS)
def scratch(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Scratch]:
    made = make_scratch(tmp_path)
    configure(made, request.param)
    yield made
    made.spool("stop", "--all-projects")


@pytest.fixture
def settings(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name, value in scratch.env.items():
        monkeypatch.setenv(name, value)
    return resolve_settings(scratch.root, [Layer("", {"harness": "scripted"})]).settings


def kept(folder: Path) -> Settings:
    found = kept_spec(str(folder))
    assert found is not None
    return found.settings


DOORS: dict[str, tuple[Callable[[Scratch], object], str]] = {
    "ralph": (lambda at: at.ralph("Go", "--harness", "scripted"), "ralph"),
    "run": (lambda at: at.run(), "run"),
    "run --detach": (lambda at: (at.run("--detach"), at.spool("attach", CHANGE))[1], "run"),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_loop_gets_them_all(scratch: Scratch, settings: Settings, door: str) -> None:
    start, folder = DOORS[door]
    done = start(scratch)
    assert getattr(done, "returncode", None) == 0, done
    assert kept(scratch.root / ".spool/.state" / folder / CHANGE) == settings


def test_the_screen_starts_with_them_and_keeps_all_that_its_form_does_not_edit(
    scratch: Scratch, settings: Settings
) -> None:
    client = Client(find_project(scratch.root), settings)
    edited = client.check({"max_retries": "5", "model": settings.model or "", "command_timeout": "1m"})
    assert edited == msgspec.structs.replace(settings, max_retries=5, command_timeout=60.0)
    assert edited.gates


@pytest.mark.usefixtures("settings")
def test_a_worktree_loop_starts_and_resumes_with_them(scratch: Scratch) -> None:
    fleet = Fleet(scratch)
    tree = fleet.worktree("add-auth")
    configured = (tree.path / ".spool/config.toml").read_text()
    tree.script([{"say": "Working"}, {"sleep": 600}])
    config = tree.path / ".spool/config.toml"
    config.write_text(f"{configured}\n{config.read_text()}")
    assert scratch.spool("trust", "--grant", cwd=tree.path).returncode == 0
    flags = ("--harness", "scripted", "--terminal", "none")
    done = fleet.wt("start", "add-auth", "Go", *flags)
    assert done.returncode == 0, done.stderr
    folder = tree.path / ".spool/.state/wt-loop/add-auth"
    before = kept(folder)
    assert before.gates
    assert fleet.wt("stop", "add-auth").returncode == 0
    done = fleet.wt("resume", "add-auth", "--iteration-timeout", "7m", "--terminal", "none")
    assert done.returncode == 0, done.stderr
    wait_for(lambda: kept(folder).iteration_timeout == 420)
    assert kept(folder) == msgspec.structs.replace(before, iteration_timeout=420.0)


def test_the_checks_run_by_hand(scratch: Scratch) -> None:
    scratch.run()
    done = scratch.spool("verify", CHANGE, "--json")
    assert {gate["name"] for gate in json.loads(done.stdout)["gates"]} == {"tasks", "tests"}, done.stderr


def test_a_change_lands(scratch: Scratch) -> None:
    done = scratch.run("--in", "clone")
    assert done.returncode == 0, done.stderr
    done = scratch.spool("land", CHANGE, "--allow-unverified")
    assert done.returncode == 0, done.stderr
    assert (scratch.root / "work.txt").exists()


def test_merging_onto_values_parses_nothing_again(settings: Settings) -> None:
    assert merge([], onto=settings).settings == settings
