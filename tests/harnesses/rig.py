"""A real agent, a model that plays a script to it, and Spool between the test and both."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.harnesses.model_server import ModelServer, model_server
from tests.harnesses.script import Run
from tests.harnesses.setups import MODELS, SETUPS, agents_path
from tests.support import Scratch, make_scratch

AGENT_TIMEOUT_S = 120


@dataclass
class Rig:
    """One agent under test."""

    name: str
    scratch: Scratch
    model: ModelServer

    def play(self, *runs: Run) -> None:
        """Set what the model does in each iteration."""
        self.model.play(*runs)

    def words(self, *words: str, allow_all: bool = True) -> list[str]:
        """Return the words after `spool ralph`."""
        model = MODELS.get(self.name, "test-model")
        allowed = ["--allow-all"] if allow_all else []
        return ["Do the work.", "--harness", self.name, "--model", model, *allowed, *words]

    def ralph(self, *words: str, allow_all: bool = True) -> subprocess.CompletedProcess[str]:
        """Run `spool ralph` with the agent to its end."""
        return self.scratch.ralph(*self.words(*words, allow_all=allow_all), timeout=AGENT_TIMEOUT_S)

    def outcomes(self) -> list[str]:
        return [record["outcome"] for record in self.scratch.history()]

    def stream(self, kind: str) -> list[dict[str, Any]]:
        """Return the agent's stream events of one kind, all iterations together."""
        events = [entry["event"] for entry in self.scratch.journal() if entry["type"] == "AgentEvent"]
        return [event for event in events if event["kind"] == kind]

    def log(self, iteration: int = 1, stream: str = "out") -> bytes:
        return (self.scratch.state / "logs" / f"{iteration:04d}.{stream}").read_bytes()

    def story(self, done: subprocess.CompletedProcess[str]) -> str:
        """Tell all there is to know when a test fails."""
        lines = [f"exit {done.returncode}", done.stdout[-3_000:], done.stderr[-2_000:]]
        lines += [str(asked) for asked in self.model.asked[-20:]]
        if (self.scratch.state / "history.jsonl").exists():
            lines += [json.dumps(record) for record in self.scratch.history()]
        for log in sorted((self.scratch.state / "logs").glob("*.err")):
            lines.append(f"{log.name}: {log.read_text(errors='replace')[-1_500:]}")
        return "\n".join(lines)


@contextmanager
def rigged(name: str, base: Path) -> Iterator[Rig]:
    """Set up an agent in a private home, pointed at a server of its own."""
    scratch = make_scratch(base)
    with model_server(scratch.root) as model:
        model.toolless = name == "aider"
        scratch.env["PATH"] = agents_path()
        scratch.env["SPOOL_CLAUDE_AS_ROOT"] = "pretend-sandbox"  # the tests may run as root
        scratch.env.update(SETUPS[name](scratch.home, model.url))
        yield Rig(name, scratch, model)
