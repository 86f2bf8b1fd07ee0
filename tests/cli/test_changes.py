"""`spool list`, `show`, `validate` and `archive`."""

import json
from pathlib import Path

from tests.support import CHANGE, Scratch
from tests.support.terminal import terminal


def openspec(scratch: Scratch, source: str) -> Path:
    """Make an OpenSpec change, and a command that notes how it is called."""
    folder = scratch.root / "openspec/changes/add-auth"
    folder.mkdir(parents=True)
    (folder / "proposal.md").write_text("# Add auth\n\nPeople log in.\n")
    (folder / "tasks.md").write_text("## 1. Form\n- [x] 1.1 Write\n")
    called = scratch.home / "called"
    scratch.agent(f"import sys\nopen({str(called)!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n')\n{source}", "openspec")
    return called


def test_list_has_changes_with_their_tasks_and_loops(scratch: Scratch) -> None:
    scratch.script([{"tick": 1}, {"promise": "COMPLETE"}])
    scratch.ralph("Do it", "--harness", "scripted")
    done = scratch.spool("list")
    assert CHANGE in done.stdout and "1/2" in done.stdout and "done" in done.stdout and "ralph loop" in done.stdout
    [row] = json.loads(scratch.spool("list", "--json").stdout)["changes"]
    assert (row["id"], row["done"], row["loop"]["status"]) == (CHANGE, 1, "done")


def test_the_same_id_in_both_sources_is_said(scratch: Scratch) -> None:
    other = scratch.root / "openspec" / "changes" / CHANGE
    other.mkdir(parents=True)
    (other / "proposal.md").write_text("# Another\n")
    said = f"openspec/changes/{CHANGE} is not read: .spool/changes/{CHANGE} has the same id"
    listed = scratch.spool("list")
    assert (listed.returncode, listed.stderr) == (0, f"spool: {said}\n")
    assert said in scratch.spool("validate", CHANGE).stdout
    scratch.script([{"promise": "COMPLETE"}])
    assert f"warning: {said}" in scratch.ralph("Go", "--harness", "scripted").stdout


def test_list_fits_a_narrow_terminal(scratch: Scratch) -> None:
    with terminal(scratch, width=60) as shown:
        shown.spool("list")
        shown.until_shown("TASKS", "0/2", "Add the ralph loop")


def test_list_without_changes_says_what_is_next(scratch: Scratch) -> None:
    scratch.spool("archive", CHANGE, "--yes")
    assert "spool new" in scratch.spool("list").stdout


def test_show_has_the_proposal_the_tasks_and_the_loop(scratch: Scratch) -> None:
    scratch.script([{"promise": "COMPLETE"}])
    scratch.ralph("Do it", "--harness", "scripted")
    shown = scratch.spool("show").stdout
    assert "A loop that runs an agent" in shown and "[ ] 1.1 Write the loop" in shown and "ralph, done" in shown
    assert json.loads(scratch.spool("show", "2-1", "--json").stdout)["stories"][0]["title"] == "Loop"
    (scratch.root / "PLAN.md").write_text("## Form\n- [ ] write it\n")
    assert "[ ] 1.1 write it" in scratch.spool("show", "PLAN.md").stdout


def test_show_answers_what_stories_and_validate_did(scratch: Scratch) -> None:
    shown = scratch.spool("show").stdout
    assert f"{CHANGE}: ready, with 1 remark" in shown and "no check is configured" in shown
    as_json = json.loads(scratch.spool("show", "--json").stdout)
    assert (as_json["completed"], as_json["total"], as_json["next"], as_json["stories"][0]["complete"]) == (
        0,
        1,
        "1",
        False,
    )
    assert [one["serious"] for one in as_json["findings"]] == [False]
    (scratch.change / "proposal.md").write_text("# Empty\n")
    for words in (("show", "--check"), ("show", CHANGE, "--check", "--json")):
        checked = scratch.spool(*words)
        validated = scratch.spool("validate", *(word for word in words[1:] if word != "--check"))
        assert (checked.returncode, checked.stdout) == (1, validated.stdout)
    assert scratch.spool("show").returncode == 0


def test_validate_says_what_is_missing(scratch: Scratch) -> None:
    done = scratch.spool("validate")
    assert (done.returncode, "no check is configured" in done.stdout) == (0, True)
    (scratch.change / "proposal.md").write_text("# Empty\n")
    done = scratch.spool("validate", CHANGE, "--json")
    assert done.returncode == 1
    assert [one["serious"] for one in json.loads(done.stdout)[CHANGE]] == [True, False]
    (scratch.change / "proposal.md").unlink()
    done = scratch.spool("validate")
    assert (done.returncode, "has no proposal.md" in done.stdout) == (1, True)


def test_validate_takes_a_plan(scratch: Scratch) -> None:
    (scratch.root / "PLAN.md").write_text("".join(f"- [ ] task {number}\n" for number in range(30)))
    done = scratch.spool("validate", "PLAN.md")
    assert done.returncode == 0
    assert "no groups" in done.stdout and "has 30 tasks" in done.stdout


def test_validate_asks_openspec_about_its_changes(scratch: Scratch) -> None:
    called = openspec(scratch, "import os\nprint('no scenario' + os.environ['OPENSPEC_TELEMETRY'])\nsys.exit(1)\n")
    done = scratch.spool("validate", "add-auth")
    assert (done.returncode, "openspec: no scenario0" in done.stdout) == (1, True)
    assert called.read_text() == "validate add-auth --strict --no-interactive\n"


def test_archive_moves_a_change_with_the_date(scratch: Scratch) -> None:
    refused = scratch.spool("archive", CHANGE)
    assert (refused.returncode, "has 2 open tasks" in refused.stderr) == (2, True)
    (scratch.change / "tasks.md").write_text("- [x] all\n")
    done = scratch.spool("archive", CHANGE)
    assert done.returncode == 0, done.stderr
    [moved] = (scratch.root / ".spool/changes/archive").iterdir()
    assert moved.name.endswith(f"-{CHANGE}") and (moved / "proposal.md").exists()
    assert "is archived as" in scratch.spool("show", CHANGE).stderr


def test_archive_of_an_openspec_change_is_openspecs(scratch: Scratch) -> None:
    called = openspec(scratch, "print('merged')\n")
    done = scratch.spool("archive", "add-auth")
    assert (done.returncode, done.stdout) == (0, "merged\n")
    assert called.read_text() == "archive add-auth --yes\n"
    (scratch.bin / "openspec").unlink()
    done = scratch.spool("archive", "add-auth", env={"PATH": "/usr/bin:/bin"})
    assert "openspec is not installed" in done.stderr


def test_archive_asks_on_a_terminal_and_refuses_plans(scratch: Scratch) -> None:
    with terminal(scratch) as shown:
        shown.spool("archive", CHANGE)
        shown.until_shown("Archive it?")
        shown.keys("n", "Enter")
        shown.type("echo", "left")
        shown.until_shown("left")
    assert scratch.change.exists()
    (scratch.root / "PLAN.md").write_text("- [x] a\n")
    assert "is a plan file of yours" in scratch.spool("archive", "PLAN.md").stderr
