"""`--sandbox`: agent and gates work in a clone, sandboxed; the work comes back as a branch."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support import CHANGE, Scratch, Steps
from tests.support.sandboxed import needs_a_sandbox
from tests.support.worktrees import Fleet

BRANCH = f"change/{CHANGE}"
DONE: Steps = [{"write": "made.txt", "text": "made\n"}, {"tick": 1}, {"tick": 1}, {"promise": "COMPLETE"}]
pytestmark = needs_a_sandbox


def sandboxed(scratch: Scratch, *words: str, **how: Any) -> Any:
    return scratch.run("--sandbox", "--sandbox-read", str(scratch.home / "script.json"), *words, **how)


def workspace(scratch: Scratch) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((scratch.run_state / "state.json").read_text())["workspace"]
    return found


def shell(script: str) -> dict[str, Any]:
    return {"run": ["sh", "-c", script]}


def test_the_work_comes_back_as_a_branch(scratch: Scratch) -> None:
    (scratch.home / ".ssh").mkdir()
    (scratch.home / ".ssh" / "id").write_text("a-private-key")
    scratch.script([shell(f"cat '{scratch.home}/.ssh/id' > stolen; touch '{scratch.root}/planted'; true"), *DONE])
    done = sandboxed(scratch)
    assert done.returncode == 0, done.stderr + done.stdout
    files = scratch.git("ls-tree", "-r", "--name-only", BRANCH).splitlines()
    assert "made.txt" in files
    assert "a-private-key" not in scratch.git("show", f"{BRANCH}:stolen") if "stolen" in files else True
    assert not (scratch.root / "planted").exists()
    assert scratch.git("status", "--short") == ""


def test_a_failed_attempt_is_reverted_inside(scratch: Scratch) -> None:
    scratch.script([{"write": "wrong.txt", "text": "x"}, {"promise": "FAILED: no"}], DONE)
    done = sandboxed(scratch)
    assert done.returncode == 0, done.stderr + done.stdout
    files = scratch.git("ls-tree", "-r", "--name-only", BRANCH).splitlines()
    assert "made.txt" in files and "wrong.txt" not in files


def test_gates_run_inside_as_well(scratch: Scratch) -> None:
    (scratch.home / "secret").write_text("a-private-key")
    scratch.script(DONE)
    gate = f"test -e made.txt && ! cat '{scratch.home}/secret' && ! touch '{scratch.root}/planted' && touch '$HOME/ok'"
    done = sandboxed(scratch, "--verify", gate.replace("'$HOME/ok'", '"$HOME/ok"'))
    assert done.returncode == 0, done.stderr + done.stdout
    assert "proved" in done.stdout
    assert not (scratch.root / "planted").exists()


def test_status_says_whether_there_is_a_fence(scratch: Scratch) -> None:
    scratch.script(DONE)
    assert sandboxed(scratch, "--net", "off").returncode == 0
    assert "sandboxed: bwrap, net off" in scratch.run("--status").stdout
    assert json.loads(scratch.run("--status", "--json").stdout)["state"]["sandbox"] == "sandboxed: bwrap, net off"
    scratch.script(DONE)
    assert scratch.ralph("Go", "--harness", "scripted").returncode == 0
    assert "not sandboxed" in scratch.ralph("--status").stdout


@pytest.mark.parametrize("place", ["here", "worktree"])
def test_a_sandbox_anywhere_but_in_a_clone_is_refused(scratch: Scratch, place: str) -> None:
    scratch.script(DONE)
    done = sandboxed(scratch, "--in", place)
    assert done.returncode == 2
    assert "a sandbox needs a clone" in done.stderr
    assert scratch.git("branch", "--list", BRANCH) == ""


def test_wt_loop_refuses_a_sandbox(scratch: Scratch) -> None:
    scratch.script(DONE)
    scratch.env["SPOOL_SANDBOX"] = "on"
    done = Fleet(scratch).wt("start", CHANGE, "--create", "--harness", "scripted", "--terminal", "none")
    assert done.returncode == 2, done.stdout
    assert "a sandbox needs a clone" in done.stderr
    assert scratch.git("branch", "--list", BRANCH) == ""


def test_a_repository_cannot_set_the_sandbox(scratch: Scratch) -> None:
    (scratch.root / ".spool" / "config.toml").write_text("sandbox_read = ['/']\n")
    done = scratch.run()
    assert done.returncode == 2
    assert "cannot set sandbox_read" in done.stderr


def test_without_bubblewrap_nothing_starts(scratch: Scratch, tmp_path: Path) -> None:
    scratch.script(DONE)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("git", "sh", "env"):
        (tools / name).symlink_to(shutil.which(name) or "")
    done = sandboxed(scratch, env={"PATH": str(tools)})
    assert done.returncode == 2
    assert "bubblewrap" in done.stderr and "install" in done.stderr


def test_a_clone_without_a_sandbox_is_not_shared_with_one(scratch: Scratch) -> None:
    scratch.script([{"promise": "FAILED: not yet"}], DONE)
    assert scratch.run("--in", "clone", "--max-retries", "0").returncode == 1
    done = sandboxed(scratch)
    assert done.returncode == 2
    assert "began without a sandbox" in done.stderr


def test_a_file_that_the_agent_names_as_ignore_rules_is_not_read(scratch: Scratch) -> None:
    secret = scratch.home / "secret"
    secret.write_text("a-private-key\n")
    scratch.script([shell(f"git config core.excludesFile '{secret}'"), {"promise": "FAILED: no"}], DONE)
    assert sandboxed(scratch).returncode == 0
    kept = Path(workspace(scratch)["path"]).parent
    found = [path for path in kept.rglob("*") if path.is_file() and b"a-private-key" in path.read_bytes()]
    assert found == []


def test_an_agent_cannot_rewrite_its_prompt(scratch: Scratch) -> None:
    scratch.agent(
        """
import os, sys
sys.stdin.read()
try:
    os.write(os.open("/proc/self/fd/0", os.O_RDWR), b"forged")
except OSError as error:
    print("in vain:", error.strerror)
print("<promise>FAILED: enough</promise>")
"""
    )
    done = scratch.spool("run", CHANGE, "--sandbox", "--harness", "opencode", "--max-retries", "0")
    assert "in vain:" in done.stdout, done.stdout + done.stderr
    assert "forged" not in (scratch.run_state / "logs" / "0001.prompt.md").read_text()


def test_a_link_in_place_of_the_state_does_not_reach_the_branch(scratch: Scratch) -> None:
    commit = "git -c user.name=a -c user.email=a@example.com commit -qm link"
    scratch.script(
        [shell(f"rm -rf .spool/.state; ln -s /etc .spool/.state; git add -f .spool/.state && {commit}"), *DONE]
    )
    done = sandboxed(scratch)
    assert done.returncode == 5, done.stderr + done.stdout
    assert "Spool's own state" in done.stdout + done.stderr
    assert scratch.git("branch", "--list", BRANCH) == ""


def set_up_by(scratch: Scratch, command: str) -> None:
    settings = scratch.home / ".config" / "spool" / "config.toml"
    settings.write_text(f"worktree_setup = {json.dumps(command)}\n{settings.read_text()}")


def test_the_setup_command_is_fenced_in_because_agents_may_have_written_what_it_runs(scratch: Scratch) -> None:
    scratch.script(DONE)
    set_up_by(scratch, "sh setup.sh")
    planted = scratch.home / "planted"
    (scratch.root / "setup.sh").write_text(f"touch '{planted}'; echo \"$HOME\" > ready.txt\n")
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", "as an agent could have left it")
    done = sandboxed(scratch)
    assert done.returncode == 0, done.stderr + done.stdout
    assert not planted.exists()
    top = Path(workspace(scratch)["path"])
    assert (top / "ready.txt").read_text().strip() == str(top.parent / "private" / "home")


def test_a_setup_command_that_fails_inside_is_named(scratch: Scratch) -> None:
    scratch.script(DONE)
    set_up_by(scratch, "echo no such module >&2; exit 3")
    done = sandboxed(scratch)
    assert done.returncode == 1, done.stdout
    assert "the setup command exited with code 3 in the sandbox: no such module" in done.stderr
