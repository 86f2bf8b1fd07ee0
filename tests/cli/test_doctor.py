"""`spool doctor` finds what is wrong, and mends it without deleting anything."""

import json
import os
import signal
import subprocess
from typing import Any

import pytest

from spool.harness import registry
from tests.support import CHANGE, Scratch, wait_for
from tests.support.terminal import terminal


def findings(scratch: Scratch, *words: str, **kwargs: Any) -> dict[str, list[dict[str, Any]]]:
    done = scratch.spool("doctor", "--json", *words, **kwargs)
    found: dict[str, list[dict[str, Any]]] = {}
    for one in json.loads(done.stdout)["findings"]:
        found.setdefault(one["area"], []).append(one)
    return found


def test_agents_are_signed_in_or_not_or_it_is_unknown(scratch: Scratch) -> None:
    for name in registry.AGENTS:
        scratch.agent("print('2.1')\n", name)
    scratch.agent("import sys\nsys.exit('Not logged in' if 'login' in sys.argv else 0)\n", "codex")
    found = findings(scratch, env={"COPILOT_GITHUB_TOKEN": "sk-secret"})["agents"]
    said = {one["agent"]["name"]: one for one in found}
    assert set(said) == registry.AGENTS
    by = "COPILOT_GITHUB_TOKEN"
    assert (said["copilot"]["health"], said["copilot"]["what"]) == ("ok", f"copilot 2.1, signed in: {by}")
    assert said["copilot"]["agent"] == {"name": "copilot", "sign_in": "signed in", "by": by, "reason": ""}
    assert said["codex"]["health"] == "note" and "codex login" in said["codex"]["hint"]
    assert said["codex"]["what"] == "codex is not signed in"
    assert said["opencode"]["agent"]["sign_in"] == "unknown" and "free models" in said["opencode"]["what"]
    assert "sk-secret" not in json.dumps(found)


def test_a_status_command_runs_where_a_repository_has_no_say(scratch: Scratch) -> None:
    scratch.agent("import os, sys\nsys.exit(os.getcwd() != '/')\n", "claude")
    (scratch.home / ".claude.json").write_text('{"numStartups": 1}')
    (said,) = findings(scratch, env={"PATH": f"{scratch.bin}:/usr/bin:/bin"})["agents"][:1]
    assert said["agent"]["by"] == "claude auth status"
    scratch.agent("raise SystemExit('out of order')\n", "claude")
    (said,) = findings(scratch, env={"PATH": f"{scratch.bin}:/usr/bin:/bin"})["agents"][:1]
    assert (said["health"], said["agent"]["sign_in"]) == ("ok", "unknown")


def test_without_an_agent_there_is_a_problem(scratch: Scratch) -> None:
    done = scratch.spool("doctor", env={"PATH": "/usr/bin:/bin"})
    assert done.returncode == 1
    assert "no agent is installed" in done.stdout


def test_a_run_that_was_killed_leaves_locks_and_a_run_without_an_end(scratch: Scratch) -> None:
    scratch.script([{"say": "Working"}, {"sleep": 600}])
    process = scratch.start("run", CHANGE, "--harness", "scripted")
    log = scratch.run_state / "logs" / "0001.out"
    wait_for(lambda: log.exists() and b"Working" in log.read_bytes())
    process.send_signal(signal.SIGKILL)
    process.wait()
    found = findings(scratch)
    assert found["locks"] and all(one["mend"] for one in found["locks"])
    assert any("died in iteration 1" in one["what"] for one in found["runs"])
    assert any(one["mend"] == "register the end of their runs" for one in found["runs"])
    before = sorted(path for path in scratch.root.rglob("*") if path.is_file())
    mended = findings(scratch, "--fix")
    assert all(one["mended"] for one in mended["locks"])
    assert sorted(path for path in scratch.root.rglob("*") if path.is_file()) == before
    again = findings(scratch)
    assert "locks" not in again
    assert not any(one["mend"] for one in again["runs"])


def test_damaged_state_is_renamed_and_a_missing_guard_is_written(scratch: Scratch) -> None:
    scratch.script([{"promise": "COMPLETE"}])
    scratch.ralph("Do it", "--harness", "scripted")
    (scratch.state / "state.json").write_text("{")
    guard = scratch.root / ".spool/.state/.gitignore"
    guard.unlink()
    done = scratch.spool("doctor")
    assert done.returncode == 1
    assert "--fix would: rename it" in done.stdout and "has no .gitignore" in done.stdout
    assert (scratch.state / "state.json").read_text() == "{"
    fixed = findings(scratch, "--fix")["state"]
    assert [one["mended"] for one in fixed] == [True, True]
    assert (scratch.state / "state.json.unreadable-1").read_text() == "{"
    assert guard.read_text() == "*\n"


def test_a_process_of_a_run_that_ended_is_named_and_left_alone(scratch: Scratch) -> None:
    scratch.script([{"promise": "COMPLETE"}])
    scratch.ralph("Do it", "--harness", "scripted")
    run_id = scratch.load_state()["run_id"]
    process = subprocess.Popen(["sleep", "60"], env={**os.environ, "SPOOL_RUN_ID": run_id})
    try:
        said = [one["what"] for one in findings(scratch, "--fix")["runs"]]
        assert any(f"process {process.pid} " in what for what in said)
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_settings_that_cannot_be_read_or_are_not_trusted(scratch: Scratch) -> None:
    config = scratch.root / ".spool/config.toml"
    config.write_text("allow_all = true\n")
    assert findings(scratch)["settings"][0]["what"] == "not trusted: allow_all"
    config.write_text("nonsense = 1\n")
    assert "nonsense" in findings(scratch)["settings"][0]["what"]


def test_outside_of_git_and_on_a_narrow_terminal(scratch: Scratch) -> None:
    folder = scratch.home / "plain"
    folder.mkdir()
    assert any("not in a git repository" in one["what"] for one in findings(scratch, cwd=folder)["git"])
    narrow = scratch.spool("doctor", env={"COLUMNS": "60"}).stdout
    paths = [line for line in narrow.splitlines() if len(line) > 60]
    assert paths == []
    with terminal(scratch, width=60, NO_COLOR="1") as shown:
        shown.spool("doctor")
        shown.until_shown("problem")


def test_a_command_of_your_own_settings_is_an_agent(scratch: Scratch) -> None:
    scratch.agent("raise SystemExit('asked')\n", "my-agent")
    config = scratch.home / ".config/spool/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('harness = "mine"\n[harnesses.mine]\nargv = ["my-agent", "--task", "{prompt_file}"]\n')
    agents = findings(scratch, env={"PATH": f"{scratch.bin}:/usr/bin:/bin"})["agents"]
    assert [(one["health"], one["what"].split()[0]) for one in agents] == [("ok", "mine,")]
    assert "Agents    mine\n" in scratch.spool("init", "--dry-run", env={"PATH": f"{scratch.bin}:/usr/bin:/bin"}).stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_a_folder_on_the_path_that_cannot_be_read_is_named(scratch: Scratch) -> None:
    closed = scratch.home / "other" / "cargo" / "bin"
    closed.mkdir(parents=True)
    closed.parents[1].chmod(0)
    found = findings(scratch, env={"PATH": f"{closed}:{scratch.env['PATH']}"})["sandbox"]
    closed.parents[1].chmod(0o700)
    assert f"{closed} is on the PATH and cannot be read; no sandbox has it" in {one["what"] for one in found}
