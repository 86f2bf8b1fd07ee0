"""Moments: as files hold them, and as a person types one."""

from datetime import datetime, timedelta
from typing import Annotated

import msgspec

from spool.domain.text.durations import seconds
from spool.domain.text.plain_text import one_line

Moment = Annotated[datetime, msgspec.Meta(tz=True)]
"""A time with its zone: one without cannot be compared with others, and only a forged file has one."""
_MIDNIGHT = {"hour": 0, "minute": 0, "second": 0, "microsecond": 0}


def moment_of(text: str, now: datetime) -> datetime:
    """Parse `today`, `yesterday`, a duration like `12h`, or a date and time; `now` is local."""
    word = text.strip().lower()
    if word in ("today", "yesterday"):
        day = now - timedelta(days=word == "yesterday")
        return day.replace(**_MIDNIGHT)  # type: ignore[arg-type]
    try:
        found = datetime.fromisoformat(text.strip())
        return found if found.tzinfo is not None else found.replace(tzinfo=now.tzinfo)
    except ValueError:
        pass
    try:
        return now - timedelta(seconds=seconds(word))
    except ValueError:
        what = f"'{one_line(text, 40)}' is not a moment like yesterday, 12h or 2026-03-02"
        raise ValueError(what) from None
