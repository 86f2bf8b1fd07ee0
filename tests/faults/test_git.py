"""Repositories and gits that misbehave: nothing of theirs runs, nothing hangs, and the loop's history survives."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from spool.host.git.repository import Repository, find_repository
from spool.host.git.working_tree import GitWorktree
from tests.faults import invariants
from tests.support import CHANGE, PATIENCE_S, Scratch, wait_for
from tests.support.machine import PROMISE, fake_agent, marked, release, running, shell_agent, told

WORK = f'echo line >> work.txt\n[ "$SPOOL_ITERATION" = 3 ] && echo "{PROMISE}"\nexit 0'


def outcomes(scratch: Scratch) -> list[str]:
    return [record["outcome"] for record in scratch.history()]


def warnings(scratch: Scratch) -> list[str]:
    return [event["message"] for event in scratch.journal() if event["type"] == "Warning"]


def put_git(scratch: Scratch, body: str) -> None:
    """Put a git first on PATH that does something of its own; `$REAL` is the real one."""
    path = scratch.bin / "git"
    path.write_text(f"#!/bin/sh\nREAL={shutil.which('git')}\n{body}\n")
    path.chmod(0o755)


HOOKS = (
    "applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-applypatch", "post-checkout", "post-commit",
    "post-index-change", "post-merge", "post-rewrite", "post-update", "pre-applypatch", "pre-auto-gc", "pre-commit",
    "pre-merge-commit", "pre-push", "pre-rebase", "prepare-commit-msg", "reference-transaction", "sendemail-validate",
)  # fmt: skip
PROGRAMS = (
    "core.fsmonitor", "core.pager", "core.editor", "core.askPass", "core.sshCommand", "core.gitProxy",
    "core.alternateRefsCommand", "pager.diff", "pager.log", "pager.status", "sequence.editor", "interactive.diffFilter",
    "filter.x.clean", "filter.x.smudge", "filter.x.process", "diff.external", "diff.x.textconv", "diff.x.command",
    "merge.x.driver", "mergetool.x.cmd", "credential.helper", "gpg.program", "gpg.ssh.program", "gpg.x509.program",
    "gpg.openpgp.program", "gpg.ssh.defaultKeyCommand", "trailer.x.command", "trailer.x.cmd", "man.x.cmd",
    "uploadpack.packObjectsHook", "remote.origin.uploadpack", "remote.origin.receivepack", "remote.origin.vcs",
    "submodule.x.update", "browser.x.cmd", "tar.x.command", "imap.tunnel", "sendemail.smtpServer",
)  # fmt: skip


def planted(scratch: Scratch) -> Path:
    """Name a program in every setting and hook that git could run, each leaving a mark; return where marks are left."""
    marks, hooks = scratch.home / "marks", scratch.home / "hooks"
    marks.mkdir()
    hooks.mkdir()

    def leaves(name: str) -> str:
        script = scratch.home / f"mark-{name}"
        script.write_text(f"#!/bin/sh\ntouch {marks}/{name}\n{'cat' if name.startswith('filter') else 'exit 1'}\n")
        script.chmod(0o755)
        return str(script)

    for name in HOOKS:
        shutil.copy(leaves(f"hook-{name}"), hooks / name)
        shutil.copy(hooks / name, scratch.root / ".git" / "hooks" / name)
    settings = {key: leaves(key) for key in PROGRAMS}
    settings |= {
        "core.hooksPath": str(hooks),
        "remote.origin.url": str(scratch.home / "nowhere"),
        "remote.other.url": f"ext::{leaves('ext')}",
        "remote.other.promisor": "true",
        "protocol.allow": "always",
        "protocol.ext.allow": "always",
        "filter.x.required": "true",
        "commit.gpgSign": "true",
        "log.showSignature": "true",
        "diff.trustExitCode": "true",
        "gc.auto": "1",
    }
    for key, value in settings.items():
        scratch.git("config", key, value)
        scratch.git("config", "--global", key, value)
    for key, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
    }.items():
        scratch.git("config", key, value)
    (scratch.root / ".gitattributes").write_text("* filter=x diff=x merge=x\n")
    return marks


def remove_object(scratch: Scratch, name: str) -> str:
    """Take an object out of the repository, as in a partial clone."""
    found = scratch.git("rev-parse", name).strip()
    (scratch.root / ".git" / "objects" / found[:2] / found[2:]).unlink()
    return found


@pytest.mark.parametrize("missing", ["HEAD:old.txt", "HEAD^{tree}"])
@pytest.mark.parametrize("door", ["ralph", "run", "looking"])
def test_nothing_that_the_repository_configures_is_run(scratch: Scratch, door: str, missing: str) -> None:
    (scratch.root / "old.txt").write_text("old\n")
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", "second")
    marks = planted(scratch)
    (scratch.root / "old.txt").unlink()  # nobody writes the object anew
    gone = remove_object(scratch, missing)
    match door:
        case "ralph":
            shell_agent(scratch, WORK)
            done = scratch.ralph("Work", "--verify", "true")
            assert done.returncode == 0, done.stderr
        case "run":
            write = {"write": "work.txt", "text": "x"}
            ticks = {"tick": 2}
            scratch.script([write, {"promise": "FAILED: no"}], [write, ticks, {"promise": "COMPLETE"}])
            scratch.run("--max-retries", "1", "--verify", "true")
            scratch.spool("checkpoint", "list")
        case "looking":
            for words in (("stories",), ("ralph", "--status", "-c", CHANGE), ("harness", "list"), ("ps",), ("trust",)):
                scratch.spool(*words)
    assert sorted(path.name for path in marks.iterdir()) == []
    subprocess.run(["git", "cat-file", "-p", gone], cwd=scratch.root, env=scratch.env, check=False, timeout=PATIENCE_S)
    assert [path.name for path in marks.iterdir()], "the trap itself does not work"


def test_a_repository_whose_settings_name_another_working_tree_is_not_used(scratch: Scratch, tmp_path: Path) -> None:
    for place in (tmp_path / "precious", tmp_path):
        place.mkdir(exist_ok=True)
        (place / "file.txt").write_text("precious")
        scratch.git("config", "core.worktree", str(place))
        scratch.script([{"write": "work.txt", "text": "x"}, {"promise": "FAILED: no"}])
        done = scratch.run()
        assert done.returncode == 1
        assert "name another working tree" in done.stderr
        assert (place / "file.txt").read_text() == "precious"


def test_environment_that_points_git_elsewhere_is_not_obeyed(scratch: Scratch, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    subprocess.run(["git", "init", "--quiet", str(elsewhere)], env=scratch.env, check=True, timeout=PATIENCE_S)
    env = {"GIT_DIR": str(elsewhere / ".git"), "GIT_WORK_TREE": str(elsewhere), "GIT_INDEX_FILE": str(tmp_path / "i")}
    shell_agent(scratch, WORK)
    assert scratch.ralph("Work", env=env).returncode == 0
    assert [record["changed_files"] for record in scratch.history()] == [1, 1, 1]
    assert not (elsewhere / ".git" / "spool").exists()
    assert not (tmp_path / "i").exists()


def test_a_git_that_never_answers_ends_the_start_with_a_clear_error(scratch: Scratch) -> None:
    put_git(scratch, "sleep 3600")
    shell_agent(scratch, WORK)
    done = scratch.ralph("Work", "--command-timeout", "1")
    assert done.returncode == 1
    assert "'git rev-parse' did not answer within 1 s" in done.stderr
    assert not scratch.state.exists()


def test_a_git_that_stops_answering_costs_a_warning_not_the_loop(scratch: Scratch) -> None:
    put_git(scratch, f'[ -e {scratch.root}/work.txt ] && sleep 3600\nexec "$REAL" "$@"')
    shell_agent(scratch, WORK)
    done = scratch.ralph("Work", "--command-timeout", "1")
    assert done.returncode == 0, done.stderr
    assert len(scratch.history()) == 3
    assert any("did not answer within 1 s" in warning for warning in warnings(scratch))
    assert scratch.history()[0]["changed_files"] is None


STORY = f'sed -i "0,/\\[ \\]/s//[x]/" "$SPOOL_TASK_FILE"\ntouch "$HOME/ticked"\necho "{PROMISE}"'


def test_a_git_that_hangs_between_a_promise_and_its_acceptance_costs_the_story_a_retry(scratch: Scratch) -> None:
    (scratch.change / "tasks.md").write_text("## 1. Form\n\n- [ ] 1.1 Write\n")
    scratch.git("commit", "--quiet", "--all", "--message", "one story")
    once = f"[ -e {scratch.home}/ticked ] && [ ! -e {scratch.home}/hung ] && touch {scratch.home}/hung && sleep 3600"
    put_git(scratch, f'{once}\nexec "$REAL" "$@"')
    shell_agent(scratch, STORY)
    done = scratch.spool("run", CHANGE, "--command-timeout", "2", "--json")
    assert done.returncode == 0, done.stderr + done.stdout
    events = [json.loads(line) for line in done.stdout.splitlines()]
    records = [event["record"] for event in events if event["type"] == "IterationEnded"]
    assert (records[0]["outcome"], records[0]["completion_found"]) == ("timeout", True)
    assert records[-1]["outcome"] == "completed" and records[-1]["changed_files"] is not None
    assert [event["attempt"] for event in events if event["type"] == "Retrying"] == [2]
    assert [event["story_id"] for event in events if event["type"] == "StoryDone"] == ["1"]


def test_a_git_that_ignores_the_request_to_end_is_ended_all_the_same(scratch: Scratch) -> None:
    put_git(
        scratch, f'[ -e {scratch.root}/work.txt ] && trap \'\' TERM && while :; do sleep 1; done\nexec "$REAL" "$@"'
    )
    shell_agent(scratch, WORK)
    done = scratch.ralph("Work", "--command-timeout", "1", "--max-iterations", "1")
    assert done.returncode == 3, done.stderr
    wait_for(lambda: not marked(scratch), "the end of every git")


def test_a_slow_git_is_waited_for(scratch: Scratch) -> None:
    put_git(scratch, 'sleep 0.3\nexec "$REAL" "$@"')
    shell_agent(scratch, WORK)
    assert scratch.ralph("Work").returncode == 0
    assert [record["changed_files"] for record in scratch.history()] == [1, 1, 1]
    assert not warnings(scratch)


def test_a_stop_is_seen_while_git_takes_its_time(scratch: Scratch) -> None:
    put_git(scratch, f'[ -e {scratch.root}/work.txt ] && touch {scratch.home}/slow && sleep 3600\nexec "$REAL" "$@"')
    shell_agent(scratch, WORK)
    with running(scratch, "Work", "--command-timeout", "1h") as runner:
        told(scratch, "slow")
        runner.terminate()
        assert runner.wait(30) == 130
    invariants.complete(scratch)
    wait_for(lambda: not marked(scratch), "the end of every git")


def test_a_git_that_exits_while_its_child_holds_its_pipes_is_not_waited_for(scratch: Scratch) -> None:
    """As a hook does that starts a daemon, or `git gc` in the background."""
    put_git(scratch, f'sleep 3600 & echo $! >> {scratch.home}/children\nexec "$REAL" "$@"')
    shell_agent(scratch, WORK)
    try:
        done = scratch.ralph("Work", "--command-timeout", "20")
        assert done.returncode == 0, done.stderr
        assert not warnings(scratch)
        assert [record["changed_files"] for record in scratch.history()] == [1, 1, 1]
    finally:
        for pid in (scratch.home / "children").read_text().split():
            subprocess.run(["kill", pid], check=False, capture_output=True)


def test_a_git_that_vanishes_costs_a_warning_not_the_loop(scratch: Scratch) -> None:
    put_git(scratch, 'exec "$REAL" "$@"')
    for tool in ("sh", "rm", "echo"):
        (scratch.bin / tool).symlink_to(shutil.which(tool) or tool)
    shell_agent(scratch, f"rm -f {scratch.bin}/git\n{WORK}")
    done = scratch.ralph("Work", env={"PATH": str(scratch.bin)})
    assert done.returncode == 0, done.stderr
    assert len(scratch.history()) == 3
    assert any("git" in warning for warning in warnings(scratch))


def test_without_git_the_loop_works_and_says_what_is_missing(scratch: Scratch) -> None:
    for tool in ("sh", "echo"):
        (scratch.bin / tool).symlink_to(shutil.which(tool) or tool)
    shell_agent(scratch, WORK)
    done = scratch.ralph("Work", env={"PATH": str(scratch.bin)})
    assert done.returncode == 0, done.stderr
    assert warnings(scratch) == ["changes are not counted and progress is not measured: git is not installed"]


def test_a_lock_on_the_index_is_left_alone_and_hinders_no_counting(scratch: Scratch) -> None:
    lock = scratch.root / ".git" / "index.lock"
    lock.write_text("somebody's")
    shell_agent(scratch, WORK)
    assert scratch.ralph("Work").returncode == 0
    assert [record["changed_files"] for record in scratch.history()] == [1, 1, 1]
    assert lock.read_text() == "somebody's"


def test_a_lock_on_the_index_costs_a_commit_but_not_the_loop(scratch: Scratch) -> None:
    lock = scratch.root / ".git" / "index.lock"
    lock.write_text("somebody's")
    shell_agent(scratch, WORK)
    done = scratch.ralph("Work", "--auto-commit")
    assert done.returncode == 5, done.stderr
    assert lock.read_text() == "somebody's"
    assert any("index.lock" in warning for warning in warnings(scratch))
    assert [record["commit"] for record in scratch.history()] == [None, None, None]


def test_a_lock_on_the_index_that_goes_away_costs_nothing(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in scratch.env.items():
        monkeypatch.setenv(name, value)
    lock = scratch.root / ".git" / "index.lock"
    (scratch.root / "work.txt").write_text("x")

    async def commit() -> str | None:
        repository = await find_repository(scratch.root, timeout_s=30)
        assert isinstance(repository, Repository)
        lock.touch()
        asyncio.get_running_loop().call_later(0.6, lock.unlink)
        return await GitWorktree(repository, timeout_s=30).commit("the work")

    assert asyncio.run(commit()) == scratch.git("rev-parse", "HEAD").strip()
    assert scratch.git("log", "-1", "--format=%s").strip() == "the work"


def test_a_revert_that_a_lock_on_the_index_hinders_says_which_file_to_remove(scratch: Scratch) -> None:
    lock = scratch.root / ".git" / "index.lock"
    scratch.script([{"run": ["git", "add", "--all"]}, {"write": str(lock)}, {"promise": "FAILED: no"}])
    done = scratch.run("--max-retries", "1", "--command-timeout", "1")
    assert done.returncode == 1
    hint = f"git's index is locked: {lock}; if no git is at work there, remove that file and start again"
    assert f"failed: story 1: harness error: {hint}; the limit of 1 retry is reached" in done.stdout


@pytest.mark.parametrize("kind", ["no commits", "detached", "bare", "no repository", "subfolder", "worktree", "sha256"])
def test_every_kind_of_repository_works(scratch: Scratch, tmp_path: Path, kind: str) -> None:
    root = scratch.root
    if kind in ("no commits", "no repository", "bare", "sha256"):
        shutil.rmtree(root / ".git")
    if kind == "no commits":
        scratch.git("init", "--quiet")
    elif kind == "sha256":
        scratch.git("init", "--quiet", "--object-format=sha256")
    elif kind == "detached":
        scratch.git("checkout", "--quiet", "--detach")
    elif kind == "bare":
        scratch.git("init", "--quiet", "--bare", ".")
    elif kind == "subfolder":
        root = scratch.root / "deep" / "inside"
        shutil.copytree(scratch.root / ".spool", root / ".spool")
    elif kind == "worktree":
        root = tmp_path / "other"
        scratch.git("worktree", "add", "--quiet", str(root))
    shell_agent(scratch, WORK)
    done = scratch.ralph("Work", cwd=root)
    assert done.returncode == 0, done.stderr
    state = root / ".spool" / ".state" / "ralph" / CHANGE
    history = [json.loads(line) for line in (state / "history.jsonl").read_text().splitlines()]
    counted = None if kind in ("bare", "no repository") else 1
    assert [record["changed_files"] for record in history] == [counted] * 3
    if counted:
        assert ".state" not in subprocess.run(
            ["git", "status", "--porcelain", "--untracked-files=all"],
            cwd=root, env=scratch.env, capture_output=True, text=True, check=True, timeout=PATIENCE_S,
        ).stdout  # fmt: skip


@pytest.mark.root
def test_a_repository_that_git_refuses_is_not_used(scratch: Scratch) -> None:
    """Somebody else's repository: plain git says no, and Spool obeys."""
    for path in (scratch.root, scratch.root / ".git"):
        os.chown(path, 65_534, 65_534)
    shell_agent(scratch, WORK)
    done = scratch.ralph("Work")
    assert done.returncode == 0, done.stderr
    assert "dubious ownership" in warnings(scratch)[0]
    assert not (scratch.root / ".git" / "spool").exists()


def test_a_path_with_odd_characters_works(tmp_path: Path, scratch: Scratch) -> None:
    for number, name in enumerate(["with space", "line\nbreak", "qu'o\"te$(touch X)", os.fsdecode(b"not-utf8-\xff")]):
        root = tmp_path / name
        shutil.copytree(scratch.root, root)
        shell_agent(scratch, WORK)
        done = scratch.ralph("Work", cwd=root)
        assert done.returncode == 0, (name, done.stderr)
        assert "Traceback" not in done.stderr
        assert not (root / "X").exists(), number


@pytest.mark.parametrize(
    "attack",
    [
        "git clean -fdxq",
        "git gc --quiet --prune=now",
        "git reset --quiet --hard HEAD",
        "git stash --include-untracked --quiet; git stash drop --quiet",
        "rm -rf .spool/.state",
        "rm -rf .git/spool",
        "rm -rf .git/spool/shadow/*/objects",
        "git checkout --quiet -B other; git commit --quiet --allow-empty -m x",
        "git -c gc.reflogExpire=now gc --quiet --aggressive --prune=now",
    ],
)
def test_what_an_agent_does_to_the_repository_costs_no_history(scratch: Scratch, attack: str) -> None:
    shell_agent(scratch, f"{attack} >&2\n{WORK.replace('= 3', '= 4')}")
    done = scratch.ralph("Work", "--max-iterations", "2")
    assert done.returncode == 3, done.stderr
    done = scratch.ralph("Work", "--max-iterations", "5")
    assert done.returncode == 0, done.stderr
    assert [record["iteration"] for record in scratch.history()] == [1, 2, 3, 4]
    started = [event["iteration"] for event in scratch.journal() if event["type"] == "IterationStarted"]
    assert started == [1, 2, 3, 4]
    assert scratch.load_state()["status"] == "done"
    invariants.complete(scratch)


def test_a_reset_to_a_commit_before_the_change_ends_the_run_with_a_clear_error(scratch: Scratch) -> None:
    scratch.git("commit", "--quiet", "--allow-empty", "--message", "later")
    first = scratch.git("rev-list", "--max-parents=0", "HEAD").strip()
    empty = scratch.git("commit-tree", "-m", "empty", scratch.git("mktree", "--missing").strip() or f"{first}^{{tree}}")
    shell_agent(scratch, f"git reset --quiet --hard {empty.strip()} >&2")
    done = scratch.ralph("Work", "--max-iterations", "3")
    assert done.returncode == 1, done.stdout
    assert f"change '{CHANGE}' no longer exists" in done.stdout
    assert outcomes(scratch) == ["no promise"]
    assert scratch.load_state()["status"] == "stuck"
    invariants.complete(scratch)


def test_context_survives_a_clean(scratch: Scratch) -> None:
    fake_agent(
        scratch,
        """
tell(f"prompt{iteration}", sys.stdin.read())
subprocess.run(["git", "clean", "-fdxq"])
say(PROMISE if iteration == 2 else "")
""",
    )
    assert scratch.ralph("--add-context", "The port is 8080").returncode == 0
    assert scratch.ralph("Work").returncode == 0
    assert "The port is 8080" in told(scratch, "prompt2")


def test_while_an_iteration_goes_on_a_clean_hides_neither_the_loop_nor_new_context(scratch: Scratch) -> None:
    fake_agent(
        scratch,
        """
tell(f"prompt{iteration}", sys.stdin.read())
if iteration == 1:
    wait_for("noted")
    subprocess.run(["git", "clean", "-fdxq"])
    tell("cleaned")
    wait_for("go")
else:
    say(PROMISE)
""",
    )
    with running(scratch, "Work") as runner:
        told(scratch, "prompt1")
        assert scratch.ralph("--add-context", "The port is 8080").returncode == 0
        kept = scratch.root / ".git" / "spool" / "state"
        wait_for(lambda: list(kept.glob("*/context.md")), "the second name of the context")
        release(scratch, "noted")
        told(scratch, "cleaned")
        wait_for((scratch.state / "context.md").exists, "the folder to come back")
        shown = json.loads(scratch.ralph("--status", "--json").stdout)
        assert (shown["status"], shown["runner_alive"], shown["context"]) == ("running", True, True)
        assert scratch.ralph("--add-context", "The host is localhost").returncode == 0
        release(scratch, "go")
        assert runner.wait(PATIENCE_S) == 0
    assert "The port is 8080\nThe host is localhost" in told(scratch, "prompt2")
    invariants.complete(scratch)


def test_file_names_of_every_kind_are_counted(scratch: Scratch) -> None:
    fake_agent(
        scratch,
        """
names = [b"\\xff\\xfe", b"new\\nline", b"tab\\there", b"\\x1b]2;title\\x07", b"-rf", b'qu"ote', b"n" * 255]
for name in [*names, "\\u202eevil".encode()]:
    with open(name, "wb") as file:
        file.write(b"x")
say(PROMISE)
""",
    )
    done = scratch.ralph("Work")
    assert done.returncode == 0, done.stderr
    [record] = scratch.history()
    assert record["changed_files"] == 8
    assert "new\nline" in record["files"]
    assert scratch.ralph("--status", "--json").returncode == 0
