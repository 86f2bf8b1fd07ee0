"""Plays `claude -p "/goal …"` against a model on loopback that runs the scripted agent through claude's own shell.

After each claim claude asks a model whether the transcript shows that the condition is met. The model here reads the
exit code without error: it says yes exactly if the check that was run last exited with 0,
and otherwise quotes what failed.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from bench.gates.behaviours import MAX_ITERATIONS
from bench.gates.stage import Stage
from tests.harnesses.model_server import model_server
from tests.harnesses.script import Say, Shell, Turn
from tests.harnesses.setups import SETUPS, agents_path
from tests.harnesses.tools import perform
from tests.harnesses.wire import Answer, Request

_QUESTION = "has the following stopping condition been satisfied?"
_QUOTED = 500
_FAILED = ("FAILED", "FAIL:", "ERROR:", "not ok", "✖")
TURNS = 3
"""Of the model in one iteration: work, check, claim."""


class Conversation:
    """The model's side: three turns for each iteration, and a verdict whenever it is asked for one."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._turn = 0
        self.met = False

    def respond(self, request: Request, path: str) -> Answer:  # noqa: ARG002 - the model server's signature
        if not request.tools:
            asked = any(_QUESTION in said.text for said in request.messages)
            return Answer(self._verdict() if asked else "A short answer to a side question")
        turns: tuple[Turn, ...] = (
            Shell(f"agent < {shlex.quote(self._heard(request))}"),
            Shell(
                f"{self._stage.loop.project.check} > {self._output} 2>&1; echo $? > {self._code}; cat {self._output}"
            ),
            Say("The work of this iteration is done."),
        )
        turn = turns[self._turn % TURNS]
        self._turn += 1
        return perform(turn, request, self._stage.root)

    @property
    def _output(self) -> Path:
        return self._stage.base / "check.txt"

    @property
    def _code(self) -> Path:
        return self._stage.base / "code.txt"

    def _heard(self, request: Request) -> str:
        """Write the messages since the agent last spoke, for the scripted agent to read."""
        heard: list[str] = []
        for said in reversed(request.messages):
            if said.role not in ("user", "result"):
                break
            heard.insert(0, said.text)
        path = self._stage.base / "heard.txt"
        if self._turn % TURNS == 0:
            path.write_text("\n".join(heard))
        return str(path)

    def _verdict(self) -> str:
        self.met = self._code.read_text().strip() == "0"
        output = self._output.read_text(errors="replace")
        failed = [line for line in output.splitlines() if line.lstrip().startswith(_FAILED)]
        return json.dumps({"ok": self.met, "reason": "\n".join([*failed, output[-_QUOTED:]])})


def play_goal(stage: Stage) -> tuple[bool, str]:
    """Run claude to its end; return whether it took the goal as met, and what it printed."""
    project = stage.loop.project
    condition = f"{project.kata.task} Done when `{project.check}` exits with code 0, shown by its output."
    conversation = Conversation(stage)
    with model_server(stage.root) as model:
        model.respond = conversation.respond  # type: ignore[method-assign]
        env = SETUPS["claude"](stage.home, model.url)
        path = f"{stage.env['PATH'].partition(':')[0]}:{agents_path()}"
        done = stage.run(
            "claude", "-p", f"/goal {condition}", "--model", "test-model", "--dangerously-skip-permissions",
            "--max-turns", str(TURNS * MAX_ITERATIONS), "--output-format", "json",
            **env, PATH=f"{path}:{stage.env['PATH']}", IS_SANDBOX="1",
        )  # fmt: skip
    return conversation.met and done.returncode == 0, done.stdout
