"""How fast the decoders read the largest streams, and how much memory that takes."""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.frame import Row
from spool.harness import registry

CHUNK = 3 << 14
"""The runner reads an agent's output in pieces of this size."""
TOTAL = 256 << 20


def rows(*, quick: bool = False) -> list[Row]:
    """Decode each kind of stream in a process of its own; the slowest JSON stream counts."""
    speeds = {name: _speed(name) for name in STREAMS} if not quick else {}
    json_speeds = {name: speed for name, speed in speeds.items() if name != "plain text"}
    if not json_speeds:
        return []
    slowest = min(json_speeds.values())
    shown = f"{slowest:.0f} to {max(json_speeds.values()):.0f} MB/s"
    return [
        Row(
            figure="stream-json decoded, MB/s, the slowest kind",
            value=slowest,
            aim=285.0,
            at_least=True,
            shown=shown,
            bars=speeds,
            unit="MB/s",
        )
    ]


def _speed(name: str) -> float:
    done = subprocess.run([sys.executable, "-m", "bench.decoding", name], check=True, capture_output=True, text=True)
    print(done.stdout, end="", flush=True)
    return float(done.stdout.rpartition(" MB/s")[0].split()[-1])


def measure(name: str) -> None:
    """Decode one stream and print what it took."""
    harness, make = STREAMS[name]
    stream = b"".join(make())
    decoder = registry.find(harness, {}).decoder()
    floor = peak = _memory_mib()
    seconds = 0.0
    taken = events = 0
    for chunk in chunks(memoryview(stream)):
        taken += len(chunk)
        started = time.process_time()
        events += sum(1 for _ in decoder.feed(chunk))
        seconds += time.process_time() - started
        peak = max(peak, _memory_mib())
    print(f"{name:<34} {taken / seconds / 1e6:6.0f} MB/s  {events:8} events  {peak - floor:+6.1f} MiB")


def chunks(stream: memoryview) -> Iterator[bytes]:
    """Give the stream, again and again, in pieces of the size that the runner reads."""
    taken = 0
    while taken < TOTAL:
        for start in range(0, len(stream), CHUNK):
            piece = bytes(stream[start : start + CHUNK])
            taken += len(piece)
            yield piece


def _line(event: object) -> bytes:
    return json.dumps(event, separators=(",", ":")).encode() + b"\n"


def _code(size: int) -> str:
    """Text with the quotes, tabs and newlines of source code, each of which JSON must escape."""
    row = '\tif name == "main":  # run it\n\t\tprint("hello, world")\n'
    return row * (size // len(row))


def _claude(size: int) -> list[bytes]:
    use = {"type": "tool_use", "id": "t1", "name": "Write", "input": {"file_path": "/a.py", "content": _code(size)}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": _code(size)}
    text = {"type": "text", "text": "I will look at the next file now, and then run the tests."}
    return [
        _line({"type": "assistant", "message": {"role": "assistant", "content": [text]}, "session_id": "s"}),
        _line({"type": "assistant", "message": {"role": "assistant", "content": [use]}, "session_id": "s"}),
        _line(
            {"type": "user", "message": {"role": "user", "content": [result]}, "tool_use_result": {"a": _code(size)}}
        ),
    ]


def _opencode(size: int) -> list[bytes]:
    state = {
        "status": "completed",
        "input": {"command": "cat x"},
        "output": _code(size),
        "metadata": {"o": _code(size)},
    }
    part = {"type": "tool", "tool": "bash", "callID": "c", "state": state}
    return [_line({"type": "tool_use", "sessionID": "s", "part": part})]


def _codex(size: int) -> list[bytes]:
    item = {
        "id": "i",
        "type": "command_execution",
        "command": "cat x",
        "aggregated_output": _code(size),
        "exit_code": 0,
    }
    return [_line({"type": "item.completed", "item": {**item, "status": "completed"}})]


def _pi(size: int) -> list[bytes]:
    """An answer of that size, in fifty pieces, each told with all that went before, twice."""
    lines = []
    for pieces in range(1, 51):
        message = {"role": "assistant", "content": [{"type": "text", "text": _code(size * pieces // 50)}]}
        update = {"type": "text_delta", "delta": "x", "partial": message}
        lines.append(_line({"type": "message_update", "assistantMessageEvent": update, "message": message}))
    return lines


def _copilot(size: int) -> list[bytes]:
    delta = {"type": "assistant.message_delta", "data": {"messageId": "m", "deltaContent": "two words"}, "id": "i"}
    result = {"toolCallId": "c", "success": True, "result": {"content": _code(size), "detailedContent": _code(size)}}
    return [_line(delta)] * 50 + [_line({"type": "tool.execution_complete", "data": result})]


def _text(size: int) -> list[bytes]:
    return [_code(size).encode()]


STREAMS: dict[str, tuple[str, Callable[[], list[bytes]]]] = {
    "claude, lines of 5 KB": ("claude", lambda: _claude(5_000)),
    "claude, lines of 100 KB": ("claude", lambda: _claude(100_000)),
    "claude, lines of 3 MB": ("claude", lambda: _claude(3_000_000)),
    "claude, lines of 50 MB": ("claude", lambda: _claude(25_000_000)),
    "qwen, lines of 100 KB": ("qwen", lambda: _claude(100_000)),
    "opencode, lines of 100 KB": ("opencode", lambda: _opencode(50_000)),
    "opencode, lines of 50 MB": ("opencode", lambda: _opencode(22_000_000)),
    "codex, lines of 1 MB": ("codex", lambda: _codex(1_000_000)),
    "copilot, lines of 300 B and 100 KB": ("copilot", lambda: _copilot(50_000)),
    "pi, an answer of 1 MB": ("pi", lambda: _pi(1_000_000)),
    "pi, an answer of 5 MB": ("pi", lambda: _pi(5_000_000)),
    "plain text": ("codex", lambda: _text(1_000_000)),
}


def _memory_mib() -> float:
    """Return the memory in use now; the peak that the system keeps would be that of making the stream."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / (1 << 20)


if __name__ == "__main__":
    measure(sys.argv[1])
