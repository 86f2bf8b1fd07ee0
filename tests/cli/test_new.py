"""`spool new` makes a change."""

import pytest

from tests.support import CHANGE, Scratch
from tests.support.terminal import terminal


@pytest.fixture
def empty(scratch: Scratch) -> Scratch:
    scratch.git("rm", "-rq", ".spool")
    return scratch


def test_the_first_change_of_a_repository(empty: Scratch) -> None:
    done = empty.spool("new", "Add login")
    assert done.returncode == 0, done.stderr
    folder = empty.root / ".spool/changes/001-01_add-login"
    assert (folder / "proposal.md").read_text().startswith("# Add login\n")
    assert "A good story" in (folder / "tasks.md").read_text()
    assert "spool run 001-01_add-login" in done.stdout
    assert "0 of 2 stories complete" in empty.spool("stories", "1-1").stdout


def test_numbers_follow_those_that_are_there_or_archived(scratch: Scratch) -> None:
    archived = scratch.root / ".spool/changes/archive/2026-01-02-004-01_old"
    archived.mkdir(parents=True)
    assert "005-01_a" in scratch.spool("new", "A").stdout
    assert "002-02_b" in scratch.spool("new", "B", "--module", "2").stdout
    assert CHANGE in scratch.spool("stories", CHANGE).stdout


def test_in_an_openspec_project_names_have_no_numbers(empty: Scratch) -> None:
    (empty.root / "openspec/changes").mkdir(parents=True)
    assert "openspec/changes/add-login/proposal.md" in empty.spool("new", "Add login").stdout
    assert "openspec/changes/add-login-2/tasks.md" in empty.spool("new", "Add login").stdout
    assert "have no module" in empty.spool("new", "x", "--module", "1").stderr


def test_from_a_plan(empty: Scratch) -> None:
    (empty.root / "PRD.md").write_text("# Login\n\nWhy not.\n\n## Form\n- write it\n- test it\n## Later\n- more\n")
    done = empty.spool("new", "--from", "PRD.md")
    folder = empty.root / ".spool/changes/001-01_login"
    assert "2 tasks found" in done.stdout
    assert (folder / "tasks.md").read_text() == "## 1. Form\n\n- [ ] 1.1 write it\n- [ ] 1.2 test it\n"
    assert (folder / "proposal.md").read_text() == "# Login\n\nWhy not.\n\n## Later\n- more\n"


def test_from_standard_input_and_from_a_text_without_a_list(empty: Scratch) -> None:
    text = empty.home / "issue.txt"
    text.write_text("It crashes when I click.\n")
    with text.open() as stdin:
        done = empty.spool("new", "Fix the crash", "--from", "-", stdin=stdin)
    assert "No list of tasks was found" in done.stdout
    folder = empty.root / ".spool/changes/001-01_fix-the-crash"
    assert (folder / "proposal.md").read_text() == "# Fix the crash\n\nIt crashes when I click.\n"
    with text.open() as stdin:
        assert "a title is required" in empty.spool("new", "--from", "-", stdin=stdin).stderr


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "a title is required"),
        (("--from", "NONE.md"), "cannot read NONE.md"),
        (("--from", "EMPTY.md"), "EMPTY.md is empty"),
        (("--from", "LATIN.md"), "LATIN.md is not UTF-8"),
        (("a", "--module", "x"), "is not the number of a module"),
    ],
)
def test_what_it_refuses(empty: Scratch, words: tuple[str, ...], complaint: str) -> None:
    (empty.root / "EMPTY.md").write_text("\n")
    (empty.root / "LATIN.md").write_bytes(b"\xe9\n")
    done = empty.spool("new", *words)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert not (empty.root / ".spool").exists()


def test_on_a_terminal_it_asks_for_the_title_and_opens_the_editor(empty: Scratch) -> None:
    empty.agent("import sys\nopen(sys.argv[2], 'a').write('- edited\\n')\n", "myeditor")
    with terminal(empty, EDITOR="myeditor -w") as shown:
        shown.spool("new")
        shown.until_shown("What is to be done?")
        shown.keys("L", "o", "g", "Enter")
        shown.until_shown("Next:", "spool run 001-01_log")
    assert "- edited" in (empty.root / ".spool/changes/001-01_log/proposal.md").read_text()
