"""All cases."""

from __future__ import annotations

from . import honest_other, honest_pytest, liars_boxes, liars_git, liars_other, liars_pytest, liars_settings
from .case import Case

CASES: tuple[Case, ...] = (
    *liars_pytest.CASES,
    *liars_settings.CASES,
    *liars_boxes.CASES,
    *liars_git.CASES,
    *liars_other.CASES,
    *honest_pytest.CASES,
    *honest_other.CASES,
)
