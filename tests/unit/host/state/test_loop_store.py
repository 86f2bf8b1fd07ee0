"""What a loop's folder restores, and how it finds its last iteration."""

from pathlib import Path

import pytest

from spool.host.state.loop_store import StateFolder
from tests.unit.host.state.spendings import record


@pytest.fixture
def folder(tmp_path: Path) -> StateFolder:
    made = StateFolder(tmp_path / "project/.spool/.state/ralph/change", mirror=tmp_path / "mirror")
    (tmp_path / "project").mkdir()
    made.prepare()
    for name in ("history.jsonl", "journal.jsonl"):
        (made.path / name).write_text("kept\n")
    made.keep()
    made.keep()
    return made


@pytest.mark.parametrize("lost", ["journal.jsonl", "history.jsonl"])
def test_a_lost_record_is_restored(folder: StateFolder, lost: str) -> None:
    (folder.path / lost).unlink()
    folder.keep()
    assert (folder.path / lost).read_text() == "kept\n"


def test_a_lost_second_name_is_made_anew(folder: StateFolder, tmp_path: Path) -> None:
    (tmp_path / "mirror/journal.jsonl").unlink()
    folder.keep()
    assert (tmp_path / "mirror/journal.jsonl").samefile(folder.journal)


def test_a_context_that_is_new_gets_a_second_name(folder: StateFolder, tmp_path: Path) -> None:
    (folder.path / "context.md").write_text("note\n")
    folder.keep()
    assert (tmp_path / "mirror/context.md").read_text() == "note\n"


def test_the_last_iteration_is_that_of_the_last_log_without_a_readable_history(folder: StateFolder) -> None:
    folder.logs.mkdir()
    for number in (1, 2, 7):
        (folder.logs / f"{number:04d}.prompt.md").touch()
    assert folder.last_iteration() == 7


@pytest.mark.parametrize(("begun", "last"), [(0, 5), (1, 6), (2, 7)])
def test_the_last_iteration_may_have_begun_after_the_last_record(folder: StateFolder, begun: int, last: int) -> None:
    folder.append(record("run", 5))
    folder.logs.mkdir()
    for number in range(1, 6 + begun):
        (folder.logs / f"{number:04d}.prompt.md").touch()
    assert folder.last_iteration() == last
