"""A file that somebody is writing is left to its writer by checkpoints and reverts, and named once."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.checkpoints.world import World, run


@contextmanager
def _server(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process outside of any agent that appends a line to a file for each line that it gets."""
    code = "import sys; f = open(sys.argv[1], 'ab', 0); [print(f.write(l), flush=True) for l in sys.stdin.buffer]"
    with subprocess.Popen(
        [sys.executable, "-uc", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            _say(process, "first")
            yield process
        finally:
            process.kill()


def _say(process: subprocess.Popen[bytes], line: str) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(line.encode() + b"\n")
    process.stdin.flush()
    process.stdout.readline()


@pytest.mark.parametrize("name", ["events.jsonl", "server.log", "logs/deep/server.out"])
def test_no_line_is_lost_whatever_is_reverted(world: World, name: str) -> None:
    (world.top / name).parent.mkdir(parents=True, exist_ok=True)
    checkpoints = world.checkpoints()
    with _server(world.top / name) as server:
        saved = run(checkpoints.save("story 1"))
        assert [one for one in saved.warnings if one.startswith(f"{name} is being written by another process")]
        for number in range(3):
            _say(server, f"line {number}")
            world.write("committed", f"agent {number}\n")
            discarded = run(checkpoints.revert(saved))
            assert discarded is not None
            assert discarded.warnings == ()
            assert (world.top / "committed").read_text() == "2\n"
        _say(server, "last")
    lines = ["first", "line 0", "line 1", "line 2", "last"]
    assert (world.top / name).read_text().splitlines() == lines
    world.write("committed", "agent\n")
    run(world.checkpoints().revert(saved))  # nobody writes it any more, and it is still no part of the checkpoint
    assert (world.top / name).read_text().splitlines() == lines


def test_a_tracked_file_is_saved_and_left_only_while_it_is_written(world: World) -> None:
    checkpoints = world.checkpoints()
    with _server(world.top / "src/code.py") as server:
        saved = run(checkpoints.save("story 1"))
        assert saved.warnings == ()
        _say(server, "more")
        world.write("committed", "agent\n")
        discarded = run(checkpoints.revert(saved))
        assert discarded is not None
        assert discarded.warnings == ("src/code.py is being written by another process: it is left as it is",)
        _say(server, "still the same file")
        assert (world.top / "src/code.py").read_text().endswith("still the same file\n")
    run(checkpoints.revert(saved))
    assert (world.top / "src/code.py").read_text() == "print(1)\nfirst\n"


def test_a_file_that_is_only_read_is_reverted(world: World) -> None:
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    world.write("untracked", "agent\n")
    with (world.top / "untracked").open():
        run(checkpoints.revert(saved))
    assert (world.top / "untracked").read_text() == "u\n"
