"""`--in worktree` and `--in clone`: the work ends on a branch, the state stays where the command was typed."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support import CHANGE, Scratch, Steps, make_scratch
from tests.support.sandboxed import needs_a_sandbox

BRANCH = f"change/{CHANGE}"
DONE: Steps = [{"write": "made.txt", "text": "made\n"}, {"tick": 1}, {"tick": 1}, {"promise": "COMPLETE"}]
KINDS = pytest.mark.parametrize("kind", ["worktree", "clone"])


def workspace(scratch: Scratch, door: str = "run") -> dict[str, Any]:
    state = json.loads((scratch.root / ".spool" / ".state" / door / CHANGE / "state.json").read_text())
    found: dict[str, Any] = state["workspace"]
    return found


def files_on(scratch: Scratch, branch: str = BRANCH) -> set[str]:
    return set(scratch.git("ls-tree", "-r", "--name-only", branch).splitlines())


@KINDS
def test_run_ends_on_the_branch_and_leaves_the_tree_alone(scratch: Scratch, kind: str) -> None:
    scratch.script(DONE)
    done = scratch.run("--in", kind)
    assert done.returncode == 0, done.stderr
    assert "made.txt" in files_on(scratch)
    assert not (scratch.root / "made.txt").exists()
    assert scratch.git("status", "--short") == ""
    assert scratch.git("branch", "--show-current").strip() == "main"
    where = workspace(scratch)
    assert (where["kind"], where["branch"]) == (kind, BRANCH)
    assert Path(where["path"], "made.txt").exists()
    assert f"Created {kind} {where['path']} on branch {BRANCH}." in done.stderr


@KINDS
def test_ralph_commits_each_iteration(scratch: Scratch, kind: str) -> None:
    scratch.script([{"write": "one.txt", "text": "1\n"}], DONE)
    done = scratch.ralph("Go", "--harness", "scripted", "--in", kind)
    assert done.returncode == 0, done.stderr
    assert {"one.txt", "made.txt"} <= files_on(scratch)
    assert len(scratch.git("rev-list", f"main..{BRANCH}").split()) == 2


@KINDS
def test_a_change_that_is_not_committed_is_carried_in(scratch: Scratch, kind: str) -> None:
    scratch.git("rm", "-r", "--quiet", "--cached", ".spool")
    scratch.git("commit", "--quiet", "--allow-empty", "--message", "no changes committed")
    scratch.script(DONE)
    done = scratch.run("--in", kind)
    assert done.returncode == 0, done.stderr
    assert f".spool/changes/{CHANGE}/tasks.md" in files_on(scratch)
    assert "- [ ]" in (scratch.change / "tasks.md").read_text(), "the person's own copy is as it was"


@KINDS
def test_learnings_are_in_the_workspace_and_not_in_the_commits(scratch: Scratch, kind: str) -> None:
    learnings = f".spool/.state/run/{CHANGE}/learnings.md"
    scratch.script([{"write": learnings, "text": "mind the gap\n"}, *DONE])
    assert scratch.run("--in", kind).returncode == 0
    assert Path(workspace(scratch)["path"], learnings).read_text() == "mind the gap\n"
    assert learnings not in files_on(scratch)
    assert learnings in (scratch.run_state / "logs" / "0001.prompt.md").read_text()
    assert not (scratch.run_state / "learnings.md").exists()


@KINDS
def test_the_same_command_continues_and_another_place_is_refused(scratch: Scratch, kind: str) -> None:
    scratch.script([{"promise": "FAILED: not yet"}], DONE)
    assert scratch.run("--in", kind, "--max-retries", "0").returncode == 1
    elsewhere = scratch.run()
    assert elsewhere.returncode == 2
    assert f"--in {kind}" in elsewhere.stderr
    done = scratch.run("--in", kind)
    assert done.returncode == 0, done.stderr
    assert "Created" not in done.stderr
    assert "made.txt" in files_on(scratch)


@KINDS
def test_status_and_ps_show_the_loop_from_where_it_was_started(scratch: Scratch, kind: str) -> None:
    scratch.script(DONE)
    assert scratch.run("--in", kind).returncode == 0
    shown = json.loads(scratch.run("--status", "--json").stdout)
    assert shown["state"]["workspace"]["kind"] == kind
    assert workspace(scratch)["path"] in scratch.run("--status").stdout


def test_a_branch_that_somebody_moved_meanwhile_is_exit_code_5_and_nothing_is_lost(scratch: Scratch) -> None:
    move = f"git --git-dir '{scratch.root}/.git' branch {BRANCH} main"
    scratch.script([*DONE[:-1], {"run": ["sh", "-c", move]}, DONE[-1]])
    done = scratch.run("--in", "clone")
    assert done.returncode == 5, done.stderr
    assert f"git merge refs/spool/fetched/{CHANGE}" in done.stdout
    assert "made.txt" in files_on(scratch, f"refs/spool/fetched/{CHANGE}")
    assert "made.txt" not in files_on(scratch)
    refused = scratch.run("--in", "clone", "--fresh")
    assert refused.returncode == 2
    assert "somebody moved" in refused.stderr
    assert "spool workspace remove" in refused.stderr


@KINDS
@pytest.mark.parametrize("how", ["no commit", "no git"])
def test_nothing_to_start_from_is_refused_before_anything_is_made(tmp_path: Path, kind: str, how: str) -> None:
    scratch = make_scratch(tmp_path, git=False)
    if how == "no commit":
        scratch.git("init", "--quiet")
    scratch.script(DONE)
    done = scratch.run("--in", kind)
    assert done.returncode == 2
    assert f"a {kind} needs a" in done.stderr
    assert not (scratch.home / ".local" / "share" / "spool").exists()
    assert [path.name for path in tmp_path.iterdir() if "-wt-" in path.name] == []


@KINDS
def test_a_branch_that_is_checked_out_here_is_refused(scratch: Scratch, kind: str) -> None:
    scratch.git("checkout", "--quiet", "-b", BRANCH)
    scratch.script(DONE)
    done = scratch.run("--in", kind)
    assert done.returncode == 2
    assert f"{BRANCH} is checked out in {scratch.root}" in done.stderr


@KINDS
def test_a_change_that_cannot_name_a_branch_is_refused(scratch: Scratch, kind: str) -> None:
    scratch.change.rename(scratch.change.with_name("a..b"))
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", "rename")
    scratch.script(DONE)
    done = scratch.spool("run", "a..b", "--harness", "scripted", "--in", kind)
    assert done.returncode == 2
    assert "cannot name a branch" in done.stderr


@KINDS
def test_a_dirty_tree_stays_as_it_is(scratch: Scratch, kind: str) -> None:
    (scratch.root / "mine.txt").write_text("mine\n")
    (scratch.root / "staged.txt").write_text("staged\n")
    scratch.git("add", "staged.txt")
    before = scratch.git("status", "--porcelain")
    scratch.script(DONE)
    done = scratch.run("--in", kind)
    assert done.returncode == 0, done.stderr
    assert scratch.git("status", "--porcelain") == before
    assert not files_on(scratch) & {"mine.txt", "staged.txt"}
    assert ("Not in the clone: 2 uncommitted files" in done.stderr) == (kind == "clone")


def test_a_project_below_the_top_of_its_repository(scratch: Scratch) -> None:
    inner = scratch.root / "packages" / "web app"
    folder = inner / ".spool" / "changes" / "add-auth"
    folder.mkdir(parents=True)
    (folder / "proposal.md").write_text("# Auth\n")
    (folder / "tasks.md").write_text("## 1. A\n\n- [ ] 1.1 x\n")
    scratch.script([{"write": "made.txt", "text": "x\n"}, {"tick": 1}, {"promise": "COMPLETE"}])
    done = scratch.spool("run", "add-auth", "--harness", "scripted", "--in", "clone", cwd=inner)
    assert done.returncode == 0, done.stderr
    made = files_on(scratch, "change/add-auth")
    assert "packages/web app/made.txt" in made
    assert not [name for name in made if ".state" in name]
    assert (inner / ".spool" / ".state" / "run" / "add-auth" / "state.json").exists()


def test_a_clone_runs_no_hook_of_the_agent_when_spool_commits(scratch: Scratch, tmp_path: Path) -> None:
    hook = f"mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch {tmp_path}/mark' >.git/hooks/pre-commit; "
    scratch.script([{"run": ["sh", "-c", f"{hook}chmod +x .git/hooks/pre-commit"]}, *DONE])
    done = scratch.run("--in", "clone")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "mark").exists()
    assert "made.txt" in files_on(scratch)


def rows(scratch: Scratch, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(scratch.spool("workspace", "list", "--json", *words).stdout)
    return found


@KINDS
def test_list_and_remove_a_workspace_whose_work_is_on_its_branch(scratch: Scratch, kind: str) -> None:
    assert scratch.spool("workspace", "list").stdout == "No workspaces.\n"
    scratch.script(DONE)
    assert scratch.run("--in", kind).returncode == 0
    (row,) = rows(scratch)
    assert (row["change"], row["kind"], row["branch"], row["status"]) == (CHANGE, kind, BRANCH, "done")
    assert row["path"] in scratch.spool("workspace", "list").stdout
    tip = scratch.git("rev-parse", BRANCH)
    done = scratch.spool("workspace", "remove", CHANGE)
    assert done.returncode == 0, done.stderr
    assert not Path(row["path"]).exists()
    assert scratch.git("rev-parse", BRANCH) == tip
    assert rows(scratch) == []


LOOSE = [(kind, what) for kind in ("worktree", "clone") for what in ("changed", "untracked", "ignored", "detached")]


@pytest.mark.parametrize(("kind", "what"), [*LOOSE, ("clone", "stashed")])
def test_nothing_that_is_on_no_branch_is_removed_without_asking(scratch: Scratch, kind: str, what: str) -> None:
    (scratch.root / ".gitignore").write_text("*.local\nbuild/\n")
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", "ignore")
    scratch.script(DONE)
    assert scratch.run("--in", kind).returncode == 0
    top = Path(workspace(scratch)["path"])
    (top / "build").mkdir()
    (top / "build" / "x.o").write_text("x")
    here = Scratch(top, scratch.home, scratch.bin, scratch.env)
    match what:
        case "changed" | "stashed":
            (top / "made.txt").write_text("more\n")
        case "untracked":
            (top / "new file.txt").write_text("new\n")
        case "ignored":
            (top / "notes.local").write_text("notes\n")
        case _:
            here.git("checkout", "--quiet", "--detach")
            here.git("commit", "--quiet", "--allow-empty", "--message", "loose")
    if what == "stashed":
        here.git("stash", "push", "--quiet")
    if (kind, what) == ("clone", "detached"):  # what is checked out is brought to the branch, unless that has moved
        scratch.git("branch", "-f", BRANCH, "main")
    done = scratch.spool("workspace", "remove", CHANGE)
    assert done.returncode == 2, done.stdout
    assert "On no branch" in done.stderr
    assert top.is_dir()
    assert scratch.spool("workspace", "remove", CHANGE, "--yes").returncode == 0
    assert not top.exists()


def test_a_clone_with_any_number_of_refs_is_removed_at_once(scratch: Scratch) -> None:
    scratch.script(DONE)
    assert scratch.run("--in", "clone").returncode == 0
    top = Path(workspace(scratch)["path"])
    tip = scratch.git("rev-parse", BRANCH).strip()
    (top / ".git" / "packed-refs").write_text("".join(f"{tip} refs/heads/r{number}\n" for number in range(30_000)))
    done = scratch.spool("workspace", "remove", CHANGE)  # a git command for each would take minutes
    assert done.returncode == 0, done.stderr
    assert not top.exists()


def test_removing_a_clone_fetches_what_a_killed_run_left_in_it(scratch: Scratch) -> None:
    scratch.script(DONE)
    assert scratch.run("--in", "clone").returncode == 0
    top = Path(workspace(scratch)["path"])
    here = Scratch(top, scratch.home, scratch.bin, scratch.env)
    here.git("commit", "--quiet", "--allow-empty", "--message", "later")
    tip = here.git("rev-parse", "HEAD")
    done = scratch.spool("workspace", "remove", str(top))
    assert done.returncode == 0, done.stderr
    assert scratch.git("rev-parse", BRANCH) == tip


def test_a_copy_of_an_ignored_file_is_no_reason_to_ask(scratch: Scratch) -> None:
    (scratch.root / ".gitignore").write_text(".env\n")
    (scratch.root / ".env").write_text("KEY=1\n")
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", "ignore")
    scratch.script(DONE)
    assert scratch.run("--in", "worktree").returncode == 0
    assert Path(workspace(scratch)["path"], ".env").read_text() == "KEY=1\n"
    assert scratch.spool("workspace", "remove", CHANGE).returncode == 0


@KINDS
def test_a_workspace_in_which_a_loop_runs_is_not_removed(scratch: Scratch, kind: str) -> None:
    scratch.script([{"say": "Working"}, {"sleep": 600}])
    assert scratch.run("--in", kind, "--detach").returncode == 0
    try:
        done = scratch.spool("workspace", "remove", CHANGE, "--yes")
        assert done.returncode == 1
        assert "already running" in done.stderr
        assert Path(workspace(scratch)["path"]).is_dir()
    finally:
        scratch.spool("stop", "--all")


@KINDS
def test_a_removed_workspace_is_made_anew_and_the_loop_goes_on(scratch: Scratch, kind: str) -> None:
    scratch.script([{"write": "half.txt", "text": "x\n"}, {"promise": "FAILED: not yet"}], DONE)
    assert scratch.run("--in", kind, "--max-retries", "0").returncode == 1
    assert scratch.spool("workspace", "remove", CHANGE, "--yes").returncode == 0
    done = scratch.run("--in", kind)
    assert done.returncode == 0, done.stderr
    assert "Created" in done.stderr
    assert "made.txt" in files_on(scratch)


def test_clones_of_other_projects_are_listed_only_when_asked_for(scratch: Scratch, tmp_path: Path) -> None:
    scratch.script(DONE)
    assert scratch.run("--in", "clone").returncode == 0
    other = tmp_path / "other"
    other.mkdir()
    assert scratch.spool("workspace", "list", cwd=other).returncode == 2
    listed = scratch.spool("workspace", "list", "--json", "--all-projects", cwd=other)
    assert [row["repository"] for row in json.loads(listed.stdout)] == [str(scratch.root)]


@pytest.mark.parametrize("how", ["sha256", "detached", "path with spaces and 'quotes'"])
@KINDS
def test_repositories_of_other_kinds(tmp_path: Path, how: str, kind: str) -> None:
    base = tmp_path / (how if "path" in how else "base")
    base.mkdir()
    scratch = make_scratch(base, git=False)
    scratch.git("init", "--quiet", "--initial-branch=main", *(["--object-format=sha256"] if how == "sha256" else []))
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", "start")
    if how == "detached":
        scratch.git("checkout", "--quiet", "--detach")
    scratch.script([{"promise": "FAILED: not yet"}], DONE)
    done = scratch.run("--in", kind)
    assert done.returncode == 0, done.stderr
    assert "made.txt" in files_on(scratch)
    assert scratch.git("status", "--short") == ""


def test_a_git_directory_that_leads_out_ends_the_loop_and_nothing_is_read_through_it(scratch: Scratch) -> None:
    secret = scratch.home / "secret"
    secret.write_text("s3cret\n")
    plant = f"ln -s '{secret}' .git/MERGE_MSG; rm .git/index; ln -s '{secret}' .git/index"
    scratch.script([{"run": ["sh", "-c", plant]}, {"promise": "FAILED: again"}], DONE)
    done = scratch.run("--in", "clone")
    assert done.returncode != 0
    assert "leads out of the clone" in done.stdout + done.stderr
    clones = scratch.home / ".local" / "share" / "spool"
    regular = [path for path in clones.rglob("*") if path.is_file() and not path.is_symlink()]
    assert not [path for path in regular if b"s3cret" in path.read_bytes()]


def test_gates_check_the_work_in_a_clone(scratch: Scratch) -> None:
    scratch.script([DONE[-1]], DONE)
    done = scratch.run("--in", "clone", "--verify", "test -f made.txt")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "proved" in done.stdout
    assert "made.txt" in files_on(scratch)


def test_a_clone_whose_repository_is_gone_is_removed_by_its_path(scratch: Scratch, tmp_path: Path) -> None:
    scratch.script(DONE)
    assert scratch.run("--in", "clone").returncode == 0
    top = workspace(scratch)["path"]
    shutil.rmtree(scratch.root)
    other = tmp_path / "other"
    other.mkdir()
    refused = scratch.spool("workspace", "remove", top, cwd=other)
    assert refused.returncode == 2
    assert "is gone" in refused.stderr
    assert scratch.spool("workspace", "remove", top, "--yes", cwd=other).returncode == 0
    assert not Path(top).exists()


@pytest.mark.parametrize("where", [(), ("--in", "clone"), ("--commit-stories",)])
def test_a_project_that_ignores_the_state_by_itself_is_committed(scratch: Scratch, where: tuple[str, ...]) -> None:
    (scratch.root / ".gitignore").write_text(".spool/.state/\n")
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", "ignore")
    scratch.script(DONE)
    done = scratch.run(*where)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_workspace_is_removed_by_a_short_id(scratch: Scratch) -> None:
    scratch.script(DONE)
    assert scratch.run("--in", "clone").returncode == 0
    where = workspace(scratch)["path"]
    done = scratch.spool("workspace", "remove", "2-1")
    assert done.returncode == 0, done.stderr
    assert not Path(where).exists()


UNTRACKED = {".env": "KEY=1\n", ".venv/pyvenv.cfg": "home = /usr\n", "config/local.toml": "x = 1\n"}
WAYS = "worktree_setup makes them, .worktreeinclude copies them, share lends them to a check."


def untracked(scratch: Scratch, **more: str) -> None:
    for name, text in (UNTRACKED | more).items():
        path = scratch.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (scratch.root / ".gitignore").write_text("".join(f"/{name}\n" for name in UNTRACKED))
    scratch.git("add", ".gitignore")
    scratch.git("commit", "--quiet", "--message", "ignore")


@pytest.mark.parametrize("kind", ["worktree", "clone"])
def test_a_missing_environment_is_named_with_the_next_step(scratch: Scratch, kind: str) -> None:
    untracked(scratch)
    scratch.script([{"tick": 9}, {"promise": "COMPLETE"}])
    done = scratch.run("--in", kind)
    assert f"Missing in the {kind}: .venv; {WAYS}\n" in done.stderr
    assert "Missing" not in scratch.run("--in", kind, "--fresh").stderr, "it is there already"


@pytest.mark.parametrize("kind", ["worktree", "clone"])
def test_worktreeinclude_is_honoured_and_worktree_copy_keeps_folders(scratch: Scratch, kind: str) -> None:
    untracked(scratch, **{".worktreeinclude": "/.venv/\nnothing.txt\n"})
    scratch.script([{"tick": 9}, {"promise": "COMPLETE"}])
    own = scratch.home / ".config/spool/config.toml"
    own.write_text('worktree_copy = [".env*", "config/local.toml"]\nworktree_setup = "touch made"\n' + own.read_text())
    done = scratch.run("--in", kind)
    assert "Missing" not in done.stderr
    (row,) = json.loads(scratch.spool("workspace", "list", "--json").stdout)
    made = Path(row["path"])
    assert {name: (made / name).read_text() for name in UNTRACKED} == UNTRACKED
    assert (made / "made").exists()


@needs_a_sandbox
def test_a_sandboxed_clone_gets_no_copy_of_secrets_and_says_so(scratch: Scratch) -> None:
    untracked(scratch)
    scratch.script([{"tick": 9}, {"promise": "COMPLETE"}])
    done = scratch.run("--sandbox")
    assert f"Missing in the clone: .venv, .env; {WAYS}\n" in done.stderr
