"""Twelve changes on one branch: what lands is green together, what does not keeps its branch and its reason."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest

from spool.domain.judging.gates.gate import Proof
from spool.domain.loop.verdict import Status
from tests.landing.support import TEST, Field, make_field, part
from tests.support import PYTHON

CLEAN = [f"clean-{number}" for number in range(7)]
CONFLICTING = ["shared-1", "shared-2", "shared-3"]


@pytest.fixture
def field(tmp_path: Path) -> Field:
    return make_field(tmp_path)


def twelve(field: Field) -> dict[str, str]:
    """Make twelve finished changes, of which three conflict with main, and two are green alone and red together."""
    tips = {name: field.change(name, part(name.replace("-", "_"))) for name in CLEAN}
    for name in CONFLICTING:
        tips[name] = field.change(name, {"shared.txt": f"{name}\ntwo\nthree\n"})
    only_one = "len(list(pathlib.Path().glob('pair_*.txt'))) < 2"
    test = {"test_pair.py": TEST.format(name="Pair", what="pair", claim=only_one)}
    field.commit({"shared.txt": "edited by a person\ntwo\nthree\n", **test}, "a person's edit")
    for name in ("pair-1", "pair-2"):
        tips[name] = field.change(name, {f"{name.replace('-', '_')}.txt": "pair\n"})
        assert field.is_green(tips[name])
    return tips


def test_twelve_changes(field: Field) -> None:
    tips = twelve(field)
    before = field.tip()
    found = field.landed(code=1)
    assert {name for name, one in found.items() if one["fate"] == "landed"} == {*CLEAN, "pair-1"}
    assert {name for name, one in found.items() if one["fate"] == "conflict"} == set(CONFLICTING)
    assert found["pair-2"]["fate"] == "red"
    assert found["pair-2"]["failing"] == ["test_pair.Pair.test_pair"]
    assert "unittest" in found["pair-2"]["why"]
    assert Path(found["pair-2"]["log"]).exists()
    assert found["shared-1"]["files"] == ["shared.txt"]
    commits = field.git("rev-list", "--reverse", f"{before}..main").splitlines()
    assert commits == [found[name]["commit"] for name in found if found[name]["fate"] == "landed"]
    assert all(field.is_green(commit) for commit in commits)
    assert {name: field.tip(f"change/{name}") for name in tips} == tips
    assert field.status() == ""
    assert (field.root / "clean_0.txt").read_text() == "clean_0\n"
    assert field.leavings() == []
    account = {one["change"]: one["fate"] for one in json.loads(field.land("--status", "--json").stdout)}
    assert account == {name: one["fate"] for name, one in found.items()}
    again = field.fates(code=1)
    assert set(again) == {*CONFLICTING, "pair-2"}
    assert field.git("fsck", "--strict", "--no-dangling") == ""


def test_what_is_shown(field: Field) -> None:
    field.change("one", part("one"))
    field.change("two", {"shared.txt": "two\n"})
    field.commit({"shared.txt": "person\n"}, "edit")
    planned = field.land("--dry-run", code=1).stdout.splitlines()
    assert planned == [
        "one: change/one can be rebased onto main, and would be checked",
        "two: conflict: 'two 1' conflicts in shared.txt",
    ]
    done = field.land(code=1)
    assert "one: rebasing onto main" in done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("one: landed on main as ")
    assert lines[1] == "two: conflict: 'two 1' conflicts in shared.txt"
    assert "git rebase main change/two" in done.stdout
    assert lines[-1] == f"1 change landed, 1 did not; main is at {field.tip()[:10]}."
    assert "two: conflict" in field.land("--status").stdout


def test_a_dry_run_finds_the_conflicts_and_writes_nothing(field: Field) -> None:
    field.change("base", {"base.txt": "1\n"}, {"base.txt": "1\n2\n"})
    field.change("built", {"base.txt": "1\n2\n3\n"}, base="change/base")
    field.change("clash", {"base.txt": "other\n"})
    field.change("same", part("same"))
    before = field.git("for-each-ref"), field.git("count-objects"), field.status()
    found = field.fates("--dry-run", "--repair", "--archive", code=1)
    wanted = {"base": "would be checked", "built": "would be checked", "clash": "conflict", "same": "would be checked"}
    assert found == wanted
    assert (field.git("for-each-ref"), field.git("count-objects"), field.status()) == before
    assert json.loads(field.land("--status", "--json").stdout) == []
    assert not list((field.scratch.home / ".local/share/spool/clones").glob("*/.landing-*"))
    landed = field.fates(code=1)
    assert landed == {name: "landed" if fate == "would be checked" else fate for name, fate in wanted.items()}


def test_only_finished_and_verified_changes_land(field: Field) -> None:
    for name in ("done", "word", "stuck", "alone"):
        field.branch(name, part(name))
    field.finish("done", Proof.UNBROKEN)
    field.finish("word", Proof.WORD)
    field.finish("stuck", Proof.PROVED, Status.STUCK)
    found = field.landed(code=1)
    assert {name: one["fate"] for name, one in found.items()} == {"done": "landed", "word": "not ready"}
    assert found["word"]["why"] == "its loop ended with agent's word: nothing has verified it"
    assert field.fates("stuck", "alone", code=1) == {"stuck": "not ready", "alone": "not ready"}
    assert field.fates("--allow-unverified", "alone", "word", code=0) == {"alone": "landed", "word": "landed"}
    assert field.fates("done", "--allow-unverified", code=0) == {"done": "already there"}


def test_dependencies_land_first_and_only_once(field: Field) -> None:
    field.change("base", {"base.txt": "1\n"}, {"base.txt": "1\n2\n"})
    field.change("a-top", {"base.txt": "1\n2\n3\n"}, needs="base", base="change/base")
    field.change("b-lost", {"shared.txt": "lost\n"})
    field.change("c-waits", part("waits"), needs="b-lost")
    field.commit({"shared.txt": "person\n", "base_note.txt": "x\n"}, "main moves")
    assert field.fates("a-top", "c-waits", code=1) == {"a-top": "not ready", "c-waits": "not ready"}
    assert field.fates(code=1) == {
        "base": "landed",
        "a-top": "landed",
        "b-lost": "conflict",
        "c-waits": "not ready",
    }
    assert field.git("show", "main:base.txt") == "1\n2\n3"
    assert field.git("log", "--format=%s", "-3", "main").splitlines() == ["a-top 1", "base 2", "base 1"]


def test_a_person_commits_to_the_target_meanwhile(field: Field) -> None:
    """The check commits to main while it runs, once: the change is rebased and checked again, on that commit."""
    field.change("one", part("one"))
    flag = field.root.parent / "committed"
    person = field.root.parent / "person.sh"
    person.write_text(
        f"[ -e {flag} ] && exit 0\ntouch {flag}\ncd {field.root}\n"
        "echo person > person.txt\ngit add person.txt\ngit commit -qm person\n"
    )
    done = field.scratch.spool("land", "--json", "--verify", f"sh {person}; {PYTHON} -m unittest")
    assert done.returncode == 0, done.stderr
    (landing,) = json.loads(done.stdout)["landings"]
    assert landing["tries"] == 2
    assert field.git("log", "--format=%s", "-2", "main").splitlines() == ["one 1", "person"]
    assert (field.root / "person.txt").exists()
    assert (field.root / "one.txt").exists()
    assert field.status() == ""
    assert field.leavings() == []


def test_a_target_that_never_stays_is_left_alone(field: Field) -> None:
    field.change("one", part("one"))
    person = f"cd {field.root} && git commit -q --allow-empty -m person"
    done = field.scratch.spool("land", "--json", "--verify", f"({person}); true")
    assert done.returncode == 1, done.stderr
    (landing,) = json.loads(done.stdout)["landings"]
    assert (landing["fate"], landing["tries"]) == ("held", 5)
    assert "one 1" not in field.git("log", "--format=%s", "main")
    assert field.leavings() == []


def test_an_interrupt_moves_nothing(field: Field) -> None:
    field.change("one", part("one"))
    field.change("two", part("two"))
    before, begun = field.tip(), field.root.parent / "begun"
    check = f"touch {begun}; exec sleep 600"
    process = field.scratch.start("land", "--verify", check)
    while not begun.exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert field.tip() == before
    assert field.leavings() == []
    assert json.loads(field.land("--status", "--json").stdout) == []


def test_usage(field: Field) -> None:
    field.change("one", part("one"))
    done = field.scratch.spool("land", "one")
    assert done.returncode == 2
    assert "no check is configured" in done.stderr
    assert field.land("--onto", "nowhere").returncode == 2
    assert field.land("unknown").returncode == 2
    assert field.fates("one", "--onto", "change/one", code=0) == {"one": "already there"}
