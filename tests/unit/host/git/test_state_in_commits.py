"""Files of Spool's own state in the commits of an agent."""

import pytest

from spool.host.git.workspaces.delivery import first_of_state


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        (["a.txt", ".spool/.state/run/x/state.json"], ".spool/.state/run/x/state.json"),
        (["part/.spool/.state/x"], "part/.spool/.state/x"),
        ([".spool/.state"], ".spool/.state"),
        ([".spool"], ".spool"),
        (["part/.spool"], "part/.spool"),
        ([".spool/changes/x/tasks.md", "x.spool", ".spool.md", ".state", ""], ""),
    ],
)
def test_the_first_path_that_is_or_holds_the_state(paths: list[str], found: str) -> None:
    assert first_of_state("\0".join(paths)) == found
