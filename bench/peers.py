"""Other loops from the registries, driven with the same stub agent and without their own pauses."""

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.frame import Stage
from bench.gates.stage import LOOPS_DIR

Words = list[str | Path]
_PAUSELESS = """
import asyncio, sys, time
sleep, later = time.sleep, asyncio.sleep
time.sleep = lambda seconds: sleep(min(seconds, 0.001))
asyncio.sleep = lambda seconds, *more: later(min(seconds, 0.001), *more)
from {module} import {name}
sys.argv[0] = "ralph"
sys.exit({name}())
"""
_STORY = (
    '{"name": "bench", "branchName": "main", "description": "b", "userStories": [{"id": "US-001", "title": "Work", '
    '"description": "Work", "acceptanceCriteria": ["works"], "priority": 1, "passes": false}]}'
)
NOT_DRIVEN = {
    "@ralph-orchestrator/ralph-cli 2.10.1": "its install script downloads a program from a host that is not a registry"
}


@dataclass(frozen=True)
class Peer:
    """One loop: how it is asked for help, and how it runs a number of iterations."""

    name: str
    start: Words
    iterate: Callable[[Stage, int], Words]
    prepare: Callable[[Stage], None] = lambda _: None
    kind: str = "Python"

    @property
    def version(self) -> str:
        """The installed version; empty if it is not installed."""
        mark = LOOPS_DIR / self.name / "installed"
        found = re.search(r"[=@]([\d.]+)", mark.read_text()) if mark.exists() else None
        return found[1] if found else ""


def _python(name: str, module: str, function: str) -> Words:
    return [LOOPS_DIR / name / "bin" / "python", "-c", _PAUSELESS.format(module=module, name=function)]


_RALPHIFY = _python("ralphify", "ralphify", "main")
_LOOP = _python("ralph-loop", "ralph.cli", "app")
_ORCHESTRATOR = _python("ralph-orchestrator", "ralph_orchestrator.__main__", "main")
_TUI: Words = [LOOPS_DIR / "ralph-tui/node_modules/.bin/bun", LOOPS_DIR / "ralph-tui/node_modules/.bin/ralph-tui"]


def _ralph_file(stage: Stage) -> None:
    (stage.root / "r").mkdir()
    (stage.root / "r/RALPH.md").write_text("---\nagent: agent\n---\nDo the work.\n")


def _initialised(stage: Stage) -> None:
    import subprocess

    prompt = (stage.root / "PROMPT.md").read_text()
    subprocess.run([*_LOOP, "init"], cwd=stage.root, env=stage.env, check=True, capture_output=True)
    (stage.root / "PROMPT.md").write_text(prompt)


def _story(stage: Stage) -> None:
    (stage.root / "prd.json").write_text(_STORY)
    stage.env["RALPH_KIRO_COMMAND"] = "agent"


PEERS = (
    Peer("ralphify", _RALPHIFY, lambda _, count: [*_RALPHIFY, "run", "r", "-n", str(count)], _ralph_file),
    Peer(
        "ralph-loop",
        _LOOP,
        lambda _, count: [*_LOOP, "run", "--max", str(count), "--agents", "claude", "--no-color"],
        _initialised,
    ),
    Peer(
        "ralph-orchestrator",
        _ORCHESTRATOR,
        lambda _, count: [
            *_ORCHESTRATOR, "run", "-a", "kiro", "-P", "PROMPT.md", "-i", str(count),
            "--no-git", "--no-archive", "--no-metrics",
        ],
        _story,
    ),
    Peer(
        "ralph-tui",
        _TUI,
        lambda _, count: [
            *_TUI, "run", "--headless", "--no-setup", "--prd", "prd.json", "--agent", "claude", "--delay", "0",
            "--iterations", str(count), "--no-notify", "--no-sandbox", "--force",
        ],
        _story,
        kind="Bun",
    ),
)  # fmt: skip


def installed() -> list[Peer]:
    """Return the loops that can be driven here."""
    return [peer for peer in PEERS if peer.version and shutil.which(str(peer.start[0]))]


def troubles() -> dict[str, str]:
    """Return the loops that cannot be driven here, and why."""
    here = {peer.name for peer in installed()}
    missing = {
        peer.name: f"not in {LOOPS_DIR.name}; `make loops` installs it" for peer in PEERS if peer.name not in here
    }
    return {**NOT_DRIVEN, **missing}
