"""kill -9 at each step of a landing: the target and its tree are untouched or wholly moved once the next has begun."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from spool.app.landing.attempt import LandRequest
from spool.app.landing.moves import Moves
from spool.app.landing.train import find_here, land
from spool.app.starting.effective_settings import resolve_settings
from spool.domain.account.landing_order import Fate, Landing, Move
from spool.domain.loop.settings import Layer
from spool.host.clock import SystemClock
from spool.host.git.landing.target_branch import landing_lock
from spool.host.git.landing.target_errors import TargetMoved
from spool.host.state.landings import Landings
from spool.views.landing_view import LandLines
from tests.landing.support import CHECK, Field, make_field, part
from tests.support import PATIENCE_S
from tests.support.scale import trials

_STEPS = {
    "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.link", "os.symlink", "shutil.rmtree", "shutil.copyfile",
    "subprocess.Popen", "os.posix_spawn", "os.fork",
}  # fmt: skip
KILLS = trials(500, least=12)
OLD = {"edited.txt": "old line\n" * 50, "gone.txt": "gone\n", "same.txt": "same\n", "d/f.txt": "in a folder\n"}
NEW = {"edited.txt": "new line\n" * 70, "added/deep.txt": "added\n", "d": "a file\n"}


@pytest.fixture
def field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Field:
    made = make_field(tmp_path)
    for variable in [one for one in os.environ if one.startswith(("GIT_", "XDG_"))]:
        monkeypatch.delenv(variable)
    for name, value in made.scratch.env.items():
        monkeypatch.setenv(name, value)
    made.commit(OLD, "old")
    return made


def killed_at(step: int, work: Callable[[], object], *, after_s: float = 0.0) -> bool:
    """Do something in a child that is killed before one of its steps, or soon after; return whether it was."""
    child = os.fork()
    if child == 0:
        try:
            _count(step, os.getpid(), after_s)
            work()
            os._exit(0)
        except BaseException as error:  # noqa: BLE001 - nothing of pytest may run in the child
            os.write(2, repr(error).encode() + b"\n")
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL, signal.SIGALRM), f"step {step}: {os.waitstatus_to_exitcode(status)}"
    return status != 0


def counted(work: Callable[[], object]) -> int:
    """Do something in a child and return the number of its steps."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        seen, pid = 0, os.getpid()

        def count(event: str, _: object) -> None:
            nonlocal seen
            seen += event in _STEPS and os.getpid() == pid

        sys.addaudithook(count)
        try:
            work()
            os.write(writing, str(seen).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        return int(pipe.read())


def _count(step: int, pid: int, after_s: float) -> None:
    left = step

    def count(event: str, _: object) -> None:
        nonlocal left
        if event in _STEPS and os.getpid() == pid:
            left -= 1
            if left == 0 and after_s:
                signal.setitimer(signal.ITIMER_REAL, after_s)
            elif left == 0:
                os.kill(pid, signal.SIGKILL)

    sys.addaudithook(count)


def a_move(field: Field, number: int, **more: str) -> Move:
    """Return a move from main to a commit with edited, added, deleted and replaced files."""
    branch = f"change/c{number}"
    place = field.root.parent / "place"
    field.git("worktree", "add", "--quiet", "-b", branch, str(place), "main")
    field.git("rm", "--quiet", "gone.txt", "d/f.txt", cwd=place)
    new = field.commit(NEW | {f"{name}.md": text for name, text in more.items()}, f"c{number}", cwd=place)
    field.git("worktree", "remove", "--force", str(place))
    git_dir = field.root / ".git"
    return Move(
        token=f"spool-{number}", change=f"c{number}", branch=branch, tip=new, onto="main", old=field.tip(), new=new,
        top=str(field.root), git_dir=str(git_dir),
    )  # fmt: skip


def with_moves(field: Field, work: Callable[[Moves], Landing | None]) -> Landing | None:
    repository = find_here(field.root)
    with landing_lock(repository) as lock:
        return work(Moves(repository, Landings(repository.common_dir), lock, SystemClock(), timeout_s=60))


def tree(field: Field) -> dict[str, str]:
    names = [path for path in field.root.rglob("*") if path.is_file() and not {".git", ".spool"} & set(path.parts)]
    return {str(path.relative_to(field.root)): path.read_text() for path in names}


def back(field: Field, move: Move) -> None:
    """Take the target and its tree back by hand."""
    field.git("reset", "--quiet", "--hard", move.old)


@pytest.mark.parametrize("after_s", [0.0, 0.002, 0.008])
def test_at_each_step_of_the_move(field: Field, after_s: float) -> None:
    before, moved, untouched = tree(field), 0, 0
    for number in (-1, 0):  # the first makes folders
        first = a_move(field, number)
        steps = counted(partial(with_moves, field, partial(Moves.make, move=first)))
        back(field, first)
    for step in range(1, steps + 1):
        move = a_move(field, step)
        killed = killed_at(step, partial(with_moves, field, partial(Moves.make, move=move)), after_s=after_s)
        assert killed or after_s, step
        settled = with_moves(field, lambda one: one.settle())
        assert field.tip() in (move.old, move.new), step
        assert field.status() == "", step
        assert field.leavings() == [], step
        found = Landings(find_here(field.root).common_dir).of(move.change)
        if field.tip() == move.new:
            moved += 1
            assert found is not None, step
            assert (found.fate, found.commit) == (Fate.LANDED, move.new), step
            back(field, move)
        else:
            untouched += 1
            assert (found, settled) == (None, None), step
        assert tree(field) == before, step
    assert after_s or (moved > 1 and untouched > 10), (moved, untouched)
    assert field.git("fsck", "--strict", "--no-dangling") == ""


@pytest.mark.long
def test_at_each_step_an_untracked_plan_is_restored_or_has_its_boxes_ticked(field: Field) -> None:
    mine, ticked = "- [ ] one\n", "- [x] one\n"
    plan = field.root / "PLAN.md"
    for number in (-1, 0):  # the first makes folders
        first = a_move(field, number, PLAN=ticked)
        plan.write_text(mine)
        steps = counted(partial(with_moves, field, partial(Moves.make, move=first)))
        back(field, first)
    moved = 0
    for step in range(1, steps + 1):
        move = a_move(field, step, PLAN=ticked)
        plan.write_text(mine)
        assert killed_at(step, partial(with_moves, field, partial(Moves.make, move=move))), step
        with_moves(field, lambda one: one.settle())
        assert plan.read_text() == (ticked if field.tip() == move.new else mine), step
        assert field.leavings() == [], step
        moved += field.tip() == move.new
        back(field, move)
    assert 1 < moved < steps - 10


_FILES = {
    "edited.txt": ("old", "new", "torn", "absent"),
    "added/deep.txt": ("absent", "new", "torn"),
    "gone.txt": ("old", "absent"),
}


@pytest.mark.parametrize("index", ["old", "new"])
def test_a_git_that_was_killed_too_leaves_torn_files(field: Field, index: str) -> None:
    """Each state of each file in which a killed `git read-tree` may leave it is restored."""
    before, move = tree(field), a_move(field, 1)
    git_dir = field.root / ".git"
    for states in itertools.product(*_FILES.values()):
        with_moves(field, lambda one: one._records.begin(move))
        (git_dir / "index.lock").write_text(move.token)
        if index == "new":
            field_env = {**field.scratch.env, "GIT_INDEX_FILE": str(git_dir / "index.spool")}
            shutil.copy2(git_dir / "index", git_dir / "index.spool")
            _quietly("git", "read-tree", "-m", "-i", move.old, move.new, cwd=field.root, env=field_env)
            (git_dir / "index.spool").rename(git_dir / "index")
        else:
            (git_dir / "index.spool").write_bytes(b"torn")
            (git_dir / "index.spool.lock").write_bytes(b"torn")
        for name, state in zip(_FILES, states, strict=True):
            _put(field.root / name, OLD.get(name, ""), NEW.get(name, ""), state)
        assert with_moves(field, lambda one: one.settle()) is None
        assert tree(field) == before, states
        assert field.status() == "", states
        assert field.leavings() == [], states
        assert field.tip() == move.old


def _quietly(*argv: str, cwd: Path, env: dict[str, str]) -> None:
    import subprocess

    subprocess.run(argv, cwd=cwd, env=env, check=True, timeout=PATIENCE_S)


def _put(path: Path, old: str, new: str, state: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    match state:
        case "absent":
            path.unlink(missing_ok=True)
        case "torn":
            path.write_text(new[: len(new) // 2])
        case _:
            path.write_text(old if state == "old" else new)


def test_a_persons_edit_since_is_kept(field: Field) -> None:
    move = a_move(field, 1)
    with_moves(field, lambda one: one._records.begin(move))
    (field.root / ".git" / "index.lock").write_text(move.token)
    (field.root / "edited.txt").write_text("mine, while it was half-moved\n")
    (field.root / "gone.txt").unlink()
    assert with_moves(field, lambda one: one.settle()) is None
    assert (field.root / "edited.txt").read_text() == "mine, while it was half-moved\n"
    assert field.status() == "M edited.txt"
    assert (field.root / "gone.txt").read_text() == "gone\n"


def test_a_persons_commit_since_is_kept(field: Field) -> None:
    """A person removed the lock and committed in the half-moved tree: everything of theirs stays as it is."""
    move = a_move(field, 1)
    with_moves(field, lambda one: one._records.begin(move))
    theirs = field.commit({"edited.txt": "theirs\n", "theirs.txt": "theirs\n"}, "theirs")
    assert with_moves(field, lambda one: one.settle()) is None
    assert field.tip() == theirs
    assert field.status() == ""
    assert field.leavings() == []


def test_a_target_that_moved_is_not_moved(field: Field) -> None:
    move = a_move(field, 1)
    theirs = field.commit({"theirs.txt": "theirs\n"}, "theirs")
    with pytest.raises(TargetMoved):
        with_moves(field, lambda one: one.make(move))
    assert field.tip() == theirs
    assert field.status() == ""
    assert field.leavings() == []


@pytest.mark.long
def test_at_the_steps_of_a_whole_landing(field: Field) -> None:
    """Kill the whole of it, from the rebase to the record; the next command lands what is left, and says so."""
    settings = resolve_settings(field.root, [Layer("", {"gates": [{"run": CHECK}]})]).settings

    def whole(name: str) -> None:
        land(LandRequest(root=field.root, settings=settings, names=(name,)), LandLines(quiet=True))

    field.change("counted", part("counted"))
    steps = counted(lambda: whole("counted"))
    assert steps > 100
    for step in sorted({round(steps * number / KILLS) or 1 for number in range(KILLS)}):
        name = f"whole_{step}"
        tip = field.change(name, part(name))
        assert killed_at(step, partial(whole, name)), step
        found = field.fates(name, code=0)
        assert found[name] in ("landed", "already there"), step
        record = Landings(find_here(field.root).common_dir).of(name)
        assert record is not None, step
        assert (record.fate, record.tip) == (Fate.LANDED, tip), step
        assert field.git("merge-base", "--is-ancestor", record.commit, "main") == ""
        assert field.git("log", "--format=%s", "main").splitlines().count(f"{name} 1") == 1, step
        assert (field.root / f"{name}.txt").read_text() == f"{name}\n"
        assert field.status() == "", step
        assert field.leavings() == [], step
