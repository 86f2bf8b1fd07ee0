"""kill -9 at each step of making a clone, of bringing its work back and of removing it: doing it again heals all."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import which

import pytest

from spool.host.git.workspaces.clones import home_of, read_record, remove_clone
from tests.support import Scratch
from tests.support.workspaces import CHANGE, Person, make_person

_STEPS = {
    "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.link", "os.symlink", "shutil.rmtree", "subprocess.Popen",
    "os.posix_spawn",
}  # fmt: skip
_MOST_STEPS = 400


def in_child(work: Callable[[], object]) -> int:
    """Do something in a process of its own and return the process."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:  # noqa: BLE001 - nothing of pytest may run in the child
            os.write(2, repr(error).encode() + b"\n")
            os._exit(1)
    return child


def killed_at(step: int, work: Callable[[], object]) -> bool:
    """Do something in a child that is killed with -9 before one of its steps; return whether it was."""

    def counted() -> None:
        left = step

        def count(event: str, _: object) -> None:
            nonlocal left
            if event in _STEPS:
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        work()

    _, status = os.waitpid(in_child(counted), 0)
    assert status in (0, signal.SIGKILL), f"step {step}: {os.waitstatus_to_exitcode(status)}"
    return status != 0


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    made = make_person(tmp_path, monkeypatch)
    made.write(f".spool/changes/{CHANGE}/proposal.md", "# Auth\n")
    return made


def test_making_a_clone(person: Person) -> None:
    folders = (str(person.root / ".spool" / "changes" / CHANGE),)
    home = home_of(person.repository, CHANGE)
    for step in range(1, _MOST_STEPS):
        killed = killed_at(step, lambda: person.clone(folders=folders))
        assert killed or read_record(home) is not None
        clone = person.clone(folders=folders)
        assert clone.git("rev-parse", "HEAD") == person.git("rev-parse", "HEAD"), step
        assert clone.git("status", "--short") == "?? .spool/", step
        assert [path.name for path in home.parent.iterdir() if path.name != "making.lock"] == [CHANGE], step
        remove_clone(home)
        if not killed:
            break
    else:
        pytest.fail("it never ended")
    assert person.git("status", "--short") == "?? .spool/"
    assert person.git("fsck", "--strict") == ""


def test_bringing_work_back(person: Person) -> None:
    clone = person.clone()
    branch = f"refs/heads/change/{CHANGE}"
    for step in range(1, _MOST_STEPS):
        before, work = person.tip(), clone.commit("work.txt", f"{step}\n")
        killed = killed_at(step, clone.deliver)
        assert person.tip() in (before, work), step
        assert clone.deliver().commit == work, step
        assert person.git("rev-parse", branch, f"refs/spool/left/{CHANGE}").split() == [work, work], step
        if not killed:
            break
    else:
        pytest.fail("it never ended")
    assert person.git("fsck", "--strict") == ""


def test_removing_a_clone(person: Person) -> None:
    home = home_of(person.repository, CHANGE)
    for step in range(1, _MOST_STEPS):
        person.clone()
        killed = killed_at(step, lambda: remove_clone(home))
        if read_record(home) is not None:
            assert (person.clone().top / "code.py").exists(), step
        else:
            person.clone()
        assert len(list(home.parent.glob(".unfinished-*"))) == 0, step
        if not killed:
            break
    else:
        pytest.fail("it never ended")


def test_two_makers_at_once_make_one_clone(person: Person) -> None:
    children = [in_child(person.clone) for _ in range(6)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 6
    assert person.clone().git("status", "--short") == ""


_GIT = """#!/bin/sh
case " $* " in *" init "*|*" fetch "*|*" reset "*|*" symbolic-ref "*|*" update-ref "*|*" commit "*) ;;
*) exec {real} "$@" ;; esac
case "$GIT_DIR" in */shadow/*) exec {real} "$@" ;; esac
echo x >>{count}
if [ "$(wc -l <{count})" -eq "$KILL_AT" ]; then
    [ "$KILL_WHEN" = before ] || {real} "$@"
    kill -9 $PPID
    exit 1
fi
exec {real} "$@"
"""


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", range(1, 13))
def test_a_run_that_is_killed_in_a_git_command_continues(
    scratch: Scratch, tmp_path: Path, number: int, when: str
) -> None:
    change = scratch.change.name
    scratch.script([{"write": "made.txt", "text": "x\n"}, {"tick": 2}, {"promise": "COMPLETE"}])
    wrapper = tmp_path / "wrapped" / "git"
    wrapper.parent.mkdir()
    wrapper.write_text(_GIT.format(real=which("git"), count=tmp_path / "count"))
    wrapper.chmod(0o755)
    path = f"{wrapper.parent}:{scratch.env['PATH']}"
    killed = scratch.run("--in", "clone", env={"PATH": path, "KILL_AT": str(number), "KILL_WHEN": when})
    assert killed.returncode in (0, -signal.SIGKILL), killed.stderr
    done = scratch.run("--in", "clone")
    assert done.returncode == 0, done.stderr
    assert "made.txt" in scratch.git("ls-tree", "-r", "--name-only", f"change/{change}").splitlines()
    assert scratch.git("status", "--short") == ""
