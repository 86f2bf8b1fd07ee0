"""Disks that fail, fill up or refuse: a clear error, a non-zero exit, readable state, and no agent left."""

from __future__ import annotations

import errno
import os
import re
import resource
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.faults import invariants
from tests.support import CHANGE, PATIENCE_S, Scratch
from tests.support.machine import PROMISE, agents, fake_agent, need, nobody_left, running, shell_agent, told
from tests.support.scale import trials

TWO_ITERATIONS = f'echo at work; [ "$SPOOL_ITERATION" = 1 ] || echo "{PROMISE}"'
CALLS = {
    "rename": "rename,renameat,renameat2",
    "openat": "openat",
    "write": "write",
    "fsync": "fsync",
}


@cache
def strace() -> str:
    path = need("strace")
    tried = subprocess.run(
        [path, "-o", "/dev/null", "true"], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    if tried.returncode:
        pytest.skip(f"strace may not trace here: {tried.stderr.strip()[:200]}")
    return path


def traced(scratch: Scratch, *options: str, fresh: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a loop of two iterations with its main thread traced; agents and supervisor are not."""
    words = ["ralph", "Work", "--change", CHANGE, "--max-iterations", "2", *(["--fresh"] if fresh else [])]
    return subprocess.run(
        [strace(), *options, *scratch.argv(*words)],
        cwd=scratch.root, env=scratch.env, capture_output=True, text=True,
        timeout=PATIENCE_S, check=False,
    )  # fmt: skip


def moments(scratch: Scratch, call: str) -> list[int]:
    """Return at which of the runner's calls of one kind it touches files of the loop, counted from 1."""
    log = scratch.home / "trace"
    done = traced(scratch, "-y", "-s", "4096", "-e", f"trace={CALLS[call]}", "-o", str(log), fresh=True)
    assert done.returncode == 0, done.stderr
    lines = [line for line in log.read_text(errors="replace").splitlines() if re.match(r"\w+\(", line)]
    ours = [number for number, line in enumerate(lines, 1) if "/.spool/.state" in line or "/.git/spool" in line]
    assert ours, f"no {call} touches the loop's files"
    return ours


def spread(numbers: list[int], count: int) -> list[int]:
    """Return `count` of the numbers, evenly spread, the first and the last among them."""
    if len(numbers) <= count:
        return numbers
    return [numbers[index * (len(numbers) - 1) // (count - 1)] for index in range(count)]


@pytest.mark.parametrize("call", CALLS)
def test_a_runner_killed_in_a_system_call_leaves_old_or_new(scratch: Scratch, call: str) -> None:
    shell_agent(scratch, TWO_ITERATIONS)
    killed = 0
    for number in spread(moments(scratch, call), trials(40, least=7)):
        shell_agent(scratch, "echo at work")
        done = traced(scratch, "-o", "/dev/null", "-e", f"inject={CALLS[call]}:signal=KILL:when={number}")
        killed += done.returncode in (-9, 137)
        invariants.hold(scratch)
        nobody_left(scratch)
    assert killed
    shell_agent(scratch, f"echo '{PROMISE}'")
    done_at_last = scratch.ralph("Work")
    assert done_at_last.returncode == 0, done_at_last.stderr
    invariants.complete(scratch)


@pytest.mark.parametrize(
    ("name", "path", "call", "error", "times"),
    [
        ("state.json", "", "fsync", "EIO", (1, 3, 5)),
        ("history.jsonl", "history.jsonl", "fsync", "EIO", (1, 2)),
        ("history.jsonl", "history.jsonl", "write", "ENOSPC", (1, 2)),
        ("journal.jsonl", "journal.jsonl", "write", "ENOSPC", (1, 2, 4, 7)),
        ("journal.jsonl", "journal.jsonl", "write", "EIO", (3, 5)),
        ("journal.jsonl", "journal.jsonl", "fsync", "EIO", (1,)),
        ("0003.prompt.md", "logs/0003.prompt.md", "write", "ENOSPC", (1,)),
        ("0004.out", "logs", "openat", "EMFILE", (7, 9)),  # five files in each iteration
    ],
)
def test_a_failing_disk_is_a_clear_error_and_the_state_stays_readable(
    scratch: Scratch, name: str, path: str, call: str, error: str, times: tuple[int, ...]
) -> None:
    """Iterations 3 and 4 meet an error at the first, second … call of one kind on one file, or on the folder."""
    shell_agent(scratch, f'case "$SPOOL_ITERATION" in *[13579]) echo at work;; *) echo "{PROMISE}";; esac')
    assert scratch.ralph("Work").returncode == 0
    snapshot = scratch.home / "snapshot"
    shutil.copytree(scratch.root, snapshot, symlinks=True)
    for number in times:
        shutil.rmtree(scratch.root)
        shutil.copytree(snapshot, scratch.root, symlinks=True)
        before = scratch.history()
        at = ("-P", str(scratch.state / path), "-e", f"inject={CALLS[call]}:error={error}:when={number}")
        done = traced(scratch, "-o", "/dev/null", *at)
        assert done.returncode == 1, (number, done.stdout, done.stderr)
        [complaint] = [line for line in done.stderr.splitlines() if line.startswith("spool: ")]
        assert name in complaint
        assert os.strerror(getattr(errno, error)) in complaint
        assert "Traceback" not in done.stderr
        assert not agents(scratch)
        invariants.hold(scratch)
        assert scratch.history()[:2] == before
    done = scratch.ralph("Work")
    assert done.returncode == 0, done.stderr
    invariants.complete(scratch)


def test_what_is_saved_would_survive_a_power_cut(scratch: Scratch) -> None:
    """File, then name, then folder: each state and each record is forced to the disk before the loop goes on."""
    shell_agent(scratch, TWO_ITERATIONS)
    log = scratch.home / "trace"
    calls = f"trace=fsync,{CALLS['rename']}"
    assert traced(scratch, "-y", "-e", calls, "-o", str(log)).returncode == 0
    lines = [line for line in log.read_text().splitlines() if str(scratch.state) in line]
    saves = [number for number, line in enumerate(lines) if line.startswith("rename") and '"state.json"' in line]
    assert len(saves) > 6
    for number in saves:
        assert re.match(r"fsync\(\d+<.*/\.state\.json\.\d+\.tmp>\)", lines[number - 1]), lines[number - 1]
        assert re.match(rf"fsync\(\d+<{re.escape(str(scratch.state))}>\)", lines[number + 1]), lines[number + 1]
    assert sum("history.jsonl" in line for line in lines) == 2
    assert "journal.jsonl" in lines[-1]


@pytest.fixture
def tiny_disk(scratch: Scratch) -> Iterator[Path]:
    """A disk of 64 KiB where the loop keeps its state; only root can mount it."""
    where = scratch.root / ".spool" / ".state"
    where.mkdir(mode=0o700)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", str(where)], capture_output=True, text=True,
        check=False, timeout=PATIENCE_S,
    )  # fmt: skip
    if mounted.returncode:
        pytest.skip(f"cannot mount here: {mounted.stderr.strip()}")
    try:
        yield where
    finally:
        subprocess.run(["umount", "--lazy", str(where)], check=False, timeout=PATIENCE_S)


@pytest.mark.root
@pytest.mark.parametrize("says", ["little", "much"])
def test_a_full_disk_is_a_clear_error_and_the_state_stays_readable(
    scratch: Scratch, tiny_disk: Path, says: str
) -> None:
    size = 100 if says == "little" else 40_000
    shell_agent(scratch, f"head -c {size} /dev/zero | tr '\\0' x; echo; sleep 0.02; exit 0")
    done = scratch.ralph("Work", "--no-max-iterations", "--stall", "0")
    assert done.returncode == 1, done.stdout[-2_000:]
    assert "No space left on device" in done.stderr
    assert str(tiny_disk) in done.stderr
    assert "Traceback" not in done.stderr
    assert not agents(scratch)
    invariants.hold(scratch)
    shown = scratch.ralph("--status")
    assert shown.returncode == 0, shown.stderr
    before = len(invariants.records(scratch))
    shutil.rmtree(scratch.state / "logs")
    shell_agent(scratch, f"echo '{PROMISE}'")
    done = scratch.ralph("Work")
    assert done.returncode == 0, done.stderr
    assert len(invariants.records(scratch)) > before
    invariants.complete(scratch)


@pytest.mark.root
def test_a_stop_on_a_full_disk_ends_the_agent_and_says_what_is_wrong(scratch: Scratch, tiny_disk: Path) -> None:
    fake_agent(
        scratch,
        """
with open(".spool/.state/filling", "wb", buffering=0) as file:
    try:
        while True:
            file.write(b"x" * 4096)
    except OSError:
        pass
tell("full")
time.sleep(1000)
""",
    )
    with running(scratch, "Work", stderr=subprocess.PIPE) as runner:
        told(scratch, "full")
        runner.terminate()
        _, errors = runner.communicate(timeout=PATIENCE_S)
    assert runner.returncode == 1
    assert b"No space left on device" in errors
    assert b"Traceback" not in errors
    assert not agents(scratch)
    (tiny_disk / "filling").unlink()
    shell_agent(scratch, f"echo '{PROMISE}'")
    assert scratch.ralph("Work").returncode == 0
    assert [record["outcome"] for record in scratch.history()] == ["interrupted", "completed"]
    invariants.complete(scratch)


def without_override(argv: list[str]) -> list[str]:
    """Take from root what lets it write where nobody may; anybody else has none of it."""
    if os.geteuid() != 0:
        return argv
    return [need("setpriv"), "--bounding-set=-dac_override,-dac_read_search", *argv]


@pytest.mark.parametrize("closed", ["state folder", "project", "logs", "locks"])
def test_a_folder_that_may_not_be_written_is_a_clear_error(scratch: Scratch, closed: str) -> None:
    shell_agent(scratch, f"echo '{PROMISE}'")
    assert scratch.ralph("Work").returncode == 0
    before = scratch.load_state()
    folder = {
        "state folder": scratch.state,
        "project": scratch.root / ".spool" / ".state" / "ralph",
        "logs": scratch.state / "logs",
        "locks": scratch.root / ".git" / "spool" / "locks",
    }[closed]
    if closed == "project":
        shutil.rmtree(scratch.state)
        shutil.rmtree(scratch.root / ".git" / "spool")
    if closed == "locks":
        shutil.rmtree(folder)
        folder = folder.parent
    folder.chmod(0o500)
    try:
        done = subprocess.run(
            without_override(scratch.argv("ralph", "Work", "--change", CHANGE)),
            cwd=scratch.root, env=scratch.env, capture_output=True, text=True,
            timeout=PATIENCE_S, check=False,
        )  # fmt: skip
    finally:
        folder.chmod(0o700)
    assert done.returncode == 1, done.stdout
    assert "Permission denied" in done.stderr
    assert "Traceback" not in done.stderr
    assert not agents(scratch)
    if closed == "state folder":
        assert scratch.load_state() == before
    elif closed != "project":
        invariants.hold(scratch)


@pytest.mark.root
def test_locks_of_another_user_are_named_as_such(scratch: Scratch) -> None:
    shell_agent(scratch, f"echo '{PROMISE}'")
    assert scratch.ralph("Work").returncode == 0
    locks = scratch.root / ".git" / "spool" / "locks"
    os.chown(locks, 65534, 65534)
    done = subprocess.run(
        without_override(scratch.argv("ralph", "Work", "--change", CHANGE)),
        cwd=scratch.root, env=scratch.env, capture_output=True, text=True,
        timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode != 0, done.stdout
    assert f"{locks} belongs to another user" in done.stderr


@pytest.mark.parametrize("limit", [12, 16, 20, 24, 28, 32])
def test_too_few_descriptors_are_a_clear_error_or_enough(scratch: Scratch, limit: int) -> None:
    shell_agent(scratch, f"echo '{PROMISE}'")

    def narrow() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

    done = scratch.ralph("Work", preexec_fn=narrow)
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    if done.returncode:
        assert "Too many open files" in done.stderr
    assert not agents(scratch)
    invariants.hold(scratch)
    assert scratch.ralph("Work").returncode == 0
    invariants.complete(scratch)
