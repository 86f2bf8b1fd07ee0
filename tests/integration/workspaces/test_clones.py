"""A clone has a git directory of its own, and nothing of the person's that it does not need."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from spool.errors import BranchMoved, CommandFailed, CommandTimeout
from tests.support.workspaces import BRANCH, CHANGE, Person, git, make_person


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    return make_person(tmp_path, monkeypatch)


def test_a_clone_starts_from_the_commit_on_the_branch_of_the_change(person: Person) -> None:
    clone = person.clone()
    assert clone.git("rev-parse", "HEAD") == person.git("rev-parse", "HEAD")
    assert clone.git("symbolic-ref", "--short", "HEAD") == BRANCH
    assert clone.git("status", "--short") == ""
    assert (clone.top / "code.py").read_text() == "print(1)\n"


def test_a_fetch_that_stalls_is_ended_and_the_next_one_makes_the_clone(
    person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stalled = tmp_path / "bin" / "git"
    stalled.parent.mkdir()
    stalled.write_text(
        f'#!/bin/sh\ncase " $* " in *" fetch "*) exec sleep 600; esac\nexec {shutil.which("git")} "$@"\n'
    )
    stalled.chmod(0o755)
    with monkeypatch.context() as slow:
        slow.setenv("PATH", f"{stalled.parent}:{os.environ['PATH']}")
        with pytest.raises(CommandTimeout, match="'git fetch' made no progress for 1 s"):
            person.clone(timeout_s=1)
    assert person.clone().git("rev-parse", "HEAD") == person.git("rev-parse", "HEAD")


def test_a_clone_shares_no_object_file_and_sees_no_other_branch(person: Person) -> None:
    person.git("checkout", "--quiet", "-b", "secret")
    hidden = person.commit("secret.txt", "s3cret\n")
    person.git("checkout", "--quiet", "main")
    clone = person.clone()
    objects = clone.top / ".git" / "objects"
    assert not (objects / "info" / "alternates").exists()
    assert all(path.stat().st_nlink == 1 for path in objects.rglob("*") if path.is_file())
    assert clone.git("cat-file", "-t", hidden, check=False) == ""
    assert clone.git("for-each-ref", "--format=%(refname)") == f"refs/heads/{BRANCH}"


def test_remotes_hooks_filters_and_settings_stay_with_the_person(person: Person, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    leave_mark = f"touch '{mark}'; cat"
    person.commit(".gitattributes", "*.py filter=marked\n")
    person.git("remote", "add", "origin", "https://token@example.com/x.git")
    for key, value in {
        "core.fsmonitor": f"touch '{mark}'",
        "filter.marked.smudge": leave_mark,
        "filter.marked.clean": leave_mark,
        "credential.helper": "store",
        "core.hooksPath": str(tmp_path / "hooks"),
    }.items():
        person.git("config", key, value)
    (tmp_path / "hooks").mkdir()
    for hook in ("post-checkout", "reference-transaction", "post-merge", "pre-auto-gc"):
        (tmp_path / "hooks" / hook).write_text(f"#!/bin/sh\ntouch '{mark}'\n")
        (tmp_path / "hooks" / hook).chmod(0o755)
    mark.unlink(missing_ok=True)
    clone = person.clone()
    clone.commit("new.py", "print(2)\n")
    clone.deliver()
    assert not mark.exists()
    assert clone.git("remote") == ""
    assert not (clone.top / ".git" / "hooks").exists()
    settings = clone.git("config", "--local", "--list").splitlines()
    assert {line.partition("=")[0] for line in settings} <= {
        "core.repositoryformatversion", "core.filemode", "core.bare", "core.logallrefupdates",
        "user.name", "user.email",
    }  # fmt: skip


def test_the_commits_reach_the_branch_and_the_person_keeps_their_tree(person: Person) -> None:
    clone = person.clone()
    first = clone.commit("one.txt", "1\n")
    delivered = clone.deliver()
    assert (delivered.commit, delivered.branch, delivered.moved) == (first, BRANCH, True)
    assert person.tip() == first
    second = clone.commit("two.txt", "2\n")
    assert clone.deliver().commit == second
    assert person.tip() == second
    assert not clone.deliver().moved
    assert person.git("status", "--short") == ""
    assert not (person.root / "one.txt").exists()


def test_the_uncommitted_folder_of_the_change_is_carried_in(person: Person) -> None:
    person.write(f".spool/changes/{CHANGE}/proposal.md", "# Auth\n")
    person.write("notes.txt", "mine\n")
    clone = person.clone(folders=(str(person.root / ".spool" / "changes" / CHANGE),))
    assert (clone.top / ".spool" / "changes" / CHANGE / "proposal.md").read_text() == "# Auth\n"
    assert not (clone.top / "notes.txt").exists()


def test_a_branch_that_exists_already_is_where_the_clone_starts(person: Person) -> None:
    person.git("checkout", "--quiet", "-b", BRANCH)
    tip = person.commit("begun.txt", "x\n")
    person.git("checkout", "--quiet", "main")
    clone = person.clone()
    assert clone.git("rev-parse", "HEAD") == tip
    new = clone.commit("more.txt", "y\n")
    assert clone.deliver().commit == new


def test_a_branch_that_a_person_moved_is_left_alone_and_the_work_is_kept(person: Person) -> None:
    clone = person.clone()
    clone.commit("one.txt", "1\n")
    clone.deliver()
    person.git("checkout", "--quiet", BRANCH)
    mine = person.commit("mine.txt", "mine\n")
    person.git("checkout", "--quiet", "main")
    work = clone.commit("two.txt", "2\n")
    with pytest.raises(BranchMoved, match="moved") as refused:
        clone.deliver()
    assert f"git merge refs/spool/fetched/{CHANGE}" in refused.value.hint
    assert person.tip() == mine
    assert person.git("rev-parse", f"refs/spool/fetched/{CHANGE}") == work


@pytest.mark.parametrize("how", ["deleted", "reset", "created"])
def test_each_way_of_moving_a_branch_is_seen(person: Person, how: str) -> None:
    clone = person.clone()
    if how != "created":
        clone.commit("one.txt", "1\n")
        clone.deliver()
    words = {"deleted": ("-D", BRANCH), "reset": ("-f", BRANCH, "main"), "created": (BRANCH, "main")}[how]
    if how == "created":
        person.commit("later.txt", "x\n")
    person.git("branch", *words)
    before = person.tip()
    clone.commit("two.txt", "2\n")
    with pytest.raises(BranchMoved):
        clone.deliver()
    assert person.tip() == before


def test_a_person_who_takes_what_was_fetched_is_not_in_the_way(person: Person) -> None:
    clone = person.clone()
    clone.commit("one.txt", "1\n")
    clone.deliver()
    person.git("branch", "-f", BRANCH, "main")
    clone.commit("two.txt", "2\n")
    with pytest.raises(BranchMoved):
        clone.deliver()
    person.git("branch", "-f", BRANCH, f"refs/spool/fetched/{CHANGE}")
    third = clone.commit("three.txt", "3\n")
    assert clone.deliver().commit == third


def test_a_branch_that_is_checked_out_does_not_move_under_its_tree(person: Person) -> None:
    clone = person.clone()
    clone.commit("one.txt", "1\n")
    clone.deliver()
    before = person.tip()
    person.git("checkout", "--quiet", BRANCH)
    clone.commit("two.txt", "2\n")
    with pytest.raises(BranchMoved, match="is checked out in"):
        clone.deliver()
    assert person.tip() == before
    assert person.git("status", "--short") == ""


def test_an_agent_that_rewrites_its_history_may_do_so(person: Person) -> None:
    clone = person.clone()
    first = clone.commit("one.txt", "1\n")
    clone.deliver()
    clone.git("commit", "--quiet", "--amend", "--message", "better")
    assert clone.deliver().commit == person.tip() != first


def test_what_is_checked_out_is_the_work_on_whatever_branch(person: Person) -> None:
    clone = person.clone()
    clone.git("checkout", "--quiet", "--detach")
    work = clone.commit("one.txt", "1\n")
    assert clone.deliver().commit == person.tip() == work


def leave_alternates(top: Path, elsewhere: Path) -> None:
    (top / ".git" / "objects" / "info" / "alternates").write_text(f"{elsewhere}/.git/objects\n")


def leave_common_dir(top: Path, elsewhere: Path) -> None:
    (top / ".git" / "commondir").write_text(f"{elsewhere}/.git\n")


def leave_pointer(top: Path, elsewhere: Path) -> None:
    subprocess.run(["rm", "-rf", top / ".git"], check=True)
    (top / ".git").write_text(f"gitdir: {elsewhere}/.git\n")


def leave_link(top: Path, elsewhere: Path) -> None:
    subprocess.run(["rm", "-rf", top / ".git"], check=True)
    (top / ".git").symlink_to(elsewhere / ".git")


def leave_linked_objects(top: Path, elsewhere: Path) -> None:
    (top / ".git" / "objects").rename(top / "objects")
    (top / ".git" / "objects").symlink_to(elsewhere / ".git" / "objects")


def leave_fifo(top: Path, elsewhere: Path) -> None:
    (top / ".git" / "HEAD").unlink()
    os.mkfifo(top / ".git" / "HEAD")


@pytest.mark.parametrize(
    "leave", [leave_alternates, leave_common_dir, leave_pointer, leave_link, leave_linked_objects, leave_fifo]
)
def test_a_git_directory_that_leads_out_is_not_fetched_from(
    person: Person, tmp_path: Path, leave: Callable[[Path, Path], None]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "--quiet")
    (other / "secret").write_text("s3cret\n")
    git(other, "add", "--all")
    git(other, "commit", "--quiet", "--message", "secret")
    clone = person.clone()
    clone.commit("one.txt", "1\n")
    leave(clone.top, other)
    with pytest.raises(CommandFailed, match="leads out of the clone"):
        clone.deliver()
    assert person.tip() == ""
    assert git(person.root, "cat-file", "-t", git(other, "rev-parse", "HEAD"), check=False) == ""


def test_a_hostile_configuration_of_the_clone_runs_nothing(person: Person, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch '{mark}'\nexec cat\n")
    program.chmod(0o755)
    clone = person.clone()
    (clone.top / ".gitattributes").write_text("* filter=x diff=x\n")
    clone.commit("one.txt", "1\n")
    for key in (
        "core.fsmonitor", "filter.x.clean", "filter.x.smudge", "diff.external", "uploadpack.packObjectsHook",
        "core.sshCommand", "core.gitProxy", "core.pager", "remote.origin.uploadpack", "core.alternateRefsCommand",
        "credential.helper", "gpg.program", "core.editor",
    ):  # fmt: skip
        clone.git("config", key, str(program))
    clone.git("config", "remote.origin.url", str(tmp_path))
    clone.git("config", "remote.origin.promisor", "true")
    (clone.top / ".git" / "hooks").mkdir()
    for hook in ("pre-upload", "post-upload-pack", "reference-transaction", "post-index-change"):
        (clone.top / ".git" / "hooks" / hook).write_bytes(program.read_bytes())
        (clone.top / ".git" / "hooks" / hook).chmod(0o755)
    mark.unlink(missing_ok=True)
    clone.deliver()
    assert not mark.exists()


@pytest.mark.parametrize("name", ["with space", "q\"uo'te", "--upload-pack=x", "ünï", "a$(touch P)b", "x;y"])
def test_any_name_of_a_repository_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    person = make_person(tmp_path, monkeypatch, name=name)
    clone = person.clone()
    work = clone.commit("one.txt", "1\n")
    assert clone.deliver().commit == person.tip() == work
    assert not (tmp_path / "P").exists()


def test_a_sha256_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    person = make_person(tmp_path, monkeypatch, options=("--object-format=sha256",))
    clone = person.clone()
    work = clone.commit("one.txt", "1\n")
    assert len(work) == 64
    assert clone.deliver().commit == person.tip() == work


def test_a_shallow_repository_stays_shallow_and_grows_by_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = make_person(tmp_path, monkeypatch, name="full")
    full.commit("two.py", "2\n")
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{full.root}", "shallow")
    person = Person(tmp_path / "shallow")
    clone = person.clone()
    work = clone.commit("one.txt", "1\n")
    shallow = (person.root / ".git" / "shallow").read_bytes()
    assert clone.deliver().commit == person.tip() == work
    assert (person.root / ".git" / "shallow").read_bytes() == shallow


def test_an_agent_cannot_cut_the_history_of_the_person(person: Person) -> None:
    clone = person.clone()
    for number in range(3):
        clone.commit(f"{number}.txt", "x\n")
    (clone.top / ".git" / "shallow").write_text(clone.git("rev-parse", "HEAD~1") + "\n")
    with pytest.raises(CommandFailed):
        clone.deliver()
    assert not (person.root / ".git" / "shallow").exists()


def test_from_a_detached_head_a_dirty_tree_and_a_linked_worktree(person: Person, tmp_path: Path) -> None:
    person.commit("second.py", "2\n")
    linked = tmp_path / "linked"
    person.git("worktree", "add", "--quiet", "--detach", str(linked), "HEAD~1")
    (linked / "code.py").write_text("dirty\n")
    clone = Person(linked).clone()
    assert clone.git("rev-parse", "HEAD") == person.git("rev-parse", "HEAD~1")
    work = clone.commit("one.txt", "1\n")
    assert clone.deliver().commit == person.tip() == work
    assert (linked / "code.py").read_text() == "dirty\n"


def test_a_submodule_is_an_empty_folder_in_the_clone_and_stays_in_the_commits(
    person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "--quiet")
    git(library, "commit", "--quiet", "--allow-empty", "--message", "x")
    person.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "lib")
    person.git("commit", "--quiet", "--message", "submodule")
    clone = person.clone()
    assert list((clone.top / "lib").iterdir()) == []
    work = clone.commit("one.txt", "1\n")
    clone.deliver()
    assert person.git("ls-tree", work, "lib").startswith("160000 commit")


def test_a_partial_clone_fetches_nothing_and_runs_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = make_person(tmp_path, monkeypatch, name="full")
    full.git("config", "uploadpack.allowFilter", "true")
    full.git("config", "uploadpack.allowAnySHA1InWant", "true")
    words = ("clone", "--quiet", "--filter=blob:none", "--no-checkout")
    git(tmp_path, "-c", "protocol.file.allow=always", *words, f"file://{full.root}", "partial")
    person, mark = Person(tmp_path / "partial"), tmp_path / "mark"
    person.git("config", "remote.origin.uploadpack", f"touch '{mark}'; git-upload-pack")
    with pytest.raises(CommandFailed):
        person.clone()
    assert not mark.exists()


def test_a_clone_that_lacks_objects_runs_no_program_to_get_them(person: Person, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    clone = person.clone()
    clone.commit("one.txt", "1\n")
    blob = clone.git("rev-parse", "HEAD:one.txt")
    clone.git("config", "remote.origin.url", str(person.root))
    clone.git("config", "remote.origin.promisor", "true")
    clone.git("config", "extensions.partialClone", "origin")
    clone.git("config", "remote.origin.uploadpack", f"touch '{mark}'; git-upload-pack")
    (clone.top / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(CommandFailed):
        clone.deliver()
    assert not mark.exists()
    assert person.tip() == ""


def test_objects_that_git_itself_would_refuse_do_not_reach_the_person(person: Person) -> None:
    clone = person.clone()
    blob = clone.git("hash-object", "-w", "code.py")
    tree = subprocess.run(
        ["git", "mktree"],
        cwd=clone.top,
        input=f"100644 blob {blob}\t.git\n",
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    commit = clone.git("commit-tree", tree, "-p", "HEAD", "-m", "hostile")
    clone.git("update-ref", "HEAD", commit)
    with pytest.raises(CommandFailed):
        clone.deliver()
    assert person.tip() == ""
