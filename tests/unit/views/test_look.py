"""The look is the one that docs/look.md describes, and can be read."""

import re
from pathlib import Path

import pytest

from spool.domain.account.stories import Mark, Standing
from spool.domain.gates.values import Proof
from spool.domain.verdict import Status
from spool.views.look import MARKS, PROOFS, STANDINGS, STATUSES, Role
from spool.views.report.style import PAGE

TEXT = (Path(__file__).parents[3] / "docs" / "look.md").read_text()


def test_every_state_has_a_look() -> None:
    assert (set(MARKS), set(STANDINGS), set(STATUSES), set(PROOFS)) == (
        set(Mark),
        set(Standing),
        set(Status),
        set(Proof),
    )


def test_the_page_lists_every_state_and_colour() -> None:
    for standing, (sign, role) in STANDINGS.items():
        assert f"| {standing} | {sign} | {role.name.lower()} |" in TEXT
    for role in Role:
        assert re.search(rf"\| {role.name.lower()} \|.*`{role.value.dark}` \| `{role.value.light}` \|", TEXT)


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("role", Role)
def test_every_colour_can_be_read_on_its_page(role: Role, theme: str) -> None:
    for ground in PAGE[theme][:2]:
        assert contrast(getattr(role.value, theme), ground) >= 4.5


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, as WCAG defines it."""
    darker, lighter = sorted(map(luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
