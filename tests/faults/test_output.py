"""Output of every size and shape: found, byte-exact on disk, bounded in memory, harmless on the screen."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.support import PATIENCE_S, Scratch, wait_for
from tests.support.machine import (
    PROMISE,
    fake_agent,
    peak_kib,
    release,
    running,
    shell_agent,
    terminal,
    told,
)

ROOM_KIB = 64 << 10


def measure(scratch: Scratch, *words: str) -> int:
    """Run a loop whose first iteration prints and whose second waits; return by how many KiB the runner grew."""
    with running(scratch, "Work", "--min-iterations", "2", "--max-iterations", "2", *words) as runner:
        told(scratch, "before")
        start = peak_kib(runner.pid)
        release(scratch, "print")
        told(scratch, "after")
        grown = peak_kib(runner.pid) - start
        release(scratch, "end")
        assert runner.wait(PATIENCE_S) == 0
    for path in (scratch.state / "journal.jsonl", *(scratch.state / "logs").iterdir()):
        os.truncate(path, 0)  # a gigabyte each; the journal has a second name, so that removing this one frees nothing
    return grown


@pytest.mark.long
def test_a_gigabyte_without_a_newline_is_read_in_little_memory_and_its_promise_is_found(scratch: Scratch) -> None:
    fake_agent(
        scratch,
        """
if iteration == 1:
    tell("before")
    wait_for("print")
    for _ in range(1 << 14):
        say(b"x" * (1 << 16))
    say(PROMISE)
else:
    tell("after")
    wait_for("end")
    say(PROMISE)
""",
    )
    grown = measure(scratch)
    assert [record["completion_found"] for record in scratch.history()] == [True, True]
    assert grown <= ROOM_KIB, f"the runner grew by {grown >> 10} MiB"


def test_a_json_line_of_fifty_megabytes_is_read_in_little_memory_and_its_promise_is_found(scratch: Scratch) -> None:
    fake_agent(
        scratch,
        """
import json
if iteration == 1:
    tell("before")
    wait_for("print")
text = ("word " * (10 << 20) if iteration == 1 else "") + "\\n" + PROMISE
say(json.dumps({"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}}) + "\\n")
if iteration == 2:
    tell("after")
    wait_for("end")
say(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": "", "num_turns": 1}) + "\\n")
""",
        name="claude",
    )
    grown = measure(scratch, "--harness", "claude")
    assert [record["outcome"] for record in scratch.history()] == ["completed", "completed"]
    assert grown <= ROOM_KIB, f"the runner grew by {grown >> 10} MiB"


@pytest.mark.parametrize("stream", [1, 2])
def test_an_agent_that_prints_more_than_the_limit_is_ended(scratch: Scratch, stream: int) -> None:
    fake_agent(scratch, f"while True:\n    say(b'x' * 65536, {stream})\n    time.sleep(0.01)")
    done = scratch.ralph("Work", "--max-iterations", "1", "--no-stream", env={"SPOOL_OUTPUT_LIMIT_MB": "1"})
    assert done.returncode == 3, done.stderr
    [record] = scratch.history()
    assert record["outcome"] == "output limit"


@pytest.mark.parametrize("unit", [b"\0", b"\x1b\x07", b"a\0", b"\xff"], ids=["NUL", "escape", "UTF-16", "invalid"])
def test_no_bytes_make_the_journal_grow_faster_than_the_output(scratch: Scratch, unit: bytes) -> None:
    fake_agent(
        scratch, f"said = {unit!r} * (4 << 20)\nsay(said)\nsay(b'\\n<pro' + said[:8] + b'mise>COMPLETE</promise>\\n')"
    )
    done = scratch.ralph("Work", "--max-iterations", "1", "--no-stream")
    log = (scratch.state / "logs/0001.out").stat().st_size
    assert log > len(unit) * (4 << 20)
    assert (scratch.state / "journal.jsonl").stat().st_size < 2 * log
    assert done.returncode == (3 if b"a" in unit else 0), done.stderr


def test_an_output_limit_of_zero_is_no_limit(scratch: Scratch) -> None:
    fake_agent(scratch, "say('x' * 2_000_000 + '\\n' + PROMISE)")
    assert scratch.ralph("Work", "--no-stream", env={"SPOOL_OUTPUT_LIMIT_MB": "0"}).returncode == 0


def test_a_tag_that_is_cut_at_any_offset_is_found(scratch: Scratch) -> None:
    """One iteration for each offset; half of them pause long enough for the runner to read the first part alone."""
    fake_agent(
        scratch,
        """
say("All is done.\\n" + PROMISE[:iteration])
time.sleep(0.3 if iteration % 2 else 0.02)
say(PROMISE[iteration:] + "\\n")
""",
    )
    cuts = str(len(PROMISE))
    done = scratch.ralph("Work", "--min-iterations", cuts, "--max-iterations", cuts)
    assert done.returncode == 0
    missed = [record["iteration"] for record in scratch.history() if not record["completion_found"]]
    assert not missed


def test_a_tag_that_comes_byte_by_byte_is_found(scratch: Scratch) -> None:
    fake_agent(scratch, "for byte in PROMISE.encode():\n    say(bytes([byte]))\n    time.sleep(0.002)")
    assert scratch.ralph("Work", "--max-iterations", "1").returncode == 0


@pytest.mark.parametrize(
    "around",
    [b"\xff\xfe%s\x80", b"\x00%s\x00", b"\r\n%s\r\n", b"\x1b[1m%s\x1b[0m", b"\x1b]2;title\x07%s", b"\xf0\x9f\n%s\n"],
)
def test_odd_bytes_around_the_tag_hide_nothing_and_the_log_is_exact(scratch: Scratch, around: bytes) -> None:
    said = b"before\n" + around % PROMISE.encode() + b"\nafter"
    fake_agent(scratch, f"say({said!r})")
    assert scratch.ralph("Work", "--max-iterations", "1").returncode == 0
    assert (scratch.state / "logs/0001.out").read_bytes() == said


def test_the_log_is_exact_for_any_bytes_on_both_streams(scratch: Scratch) -> None:
    said, complained = os.urandom(300_000), os.urandom(100_000)
    (scratch.home / "said").write_bytes(said)
    (scratch.home / "complained").write_bytes(complained)
    fake_agent(scratch, "say((here / 'said').read_bytes())\nsay((here / 'complained').read_bytes(), 2)")
    done = scratch.ralph("Work", "--max-iterations", "1")
    assert done.returncode == 3
    assert (scratch.state / "logs/0001.out").read_bytes() == said
    assert (scratch.state / "logs/0001.err").read_bytes() == complained


HOSTILE = (
    b"\x1b]52;c;cHduZWQ=\x07 \x1b]2;pwned\x07 \x1b]0;pwned\x1b\\ \x1b[?1049h \x1b[2J \x1b[H \x1b[?1000h \x1bc \x1b[6n"
    b" \x1bPq#0\x1b\\ \xc2\x9d52;c;cHduZWQ=\xc2\x9c \xc2\x9b?1049h \x90q\x9c \x0e \x05 \xe2\x80\xaeevil \r\x1b[A pwned"
)
FORBIDDEN = (
    b"\x1b]", b"\x1bP", b"\x1bc", b"\x1b[?1049", b"\x1b[?1000", b"\x1b[6n", b"\x1b[2J", b"\x1b[H",
    b"\xc2\x9d", b"\xc2\x9b", b"\x05", b"\x0e", b"\xe2\x80\xae",
)  # fmt: skip


@pytest.mark.parametrize("where", ["out", "err", "reason", "tool"])
def test_escape_sequences_of_an_agent_never_reach_the_terminal(scratch: Scratch, where: str) -> None:
    (scratch.home / "hostile").write_bytes(HOSTILE)
    harness = "opencode"
    if where == "out":
        source = "for byte in hostile:\n    say(bytes([byte]))\nsay(b'\\n' + hostile + b'\\n')"
    elif where == "err":
        source = "say(hostile + b'\\n', 2)\nsys.exit(1)"
    elif where == "reason":
        source = "say(b'<promise>FAILED: ' + hostile + b'</promise>')"
    else:
        source = """
import json
text = hostile.decode("utf-8", "replace")
blocks = [{"type": "tool_use", "name": text, "id": "1", "input": {"command": text}}, {"type": "text", "text": text}]
say(json.dumps({"type": "assistant", "message": {"content": blocks}}) + "\\n")
results = [{"type": "tool_result", "content": text, "is_error": True, "tool_use_id": "1"}]
say(json.dumps({"type": "user", "message": {"content": results}}) + "\\n")
say(json.dumps({"type": "system", "subtype": "api_retry", "error": text, "attempt": 1}) + "\\n")
say(json.dumps({"type": "result", "is_error": True, "result": text}) + "\\n")
"""
        harness = "claude"
    fake_agent(scratch, f"hostile = (here / 'hostile').read_bytes()\n{source}", harness)
    words = ("--max-iterations", "1", "--harness", harness, "--verbose")
    with terminal(scratch, "Work", *words) as screen:
        assert screen.wait() == 3, screen.seen
        assert harmless(screen.seen)
    with terminal(scratch, "--status") as screen:
        assert screen.wait() == 0
        assert b"iteration" in screen.seen.lower()
        assert harmless(screen.seen)
    plain = subprocess.run(
        scratch.argv("ralph", "Work", "--change", scratch.change.name, *words),
        cwd=scratch.root, env=scratch.env, capture_output=True,
        timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert harmless(plain.stdout + plain.stderr)
    assert b"\x1b" not in plain.stdout + plain.stderr


def harmless(screen: bytes) -> bool:
    found = [code for code in FORBIDDEN if code in screen]
    assert not found, f"{found} reached the terminal: {screen!r}"
    return True


def test_output_that_the_agent_cuts_is_no_promise(scratch: Scratch) -> None:
    fake_agent(
        scratch,
        """
say("a first line that the runner reads\\n")
wait_for("seen")
os.truncate("/dev/stdout", 0)
say(PROMISE + "\\n")
""",
    )
    with running(scratch, "Work", "--max-iterations", "1") as runner:
        wait_for(lambda: _in_journal(scratch, b"a first line"), "the first line in the journal")
        release(scratch, "seen")
        assert runner.wait(PATIENCE_S) == 3
    [record] = scratch.history()
    assert record["outcome"] == "no promise"
    assert "cut" in record["reason"]


def test_output_that_is_cut_and_grows_past_where_it_was_read_is_no_promise(scratch: Scratch) -> None:
    fake_agent(
        scratch,
        """
say("a first line that the runner reads\\n")
wait_for("seen")
os.kill(int((here / "seen").read_text()), signal.SIGSTOP)
os.truncate("/dev/stdout", 0)
say("x" * 5_000 + "\\n" + PROMISE + "\\n")
os.kill(int((here / "seen").read_text()), signal.SIGCONT)
""",
    )
    with running(scratch, "Work", "--max-iterations", "1") as runner:
        wait_for(lambda: _in_journal(scratch, b"a first line"), "the first line in the journal")
        (scratch.home / "pid").write_text(str(runner.pid))
        (scratch.home / "pid").rename(scratch.home / "seen")
        assert runner.wait(PATIENCE_S) == 3
    [record] = scratch.history()
    assert record["outcome"] == "no promise"


def test_a_shell_that_redirects_to_dev_stdout_is_no_promise_for_what_came_before(scratch: Scratch) -> None:
    shell_agent(scratch, f"echo '{PROMISE}'\nsleep 0.3\necho later > /dev/stdout")
    assert scratch.ralph("Work", "--max-iterations", "1").returncode == 3


def _in_journal(scratch: Scratch, text: bytes) -> bool:
    path = scratch.state / "journal.jsonl"
    return path.exists() and text in path.read_bytes()
