"""Which changes a project has, and what is read of one."""

from pathlib import Path

import pytest

from spool.app.changes.resolver import change_in
from spool.domain.change.change import Nothing
from spool.errors import ChangeError, UsageError
from spool.sources.project import Project, bare_project, find_project, project_at


def make(root: Path, where: str, change: str, tasks: str | None = "- [ ] 1.1 Write\n") -> Path:
    folder = root / where / change
    folder.mkdir(parents=True)
    (folder / "proposal.md").write_text(f"# Change: {change}\n")
    if tasks is not None:
        (folder / "tasks.md").write_text(tasks)
    return folder


def test_changes_of_both_sources_are_listed_and_archived_ones_are_not(tmp_path: Path) -> None:
    make(tmp_path, ".spool/changes", "002-01_loop", "- [x] 1.1 Write\n- [ ] 1.2 Test\n")
    make(tmp_path, "openspec/changes", "add-auth", None)
    make(tmp_path, "openspec/changes/archive", "2026-01-01-old")
    found = [(info.id, info.source, info.title, info.done, info.total) for info in Project(tmp_path).changes()]
    assert found == [("002-01_loop", ".spool", "002-01_loop", 1, 2), ("add-auth", "openspec", "add-auth", 0, 0)]
    meant = change_in(Project(tmp_path), "old")
    assert isinstance(meant, Nothing) and "archived" in meant.what


def test_the_project_is_found_upward(tmp_path: Path) -> None:
    make(tmp_path, ".spool/changes", "add-auth")
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    assert find_project(inside).root == tmp_path
    with pytest.raises(UsageError):
        find_project(tmp_path.parent)


def test_a_change_without_a_proposal_is_refused_unless_a_task_is_all_there_is(tmp_path: Path) -> None:
    (make(tmp_path, ".spool/changes", "add-auth") / "proposal.md").unlink()
    with pytest.raises(ChangeError, match="has no proposal"):
        Project(tmp_path).read("add-auth")
    assert bare_project(tmp_path).read("add-auth").proposal == ""
    assert bare_project(tmp_path).read("explore").directory == "."


@pytest.mark.parametrize("name", [".spool", ".spool/.state"])
def test_a_state_folder_that_is_a_link_is_refused(tmp_path: Path, name: str) -> None:
    outside, link = tmp_path / "outside", tmp_path / "project" / name
    outside.mkdir()
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    with pytest.raises(UsageError, match="is a link"):
        project_at(tmp_path / "project")
