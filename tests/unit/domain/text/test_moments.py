"""How a person names a moment in the past."""

from datetime import datetime, timedelta, timezone

import pytest

from spool.domain.text.moments import moment_of

ZONE = timezone(timedelta(hours=2))
NOW = datetime(2026, 3, 2, 7, 30, tzinfo=ZONE)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("today", datetime(2026, 3, 2, tzinfo=ZONE)),
        ("Yesterday", datetime(2026, 3, 1, tzinfo=ZONE)),
        ("12h", datetime(2026, 3, 1, 19, 30, tzinfo=ZONE)),
        ("2d", datetime(2026, 2, 28, 7, 30, tzinfo=ZONE)),
        ("2026-02-01", datetime(2026, 2, 1, tzinfo=ZONE)),
        ("2026-02-01 18:00", datetime(2026, 2, 1, 18, tzinfo=ZONE)),
        ("2026-02-01T18:00:00+00:00", datetime(2026, 2, 1, 20, tzinfo=ZONE)),
    ],
)
def test_moments(text: str, moment: datetime) -> None:
    assert moment_of(text, NOW) == moment


@pytest.mark.parametrize("text", ["", "soon", "tomorrow", "-1h", "2026-13-01"])
def test_what_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="is not a moment like yesterday"):
        moment_of(text, NOW)
