"""Plays a script as an agent: `python -m spool.testing.player SCRIPT`.

A script is TOML (or JSON of the same shape). Iteration N plays the Nth `[[iteration]]`; later ones repeat the last:

    [[iteration]]
    steps = [
      { say = "Reading the change." },
      { write = "hello.txt", text = "hello" },   # or append, delete
      { tick = 1 },                               # tick the first N open boxes of the change's tasks.md
      { run = ["git", "status"] },
      { sleep = 0.5 },
      { usage = { tokens_in = 1200, tokens_out = 80, cost_usd = 0.01 } },
      { promise = "COMPLETE" },
      { exit = 0 },
    ]

`print` and `stderr` write raw text; `error` and `denied` emit the stream events with those names.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from spool.domain.agent.stream import (
    Denied,
    Done,
    ErrorKind,
    Failure,
    Message,
    StreamEvent,
    ToolResult,
    ToolUse,
    Usage,
    UsageSoFar,
)
from spool.domain.change.tasks import parse_tasks

Step = dict[str, Any]


def main() -> int:
    """Play the iteration in SPOOL_ITERATION and return the exit code."""
    if len(sys.argv) != 2:
        print("usage: python -m spool.testing.player SCRIPT", file=sys.stderr)
        return 2
    try:
        iterations = load(Path(sys.argv[1]))
    except (OSError, ValueError) as error:
        print(f"cannot play {sys.argv[1]}: {error}", file=sys.stderr)
        return 2
    number = int(os.environ.get("SPOOL_ITERATION", "1"))
    return play(iterations[min(number, len(iterations)) - 1])


def load(path: Path) -> list[list[Step]]:
    """Read a script and check that every step is known."""
    text = path.read_text("utf-8")
    if path.suffix == ".json":
        script = json.loads(text)
    else:
        import tomllib  # an agent starts once per iteration: what it may not need costs 10 ms of 50

        script = tomllib.loads(text)
    iterations = [iteration.get("steps", []) for iteration in script.get("iteration", [])]
    if not iterations:
        raise ValueError("no [[iteration]] found")
    for steps in iterations:
        for step in steps:
            if _verb(step) is None:
                raise ValueError(f"unknown step {step}; known: {', '.join(_VERBS)}")
    return iterations


def play(steps: list[Step]) -> int:
    """Play the steps of one iteration and return the exit code."""
    usage, message = Usage(), ""
    for step in steps:
        verb = _verb(step)
        if verb == "exit":
            return int(step["exit"])
        if verb == "usage":
            usage += Usage(**step["usage"])
            emit(UsageSoFar(usage=usage))
        elif verb is not None:
            _VERBS[verb](step)
        message = _message(step) or message
    emit(Done(content=message, usage=usage))
    return 0


def emit(event: StreamEvent) -> None:
    """Print one stream event."""
    sys.stdout.buffer.write(msgspec.json.encode(event) + b"\n")
    sys.stdout.flush()


def _verb(step: Step) -> str | None:
    return next((verb for verb in _VERBS if verb in step), None)


def _message(step: Step) -> str:
    return f"<promise>{step['promise']}</promise>" if "promise" in step else str(step.get("say", ""))


def _write(step: Step) -> None:
    path = Path(step["write"])
    emit(ToolUse(tool="write", summary=str(path)))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(step.get("text", ""), "utf-8")


def _append(step: Step) -> None:
    emit(ToolUse(tool="edit", summary=step["append"]))
    with Path(step["append"]).open("a", encoding="utf-8") as file:
        file.write(step.get("text", ""))


def _delete(step: Step) -> None:
    emit(ToolUse(tool="delete", summary=step["delete"]))
    Path(step["delete"]).unlink()


def _tick(step: Step) -> None:
    path = Path(os.environ["SPOOL_TASK_FILE"])
    lines = path.read_text("utf-8").splitlines(keepends=True)
    for task in parse_tasks("".join(lines)).open[: int(step["tick"])]:
        emit(ToolUse(tool="edit", summary=f"tick: {task.text}"))
        lines[task.line - 1] = lines[task.line - 1].replace("[ ]", "[x]", 1)
    path.write_text("".join(lines), "utf-8")


def _run(step: Step) -> None:
    import subprocess

    emit(ToolUse(tool="shell", summary=" ".join(step["run"])))
    done = subprocess.run(step["run"], capture_output=True, text=True, check=False)
    emit(ToolResult(output=done.stdout + done.stderr, is_error=done.returncode != 0))


def _print(step: Step) -> None:
    sys.stdout.write(step["print"])
    sys.stdout.flush()


def _stderr(step: Step) -> None:
    sys.stderr.write(step["stderr"])
    sys.stderr.flush()


def _error(step: Step) -> None:
    kind = ErrorKind(step.get("error_kind", "api"))
    emit(Failure(message=step["error"], error=kind, retry_after_s=step.get("retry_after_s")))


_VERBS: dict[str, Callable[[Step], None]] = {
    "say": lambda step: emit(Message(text=_message(step))),
    "write": _write,
    "append": _append,
    "delete": _delete,
    "tick": _tick,
    "run": _run,
    "sleep": lambda step: time.sleep(float(step["sleep"])),
    "print": _print,
    "stderr": _stderr,
    "error": _error,
    "denied": lambda step: emit(Denied(tool=step["denied"])),
    "promise": lambda step: emit(Message(text=_message(step))),
    "usage": lambda _: None,
    "exit": lambda _: None,
}

if __name__ == "__main__":
    sys.exit(main())
