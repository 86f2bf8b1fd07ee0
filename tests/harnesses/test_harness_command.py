"""`spool harness list` and `spool harness check`."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.harnesses.rig import rigged
from tests.harnesses.script import COMPLETE, Fault, Run, Say, Shell
from tests.harnesses.setups import KEY, SETUPS, agents_path, missing
from tests.support import Scratch

HELLO = Run((Shell("echo hello > hello.txt"), Say(COMPLETE)))


def test_list_tells_versions_and_what_is_missing(scratch: Scratch) -> None:
    scratch.agent("print('mine 1.2.3')", "claude")
    (scratch.root / ".spool" / "config.toml").write_text('[harnesses.mine]\nargv = ["my-agent"]\n')
    done = scratch.spool("harness", "list", "--json", env={"PATH": f"{scratch.bin}:/usr/bin:/bin"})
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert rows["claude"]["version"] == "mine 1.2.3"
    assert rows["claude"]["resume"]
    assert not rows["gemini"]["installed"]
    assert not rows["mine"]["installed"]
    told = scratch.spool("harness", "list", env={"PATH": f"{scratch.bin}:/usr/bin:/bin"}).stdout
    assert "npm install -g @google/gemini-cli" in told


def test_check_of_what_is_not_there(scratch: Scratch) -> None:
    done = scratch.spool("harness", "check", "gemini", env={"PATH": "/usr/bin:/bin"})
    assert done.returncode == 2
    assert "npm install -g @google/gemini-cli" in done.stderr
    assert scratch.spool("harness", "check", "gemni").returncode == 2


def test_a_script_needs_no_check(scratch: Scratch) -> None:
    done = scratch.spool("harness", "check", "scripted")
    assert (done.returncode, "nothing else to check" in done.stdout) == (0, True)


def test_check_tells_an_error_once_with_what_to_do_next_and_is_no_loop(scratch: Scratch) -> None:
    scratch.agent("import sys; sys.exit('the key is bad' * (len(sys.argv) > 2))", "claude")
    scratch.env["SPOOL_CLAUDE_AS_ROOT"] = "pretend-sandbox"
    done = scratch.spool("harness", "check", "claude", "--model", "large")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines()[1:] == [
        "wrong  harness error: exited with code 1: the key is bad",
        "next   run claude directly to see why, then: spool harness check claude --model large",
    ]
    assert scratch.spool("ps", "--all").stdout == "No loop is running.\n"


@pytest.mark.parametrize(
    ("run", "code", "words"),
    [
        (HELLO, 0, "wrote the file and promised completion"),
        (Run((Say(COMPLETE),)), 1, "promised completion but wrote no file"),
        (Run((Say("Hello!"),)), 1, "ran but made no promise"),
        (Run((Say(COMPLETE),), Fault(401, message="invalid api key")), 1, "set ANTHROPIC_API_KEY"),
        (Run((Say(COMPLETE),), Fault(429, retry_after=1)), 1, "rate limited: "),
    ],
    ids=["works", "writes nothing", "does not promise", "wrong key", "rate limit"],
)
def test_check(tmp_path: Path, run: Run, code: int, words: str) -> None:
    if why := missing("claude"):
        pytest.skip(why)
    with rigged("claude", tmp_path) as rig:
        rig.play(run)
        done = rig.scratch.spool("harness", "check", "claude", "--model", "test-model")
        assert words in done.stdout, rig.story(done)
        assert done.returncode == code


def test_an_agent_of_the_persons_own_is_not_asked_for_its_version(scratch: Scratch) -> None:
    ran = scratch.home / "ran"
    config = scratch.home / ".config" / "spool" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f"[harnesses.mine]\nargv = ['touch', '{ran}']\n")
    assert "mine" in scratch.spool("harness", "list").stdout
    assert not ran.exists()
    assert "touch" not in scratch.spool("harness", "list").stdout.partition("mine")[2].partition("\n")[0]


@pytest.mark.parametrize("agent", list(SETUPS))
def test_doctor_never_calls_an_agent_that_works_not_signed_in(agent: str, tmp_path: Path) -> None:
    if why := missing(agent):
        pytest.skip(why)
    with rigged(agent, tmp_path) as rig:
        program = shutil.which(agent, path=agents_path())
        assert program is not None
        (rig.scratch.bin / agent).symlink_to(program)  # only this one: the others take seconds to print their versions
        done = rig.scratch.spool("doctor", "--json", env={"PATH": f"{rig.scratch.bin}:{os.environ['PATH']}"})
    found = {one["agent"]["name"]: one["agent"] for one in json.loads(done.stdout)["findings"] if "agent" in one}
    in_settings = ("codex", "opencode")  # with a provider of the person's own, whose key may be anywhere
    assert found[agent]["sign_in"] == ("unknown" if agent in in_settings else "signed in"), found[agent]
    assert KEY not in done.stdout
