"""In what the front doors differ: what comes next, and how it is judged. Everything else is the loop's."""

from typing import Protocol

import msgspec

from spool.domain.events import Event
from spool.domain.outcome import Outcome
from spool.domain.state import StoryState
from spool.domain.stream import StreamEvent
from spool.domain.verdict import Finish, Limits, Tally, Verdict


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where in the loop the next iteration is."""

    iteration: int
    run_iteration: int


class Plan(Protocol):
    """What a loop does."""

    @property
    def promise(self) -> str:
        """The text that means completion."""
        ...

    @property
    def limits(self) -> Limits:
        """When to give up."""
        ...

    @property
    def story(self) -> StoryState | None:
        """The story that is being worked on, if the plan has stories."""
        ...

    async def prepare(self, place: Place) -> str | Finish:
        """Get everything ready and return what the agent gets to read, or say that there is nothing left to do."""
        ...

    def tell(self, place: Place, event: StreamEvent) -> Event:
        """Return the event that reports what the agent said or did."""
        ...

    async def judge(self, outcome: Outcome, tally: Tally) -> Verdict:
        """Look at what the agent left, and decide what follows."""
        ...

    def conclude(self, finish: Finish) -> Finish:
        """Have the last word on how the run ends, a stop included."""
        ...

    async def close(self, finish: Finish) -> str:
        """The loop ends: clean up, and return where unfinished work is kept, if anywhere."""
        ...
