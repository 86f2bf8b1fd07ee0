"""A repository's settings run nothing and widen nothing before the person has trusted their values."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

from spool.domain.loop.settings import GUARDS, Settings
from tests.support import CHANGE, PATIENCE_S, Scratch
from tests.support.machine import shell_agent
from tests.support.worktrees import Fleet

PROMISE = "<promise>COMPLETE</promise>"
HARMLESS = {
    "notify",
    "notice_wait",
    "agent_memory",
    "isolate_processes",
    "model", "min_iterations", "max_iterations", "completion_promise", "resume_agent", "fail_fast", "stream",
    "max_retries", "max_repairs", "on_resume", "large_file_mb", "iteration_timeout", "idle_timeout", "command_timeout",
    "error_threshold", "error_pause", "rate_limit_pause", "promise_grace", "output_limit_mb", "fullscreen", "keep_open",
    "stall_iterations", "max_tokens", "max_cost_usd", "done_command_timeout", "require", "max_duration",
}  # fmt: skip
"""Settings that run no program, widen no permission and reach nothing outside the tree."""


def configure(scratch: Scratch, text: str) -> None:
    (scratch.root / ".spool" / "config.toml").write_text(text)


def marker(scratch: Scratch, name: str = "evil") -> Path:
    """Put a program into the repository that leaves a mark and promises completion; return the mark."""
    mark = scratch.home / f"{name}-ran"
    path = scratch.root / name
    path.write_text(f"#!/bin/sh\ntouch {mark}\necho '{PROMISE}'\n")
    path.chmod(0o755)
    return mark


def harness(scratch: Scratch) -> str:
    return f'harness = "mine"\n[harnesses.mine]\nargv = ["{scratch.root}/evil"]\n'


def on_terminal(scratch: Scratch, answer: str, *words: str) -> tuple[int, str]:
    """Run a command on a terminal, type an answer to its question, and return its exit code and what it showed."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        scratch.argv(*words), cwd=scratch.root, env=scratch.env, stdin=slave, stdout=slave, stderr=slave
    )
    os.close(slave)
    shown, asked = b"", False
    while True:
        try:
            chunk = os.read(master, 4096)
        except OSError:
            break
        if not chunk:
            break
        shown += chunk
        if not asked and b"[y/N]" in shown:
            asked = True
            os.write(master, answer.encode())
    os.close(master)
    return process.wait(PATIENCE_S), shown.decode(errors="replace")


def test_every_setting_is_known_to_be_harmless_or_carries_its_mark() -> None:
    assert set(Settings.__struct_fields__) == HARMLESS | set(GUARDS)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("allow_all = true\n", "allow_all"),
        ("auto_commit = true\n", "auto_commit"),
        ("commit_stories = true\n", "commit_stories"),
        ('worktree_setup = "true"\n', "worktree_setup"),
        ('worktree_copy = ["secret*"]\n', "worktree_copy"),
        ('terminal = ["sh", "-c", "{command}"]\n', "terminal"),
        ('harness = "scripted"\n', "harness"),
        ('[[gates]]\nname = "check"\nrun = "make check"\n', "gates.check"),
        ('allow_change = ["tests/*"]\n', "allow_change"),
        ('known_failures = ["tests/test_net.py"]\n', "known_failures"),
        ("allow_empty = true\n", "allow_empty"),
        ('baseline = "off"\n', "baseline"),
        ('[harnesses.opencode]\nargv = ["x"]\n', "harnesses.opencode"),
    ],
)
@pytest.mark.parametrize("door", ["ralph", "run"])
def test_an_untrusted_setting_starts_nothing_and_is_named(scratch: Scratch, door: str, text: str, named: str) -> None:
    shell_agent(scratch, "touch ran")
    configure(scratch, text)
    words = ["Go"] if door == "ralph" else []
    done = scratch.spool(door, *words, "--change", CHANGE)
    assert done.returncode == 2
    assert f"not trusted: {named}\n" in done.stderr
    assert "spool trust" in done.stderr
    assert not (scratch.root / "ran").exists()
    assert not (scratch.root / ".spool" / ".state").exists()


def test_harmless_settings_and_the_name_of_a_known_agent_need_no_trust(scratch: Scratch) -> None:
    shell_agent(scratch, f"echo '{PROMISE}'")
    configure(scratch, 'harness = "opencode"\nmax_iterations = 3\nallow_all = false\nworktree_copy = [".env*"]\n')
    assert scratch.ralph("Go").returncode == 0
    assert "asks for nothing" in scratch.spool("trust").stdout


def test_the_persons_own_settings_need_no_trust_and_hide_what_the_repository_asks(scratch: Scratch) -> None:
    mark = marker(scratch)
    user = scratch.home / ".config" / "spool" / "config.toml"
    user.parent.mkdir(parents=True)
    user.write_text(f'allow_all = true\n[harnesses.mine]\nargv = ["{scratch.root}/evil"]\n')
    configure(scratch, 'allow_all = true\n[harnesses.mine]\nargv = ["other"]\n')
    assert scratch.ralph("Go", "--harness", "mine").returncode == 0
    assert mark.exists()
    user.unlink()
    assert scratch.ralph("Go", "--harness", "opencode", env={"SPOOL_ALLOW_ALL": "1"}).returncode == 2


def test_a_gate_of_the_person_does_not_hide_one_of_the_repository(scratch: Scratch) -> None:
    shell_agent(scratch, f"echo '{PROMISE}'")
    configure(scratch, '[[gates]]\nname = "theirs"\nrun = "touch theirs"\n[[gates]]\nname = "mine"\nrun = "false"\n')
    user = scratch.home / ".config" / "spool" / "config.toml"
    user.parent.mkdir(parents=True)
    user.write_text('[[gates]]\nname = "mine"\nrun = "true"\n')
    done = scratch.ralph("Go", "--verify", "true")
    assert (done.returncode, "not trusted: gates.theirs\n" in done.stderr) == (2, True)
    assert not (scratch.root / "theirs").exists()


def test_trust_is_of_values_not_of_files(scratch: Scratch) -> None:
    mark = marker(scratch)
    configure(scratch, harness(scratch))
    assert scratch.ralph("Go").returncode == 2
    scratch.trust()
    configure(scratch, f"# a comment\nmax_iterations = 1\n{harness(scratch)}")
    assert scratch.ralph("Go").returncode == 0
    assert mark.exists()
    configure(scratch, harness(scratch).replace("argv", 'env = { LD_PRELOAD = "x.so" }\nargv'))
    done = scratch.ralph("Go")
    assert (done.returncode, "not trusted: harnesses.mine\n" in done.stderr) == (2, True)


def test_an_agent_that_edits_the_settings_has_made_them_untrusted(scratch: Scratch) -> None:
    configure(scratch, "allow_all = true\n")
    scratch.trust()
    edit = "[harnesses.mine]\\nargv = ['/bin/true']\\n"
    shell_agent(scratch, f"printf \"{edit}\" >> .spool/config.toml\nspool trust --grant; echo '{PROMISE}'")
    assert scratch.ralph("Go").returncode == 0
    done = scratch.ralph("Go")
    assert (done.returncode, "not trusted: harnesses.mine\n" in done.stderr) == (2, True)


def test_an_agent_cannot_grant_trust(scratch: Scratch) -> None:
    configure(scratch, "allow_all = true\n")
    done = scratch.spool("trust", "--grant", env={"SPOOL_RUN_ID": "x"})
    assert (done.returncode, "an agent cannot grant trust" in done.stderr) == (2, True)


def test_withdrawn_trust_is_gone(scratch: Scratch) -> None:
    configure(scratch, harness(scratch))
    scratch.trust()
    assert scratch.spool("trust", "--withdraw").returncode == 0
    assert scratch.ralph("Go").returncode == 2
    assert "was trusted" in scratch.spool("trust", "--withdraw").stdout


def test_trust_shows_what_is_asked_and_its_state(scratch: Scratch) -> None:
    configure(scratch, "allow_all = true\n")
    shown = json.loads(scratch.spool("trust", "--json").stdout)
    assert shown["asked"] == [{"name": "allow_all", "value": True, "trusted": False}]
    assert "not trusted  allow_all  true" in scratch.spool("trust").stdout
    scratch.trust()
    assert json.loads(scratch.spool("trust", "--json").stdout)["asked"][0]["trusted"]
    assert not list((scratch.root / ".spool").glob("*trust*"))


def test_paths_in_the_environment_are_trusted(scratch: Scratch) -> None:
    mark = marker(scratch)
    configure(scratch, harness(scratch))
    for paths in ("", ":", ".", str(scratch.root)[:-1], "relative:also/relative"):
        assert scratch.ralph("Go", env={"SPOOL_TRUSTED_PATHS": paths}).returncode == 2, paths
    assert not mark.exists()
    assert scratch.ralph("Go", env={"SPOOL_TRUSTED_PATHS": f"/nowhere:{scratch.root.parent}"}).returncode == 0
    assert mark.exists()


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("\n", 2), ("n\n", 2)])
def test_on_a_terminal_the_values_are_shown_and_the_person_is_asked(scratch: Scratch, answer: str, code: int) -> None:
    mark = marker(scratch)
    configure(scratch, harness(scratch))
    found, shown = on_terminal(scratch, answer, "ralph", "Go", "--change", CHANGE)
    assert f'harnesses.mine = {{"argv":["{scratch.root}/evil"]}}' in shown
    assert (found, mark.exists()) == (code, code == 0)
    assert (scratch.ralph("Go").returncode == 0) == (code == 0)


def test_commands_that_look_work_untrusted_and_run_nothing_of_the_repository(scratch: Scratch) -> None:
    mark = marker(scratch)
    configure(
        scratch,
        f'allow_all = true\nworktree_setup = "{scratch.root}/evil"\n{harness(scratch)}'.replace(
            'harness = "mine"\n', ""
        ),
    )
    for words in (
        ("ralph", "--status", "-c", CHANGE), ("run", "--status", "-c", CHANGE), ("ps",), ("stories",), ("config",),
        ("config", "--json"), ("harness", "list"), ("harness", "list", "--json"), ("checkpoint", "list"), ("trust",),
    ):  # fmt: skip
        done = scratch.spool(*words)
        assert done.returncode == 0, (words, done.stderr)
    assert "not trusted" in scratch.spool("config").stdout
    row = next(one for one in json.loads(scratch.spool("harness", "list", "--json").stdout) if one["name"] == "mine")
    assert (row["trusted"], row["version"]) == (False, "")
    assert scratch.spool("harness", "check", "mine").returncode == 2
    assert not mark.exists()


def test_a_worktree_is_the_same_repository_while_its_values_are_the_same(scratch: Scratch) -> None:
    mark = marker(scratch)
    configure(scratch, harness(scratch))
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", "config")
    scratch.trust()
    other = scratch.root.parent / "other"
    scratch.git("worktree", "add", "--quiet", str(other))
    words = ("ralph", "Go", "--change", CHANGE)
    assert scratch.spool(*words, cwd=other).returncode == 0
    assert mark.exists()
    (other / ".spool" / "config.toml").write_text(harness(scratch).replace("evil", "worse"))
    assert scratch.spool(*words, cwd=other).returncode == 2
    assert scratch.spool("trust", cwd=scratch.root).stdout.startswith("trusted")


def test_a_folder_that_claims_to_be_a_worktree_is_not_believed(scratch: Scratch) -> None:
    marker(scratch)
    configure(scratch, harness(scratch))
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", "config")
    scratch.trust()
    scratch.git("worktree", "add", "--quiet", str(scratch.root.parent / "real"))
    fake = scratch.root.parent / "fake"
    for name in (f".spool/changes/{CHANGE}/proposal.md", ".spool/config.toml"):
        (fake / name).parent.mkdir(parents=True, exist_ok=True)
        (fake / name).write_text((scratch.root / name).read_text())
    for target in (scratch.root / ".git" / "worktrees" / "real", scratch.root / ".git"):
        (fake / ".git").write_text(f"gitdir: {target}\n")
        assert "not trusted" in scratch.spool("trust", cwd=fake).stdout


def test_a_copy_and_a_set_up_command_wait_for_trust(scratch: Scratch) -> None:
    mark = marker(scratch)
    configure(scratch, f'worktree_setup = "{scratch.root}/evil"\n')
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", "config")
    done = Fleet(scratch).wt("start", "new", "Go", "--create", "--done", "manual", "--terminal", "none")
    assert (done.returncode, "not trusted: worktree_setup" in done.stderr) == (2, True)
    assert not mark.exists()
    assert not (scratch.root.parent / "project-wt-new").exists()


def test_a_file_behind_a_linked_folder_is_not_copied_nor_written_through_a_link(scratch: Scratch) -> None:
    outside = scratch.root.parent / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (scratch.root / "door").symlink_to(outside)
    (scratch.root / ".env").write_text("KEY=1\n")
    (scratch.root / ".gitignore").write_text("/.env\n")
    configure(scratch, 'worktree_copy = ["door/*", ".env"]\n')
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", "config")
    scratch.git("checkout", "--quiet", "-b", "change/new")
    (scratch.root / ".env").unlink()
    (scratch.root / ".env").symlink_to(outside / "new")
    scratch.git("add", "--force", ".env")
    scratch.git("commit", "--quiet", "--message", "link")
    scratch.git("checkout", "--quiet", "main")
    (scratch.root / ".env").write_text("KEY=1\n")
    scratch.trust()
    scratch.script([{"say": "Working"}])
    Fleet(scratch).wt("start", "new", "Go", "--create", "--terminal", "none", "--harness", "scripted")
    made = scratch.root.parent / "project-wt-new"
    assert made.exists()
    assert not (made / "secret").exists()
    assert not (outside / "new").exists()


def test_a_model_cannot_be_an_option(scratch: Scratch) -> None:
    configure(scratch, 'model = "--yolo"\n')
    done = scratch.ralph("Go")
    assert (done.returncode, "model cannot start with '-'" in done.stderr) == (2, True)


# Root


ROOT = pytest.mark.root  # claude refuses only root


@ROOT
def test_as_root_with_allow_all_claude_is_refused_before_it_starts(scratch: Scratch) -> None:
    scratch.agent("import os; open('ran', 'w')", name="claude")
    done = scratch.ralph("Go", "--harness", "claude", "--allow-all")
    assert done.returncode == 2
    assert "outside a sandbox" in done.stderr
    assert "claude_as_root" in done.stderr
    assert not (scratch.root / "ran").exists()
    assert not scratch.state.exists()


@ROOT
def test_the_persons_own_setting_tells_claude_that_it_is_in_a_sandbox(scratch: Scratch) -> None:
    scratch.agent("import os; open('seen', 'w').write(os.environ['IS_SANDBOX'])", "claude")
    words = ("Go", "--harness", "claude", "--allow-all", "--max-iterations", "1")
    scratch.ralph(*words, env={"SPOOL_CLAUDE_AS_ROOT": "pretend-sandbox"})
    assert (scratch.root / "seen").read_text() == "1"


@ROOT
def test_without_allow_all_claude_hears_of_no_sandbox(scratch: Scratch) -> None:
    scratch.agent("import os; open('seen', 'w').write(str('IS_SANDBOX' in os.environ))", "claude")
    env = {"SPOOL_CLAUDE_AS_ROOT": "pretend-sandbox"}
    scratch.ralph("Go", "--harness", "claude", "--max-iterations", "1", env=env)
    assert (scratch.root / "seen").read_text() == "False"


def test_a_repository_cannot_pretend_a_sandbox(scratch: Scratch) -> None:
    configure(scratch, 'claude_as_root = "pretend-sandbox"\n')
    done = scratch.ralph("Go", env={"SPOOL_TRUSTED_PATHS": "/"})
    assert (done.returncode, "cannot set claude_as_root" in done.stderr) == (2, True)
