"""The loops that are compared, each driven with the same scripted agent."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.gates.behaviours import MAX_ITERATIONS
from bench.gates.goal import play_goal
from bench.gates.projects import CHANGE
from bench.gates.stage import LOOPS_DIR, Stage
from tests.harnesses.setups import agents_path, missing

PROMISE = "<promise>COMPLETE</promise>"
REVIEWS = 2
"""ralph-loop counts a claim only after two more iterations agree; its limit is higher by them."""
NOT_DRIVEN = {
    "ralphify 0.3.0": "does not know completion: it runs N iterations whatever the agent says, and then stops",
    "ralph-tui 0.11.0": "starts only under Bun, which was not installed",
    "@ralph-orchestrator/ralph-cli 2.10.1": "its install script downloads a program from a host that is not a registry",
}
_BARE = f"""
for n in $(seq {MAX_ITERATIONS}); do
  case "$(agent < PROMPT.md)" in *"{PROMISE}"*) exit 0 ;; esac
done
exit 1
"""


@dataclass(frozen=True)
class Ended:
    """How a loop ended."""

    done: bool
    """Whether it reported the work as done."""
    said: str
    gate_s: float = 0.0
    verdict: str = ""
    """What the gates said of the last claim."""


@dataclass(frozen=True)
class Tool:
    """One loop."""

    name: str
    play: Callable[[Stage], Ended]
    names: tuple[str, ...] = ("agent",)
    claim: str = PROMISE
    trouble: Callable[[], str] = lambda: ""
    """Returns why it cannot be driven here; empty if it can."""
    version: Callable[[], str] = lambda: ""


def _bare(stage: Stage) -> Ended:
    done = stage.run("bash", "-c", _BARE)
    return Ended(done.returncode == 0, done.stdout)


def _ralph(stage: Stage) -> Ended:
    return _spool(stage, "ralph", "ralph", "Do the work.", "--change", CHANGE, "--max-iterations", str(MAX_ITERATIONS))


def _ralph_verify(stage: Stage) -> Ended:
    words = ["Do the work.", "--change", CHANGE, "--max-iterations", str(MAX_ITERATIONS)]
    return _spool(stage, "ralph", "ralph", *words, "--verify", stage.loop.project.check)


def _ralph_strict(stage: Stage) -> Ended:
    words = ["Do the work.", "--change", CHANGE, "--max-iterations", str(MAX_ITERATIONS), "--baseline", "strict"]
    return _spool(stage, "ralph", "ralph", *words, "--verify", stage.loop.project.check)


def _run_verify(stage: Stage) -> Ended:
    words = [CHANGE, "--max-retries", str(MAX_ITERATIONS - 1), "--verify", stage.loop.project.check]
    return _spool(stage, "run", "run", *words)


def _spool(stage: Stage, command: str, *words: str) -> Ended:
    config = stage.home / ".config" / "spool" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[harnesses.stub]\nargv = ["agent"]\n')
    done = stage.run(
        sys.executable, "-m", "spool", *words, "--harness", "stub", "--no-stream", SPOOL_ERROR_PAUSE="0"
    )  # fmt: skip
    folder = stage.root / ".spool" / ".state" / command / CHANGE
    gates = [event for event in _lines(folder / "journal.jsonl") if event.get("type") == "GateEnded"]
    verdicts = [str(record["proof"]) for record in _lines(folder / "history.jsonl") if record.get("proof")]
    gate_s = sum(float(str(event["duration_s"])) for event in gates)
    return Ended(done.returncode == 0, done.stdout, gate_s, verdicts[-1] if verdicts else "")


def _lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _ralph_loop(stage: Stage) -> Ended:
    program = str(LOOPS_DIR / "ralph-loop" / "bin" / "ralph")
    prompt = (stage.root / "PROMPT.md").read_text()
    stage.run(program, "init")
    (stage.root / "PROMPT.md").write_text(prompt)
    done = stage.run(program, "run", "--max", str(MAX_ITERATIONS + REVIEWS), "--agents", "claude", "--no-color")
    return Ended(done.returncode == 0, done.stdout)


def _ralph_orchestrator(stage: Stage) -> Ended:
    program = str(LOOPS_DIR / "ralph-orchestrator" / "bin" / "ralph")
    flags = [
        "run",
        "-a",
        "kiro",
        "-P",
        "PROMPT.md",
        "-i",
        str(MAX_ITERATIONS),
        "--no-git",
        "--no-archive",
        "--no-metrics",
    ]
    done = stage.run(program, *flags, RALPH_KIRO_COMMAND="agent")
    return Ended("Completion promise matched" in done.stdout, done.stdout)


def _goal(stage: Stage) -> Ended:
    done, said = play_goal(stage)
    return Ended(done, said)


def _installed(name: str) -> Callable[[], str]:
    program = LOOPS_DIR / name / "bin" / "ralph"
    return lambda: "" if program.exists() else f"not in {LOOPS_DIR}; `make loops` installs it"


def _pip_version(name: str) -> Callable[[], str]:
    return lambda: next(
        (found[1] for path in (LOOPS_DIR / name).glob("lib/*/site-packages/*.dist-info")
         if (found := re.fullmatch(rf"{name.replace('-', '_')}-([\d.]+)\.dist-info", path.name))),
        "",
    )  # fmt: skip


def _claude_version() -> str:
    program = shutil.which("claude", path=agents_path()) or "claude"
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout.split()[0]


TOOLS = (
    Tool("bare promise loop", _bare),
    Tool("spool ralph", _ralph),
    Tool("spool ralph --verify", _ralph_verify),
    Tool("spool ralph --verify --baseline strict", _ralph_strict),
    Tool("spool run --verify", _run_verify),
    Tool("claude -p /goal", _goal, trouble=lambda: missing("claude"), version=_claude_version),
    Tool(
        "ralph-loop",
        _ralph_loop,
        names=("claude",),
        claim="DONE",
        trouble=_installed("ralph-loop"),
        version=_pip_version("ralph-loop"),
    ),
    Tool(
        "ralph-orchestrator",
        _ralph_orchestrator,
        claim="LOOP_COMPLETE",
        trouble=_installed("ralph-orchestrator"),
        version=_pip_version("ralph-orchestrator"),
    ),
)
