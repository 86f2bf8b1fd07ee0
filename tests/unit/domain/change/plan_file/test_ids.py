"""The ids of plan files."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spool.domain.change.change import is_id
from spool.domain.change.plan_file.ids import plan_id, plan_path

PART = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1, max_size=5).filter(
    lambda part: part not in (".", "..")
)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("PLAN.md", "PLAN.md"),
        ("docs/PLAN.md", "docs_-PLAN.md"),
        ("my_plan.markdown", "my_plan.markdown"),
        (".claude/plans/a b.md", "0_...claude_-plans_-a_.20b.md"),
    ],
)
def test_ids_are_readable(path: str, name: str) -> None:
    assert plan_id(path) == name
    assert plan_path(name) == path


@settings(deadline=None)
@given(st.lists(PART, min_size=1, max_size=3))
def test_the_path_can_be_read_from_the_id(parts: list[str]) -> None:
    path = "/".join([*parts, "p.md"])
    assert plan_path(plan_id(path)) == path
    assert is_id(plan_id(path)) or len(plan_id(path)) > 120


@pytest.mark.parametrize("name", ["add-auth", "_-etc.md", "a_-.._-b.md", "a_.ffb.md", "a_.00.md"])
def test_other_ids_are_no_plans(name: str) -> None:
    assert plan_path(name) is None
