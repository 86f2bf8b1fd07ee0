"""What a gate leaves is read as its results, and nothing else is."""

import os
from pathlib import Path

import pytest

from spool.domain.judging.gates.gate import GateSpec
from spool.host.gates.result_files import GateResults

JUNIT = '<testsuite tests="1"><testcase classname="a" name="b"/></testsuite>'


def leave(path: Path, what: str, elsewhere: Path) -> None:
    """Leave something at a path, as the agent's code in a gate could."""
    elsewhere.write_text(JUNIT)
    match what:
        case "results":
            path.write_text(JUNIT)
        case "a link":
            path.symlink_to(elsewhere)
        case "a pipe":
            os.mkfifo(path)
        case _:
            with path.open("w") as file:
                file.truncate(1 << 40)


@pytest.mark.parametrize(("what", "read"), [("results", True), ("a link", False), ("a pipe", False), ("huge", False)])
@pytest.mark.parametrize("where", ["in the scratch folder", "in the project"])
def test_links_pipes_and_huge_files_are_not_read(tmp_path: Path, where: str, what: str, read: bool) -> None:
    scratch, project = tmp_path / "scratch", tmp_path / "project"
    for folder in (scratch, project):
        folder.mkdir()
    (tmp_path / "log").write_text("")
    named = "results.xml" if where == "in the project" else "auto"
    report = GateResults(GateSpec(name="tests", run="true", results=named), project)
    leave((project if named != "auto" else scratch) / "results.xml", what, tmp_path / "private.xml")
    found = report.read(str(scratch), tmp_path / "log")
    if where == "in the project":
        assert found is not None
        assert bool(found.complete) is read
    elif not read:
        assert found is not None
        assert not found.complete
