"""How far a clone is, in git's own words and on a terminal."""

import asyncio
import sys
from pathlib import Path

import pytest

from spool.errors import CommandTimeout
from spool.host.external_command import run_command
from spool.host.git.checkpoints.pace import paced
from spool.host.git.workspaces.clone_pace import heard

SAID = r"""
printf 'remote: Counting objects: 100%% (9/9), done.\n' >&2
printf 'Receiving objects:  40%% (40/100)\rReceiving objects:  50%% (50/100)\r' >&2
while [ ! -e "$1" ]; do sleep 0.05; done
printf 'Receiving objects: 100%% (100/100), done.\nfatal: no room\n' >&2
exit 128
"""


@pytest.mark.parametrize(
    ("said", "share"),
    [
        (b"Receiving objects:  45% (450/1000)\r", 0.225),
        (b"Receiving objects: 100% (9/9), done.\nResolving deltas:  50% (2/4)\r", 0.6),
        (b"Updating files:   0% (0/70000)\rUpdating files:  10% (7000/70000)\r", 0.73),
        (b"remote: Counting objects:  12% (1/8)\r", None),
        (b"", None),
    ],
)
def test_the_share_of_all_parts(said: bytes, share: float | None) -> None:
    told = list[float]()
    with paced(lambda _, part, __: told.append(part)):
        heard(said)
    assert told == ([pytest.approx(share)] if share is not None else [])


async def test_a_running_command_is_heard_and_its_progress_is_no_error(tmp_path: Path) -> None:
    told, go = list[float](), tmp_path / "go"

    def listen(said: bytes) -> None:
        heard(said)
        if told:
            go.touch()

    with paced(lambda _, part, __: told.append(part)):
        argv = ["sh", "-c", SAID, "sh", str(go)]
        done = await run_command(argv, directory=tmp_path, timeout_s=60, heard=listen)
    assert told[0] == 0.25
    assert (done.exit_code, done.errors) == (128, b"fatal: no room\n")


async def test_who_is_cancelled_while_listening_leaves_no_process(tmp_path: Path) -> None:
    argv = ["sh", "-c", f"echo $$ > {tmp_path}/pid; exec sleep 600"]
    running = asyncio.create_task(run_command(argv, directory=tmp_path, timeout_s=60, heard=heard))
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
        await asyncio.sleep(0.02)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


SLOW = """
for n in 1 2 3 4 5 6 7 8; do printf 'Receiving objects:  %s%% (%s/100)\\r' $n $n >&2; sleep 0.4; done
"""
COUNTING = "import time; end = time.monotonic() + 2.5\nwhile time.monotonic() < end: pass"
LIMIT_S = 1.2


@pytest.mark.parametrize(
    "argv",
    [
        pytest.param(["sh", "-c", SLOW], id="says something now and then"),
        pytest.param([sys.executable, "-c", COUNTING], id="computes without a word"),
    ],
)
async def test_a_git_that_is_slow_but_makes_progress_is_not_ended(tmp_path: Path, argv: list[str]) -> None:
    done = await run_command(argv, directory=tmp_path, timeout_s=LIMIT_S, heard=heard)
    assert done.exit_code == 0


async def test_a_git_that_stalls_is_ended(tmp_path: Path) -> None:
    argv = ["sh", "-c", f"printf 'Receiving objects:  1%% (1/100)\\r' >&2; echo $$ > {tmp_path}/pid; exec sleep 600"]
    with pytest.raises(CommandTimeout, match=r"made no progress for 1\.2 s"):
        await run_command(argv, directory=tmp_path, timeout_s=LIMIT_S, heard=heard)
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()
