"""Gates with real programs: real agents, a real pytest, node's own test runner, and the agents' own stop hooks."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harnesses.rig import Rig, rigged
from tests.harnesses.script import COMPLETE, Run, Say, Shell
from tests.harnesses.setups import missing

GENEROUS_S = 900
"""Many runs of a test runner, on a machine that may be busy."""
PYTEST = {
    "calc.py": "def add(a, b):\n    return a + b\n",
    "test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
}
NODE = {
    "calc.js": "exports.add = (a, b) => a + b;\n",
    "calc.test.js": "const test = require('node:test');\nconst assert = require('node:assert');\n"
    "const calc = require('./calc.js');\ntest('adds', () => assert.equal(calc.add(1, 2), 3));\n",
}


def put(path: str, text: str) -> Shell:
    """Write a file with the shell: claude's own tool refuses to overwrite a file that it has not read."""
    return Shell(f"printf %s {shlex.quote(text)} > {path}")


def project(rig: Rig, files: dict[str, str]) -> None:
    for name, text in files.items():
        (rig.scratch.root / name).write_text(text)
    rig.scratch.git("add", "--all")
    rig.scratch.git("commit", "--quiet", "--message", "a project")


def refused_then_proved(rig: Rig, command: str, *, wrong: tuple[Shell, ...], right: Shell, test: str) -> None:
    """Claim while a test is red, read its name in the next prompt, mend it, and be believed."""
    rig.play(Run((*wrong, Say(COMPLETE))), Run((right, Say(COMPLETE))))
    done = rig.scratch.ralph(*rig.words("--verify", command, "--max-iterations", "3"), timeout=GENEROUS_S)
    assert done.returncode == 0, rig.story(done)
    assert [record["proof"] for record in rig.scratch.history()] == ["refused", "proved"], rig.story(done)
    prompt = rig.scratch.prompt(2)
    assert "## Your last promise was refused" in prompt
    assert f"{test} fails" in prompt
    assert test in rig.scratch.history()[1]["gates"][0]["proved_by"]
    assert f"proved: {test} fails without the change" in done.stdout


def test_claude_is_refused_by_a_real_pytest_and_then_proved(tmp_path: Path) -> None:
    if why := missing("claude"):
        pytest.skip(why)
    with rigged("claude", tmp_path) as rig:
        project(rig, PYTEST)
        doubled = f"{PYTEST['calc.py']}\n\ndef double(a):\n    return a "
        test = "from calc import double\n\n\ndef test_double():\n    assert double(3) == 6\n"
        refused_then_proved(
            rig,
            shlex.join([sys.executable, "-m", "pytest", "-q"]),
            wrong=(put("test_double.py", test), put("calc.py", f"{doubled}+ 1\n")),
            right=put("calc.py", f"{doubled}* 2\n"),
            test="test_double.py::test_double",
        )


def test_codex_is_refused_by_node_s_test_runner_and_then_proved(tmp_path: Path) -> None:
    if why := missing("codex"):
        pytest.skip(why)
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    with rigged("codex", tmp_path) as rig:
        project(rig, NODE)
        test = NODE["calc.test.js"].replace("'adds'", "'doubles'").replace("calc.add(1, 2), 3", "calc.double(3), 6")
        refused_then_proved(
            rig,
            "node --test",
            wrong=(put("double.test.js", test), put("doubling.txt", "later\n")),
            right=put("calc.js", f"{NODE['calc.js']}exports.double = (a) => a * 2;\n"),
            test="double.test.js > doubles",
        )


# A model on loopback plays a run for each iteration that a prompt names; what the hook says names the second one.
CHECK = """echo TAP version 13
echo 1..1
grep -q hello greet.txt && r="ok" || r="not ok"
echo "$r 1 - greets people (iteration 2 of the loop)"
"""
HOOK = shlex.join([sys.executable, "-m", "spool", "verify", "--hook", "--verify", "sh check.sh"])
HOOKS = json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": HOOK, "timeout": 600}]}]}})
PROMPT = "Spool loop: iteration 1\nGreet people."
SESSIONS = {
    "claude": (".claude/settings.json", ["claude", "-p", "--dangerously-skip-permissions", "--model", "test-model"]),
    "codex": (
        ".codex/hooks.json",
        [
            "codex",
            "exec",
            "--dangerously-bypass-approvals-and-sandbox",
            "--dangerously-bypass-hook-trust",
            "--model",
            "test-model",
        ],
    ),
}


def session(rig: Rig) -> subprocess.CompletedProcess[str]:
    """Run the agent itself, without Spool around it, with the hook in its own settings."""
    settings, argv = SESSIONS[rig.name]
    place = rig.scratch.home / settings
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(HOOKS)
    return subprocess.run(
        [*argv, PROMPT],
        cwd=rig.scratch.root,
        env={**rig.scratch.env, "IS_SANDBOX": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=GENEROUS_S,
        check=False,
    )


@pytest.mark.parametrize("agent", list(SESSIONS))
def test_the_hook_sends_an_agent_back_with_the_failing_test_until_it_is_mended(agent: str, tmp_path: Path) -> None:
    if why := missing(agent):
        pytest.skip(why)
    with rigged(agent, tmp_path) as rig:
        project(rig, {"check.sh": CHECK, "greet.txt": "hello\n"})
        rig.play(
            Run((put("greet.txt", "nothing\n"), Say("I have greeted everybody."))),
            Run((put("greet.txt", "hello, world\n"), Say("Now it is mended."))),
        )
        done = session(rig)
        assert done.returncode == 0, rig.story(done)
        back = [asked for asked in rig.model.asked if asked.run == 2]
        assert back, rig.story(done)
        assert "The check `sh check.sh` does not agree: greets people (iteration 2 of the loop) fails" in back[0].heard
        assert (rig.scratch.root / "greet.txt").read_text() == "hello, world\n"
        assert "Now it is mended." in done.stdout
        after = rig.scratch.spool("verify", "--verify", "sh check.sh", "--json")
        assert (after.returncode, json.loads(after.stdout)["released"]) == (0, None)


@pytest.mark.parametrize("agent", list(SESSIONS))
def test_the_hook_releases_an_agent_that_gives_up_and_the_next_verify_says_so(agent: str, tmp_path: Path) -> None:
    if why := missing(agent):
        pytest.skip(why)
    with rigged(agent, tmp_path) as rig:
        project(rig, {"check.sh": CHECK, "greet.txt": "hello\n"})
        rig.play(
            Run((put("greet.txt", "nothing\n"), Say("I have greeted everybody."))),
            Run((Say("I cannot mend it."),)),
        )
        done = session(rig)
        assert done.returncode == 0, rig.story(done)
        assert len([asked for asked in rig.model.asked if asked.run == 2]) == 1, rig.story(done)
        after = rig.scratch.spool("verify", "--verify", "sh check.sh")
        assert after.returncode == 1
        assert "released unverified" in after.stdout
        assert "the agent stopped again without a change" in after.stdout
