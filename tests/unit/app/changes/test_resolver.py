"""What a person's words mean: a change, a plan file, a loop, several things or nothing."""

from pathlib import Path

import msgspec
import pytest

from spool.app.changes.resolver import (
    ChangeHere,
    PlanHere,
    change_in,
    change_meant,
    loops_matching,
    require_change,
)
from spool.app.loops.reach import Reach
from spool.domain.change.change import Ambiguous, Nothing
from spool.domain.loop.summary import LoopSummary
from spool.errors import UsageError
from spool.sources.project import Project
from tests.support.scene import loop_in


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for change in ("002-01_add-loop", "002-02_add-list", "archive/2026-01-01-old"):
        folder = tmp_path / ".spool/changes" / change
        folder.mkdir(parents=True)
        (folder / "proposal.md").write_text("# Title\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/PLAN.md").write_text("- [ ] a\n")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("002-01_add-loop", "002-01_add-loop"),
        ("2-1", "002-01_add-loop"),
        ("add-list", "002-02_add-list"),
        ("002-02", "002-02_add-list"),
        ("docs_-PLAN.md", "docs_-PLAN.md"),
        ("docs/PLAN.md", "docs_-PLAN.md"),
    ],
)
def test_words_mean_a_change_or_a_plan_file(project: Path, words: str, found: str) -> None:
    meant = change_meant(words, project)
    assert isinstance(meant, ChangeHere) and (meant.id, meant.project.root) == (found, project)
    assert isinstance(meant, PlanHere) == found.endswith(".md")


@pytest.mark.parametrize(
    ("words", "kind", "what"),
    [
        ("002", Ambiguous, "'002' is ambiguous: 002-01_add-loop, 002-02_add-list"),
        ("nothing", Nothing, "no such change: 'nothing'"),
        ("old", Nothing, "change 'old' is archived as .spool/changes/archive/2026-01-01-old"),
        ("docs/PLAM.md", Nothing, "no such plan file: docs/PLAM.md"),
    ],
)
def test_words_that_mean_several_or_nothing_say_so(project: Path, words: str, kind: type, what: str) -> None:
    meant = change_meant(words, project)
    assert isinstance(meant, kind) and isinstance(meant, Ambiguous | Nothing)
    assert meant.what == what and meant.hint
    with pytest.raises(UsageError) as raised:
        require_change(words, project)
    assert (str(raised.value), raised.value.hint) == (what, meant.hint)


def test_a_plan_that_is_mistyped_is_suggested(project: Path) -> None:
    meant = change_meant("docs/PLAM.md", project)
    assert isinstance(meant, Nothing) and meant.hint == "did you mean: docs/PLAN.md?"


def test_a_word_that_is_not_an_id_is_refused(project: Path) -> None:
    with pytest.raises(UsageError, match="is not a change id"):
        change_in(Project(project), "a b")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("20260101T000000-aaaaaa", ["here"]),
        ("aaaaaa", ["here"]),
        ("bbbbbb", ["there"]),
        ("bbb", []),
        ("aaa", ["here"]),
        ("aa", []),
        ("002-01_add-loop", ["here"]),
        ("add", ["here"]),
    ],
)
def test_a_loop_is_meant_by_any_id_and_by_its_change_within_reach(tmp_path: Path, words: str, found: list[str]) -> None:
    def loop(place: str, run_id: str) -> LoopSummary:
        root = tmp_path / place
        return msgspec.structs.replace(
            loop_in(root, "002-01_add-loop"), run_id=run_id, project=str(root), root=str(root), worktree=str(root)
        )

    loops = [loop("here", "20260101T000000-aaaaaa"), loop("there", "20260101T000000-bbbbbb")]
    reach = Reach(here=str(tmp_path / "here"), project=str(tmp_path / "here"))
    assert [Path(one.root).name for one in loops_matching(words, loops, reach)] == found
    everywhere = msgspec.structs.replace(reach, everywhere=True)
    assert len(loops_matching("add-loop", loops, everywhere)) == 2
