"""The receipt of a loop: time, tokens and cost, in total and per iteration, story and proved story.

The loop adds each iteration and each wait as it ends, and every view shows the result.
"""

from typing import TYPE_CHECKING

import msgspec

from spool.domain.gates.values import Proof
from spool.domain.stream import Usage

if TYPE_CHECKING:  # a loop's summary holds a receipt, and an iteration's record stands above both
    from spool.domain.state import IterationRecord


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """An average; None if unknown."""

    seconds: float
    tokens: float | None
    cost_usd: float | None


class StoryReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """What one story has taken, in all its attempts."""

    id: str
    iterations: int = 0
    agent_s: float = 0.0
    gates_s: float = 0.0
    usage: Usage = Usage()
    done: bool = False
    proved: bool = False
    """Whether the gates proved that it is done."""


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """What a loop has taken, in all its runs."""

    iterations: int = 0
    agent_s: float = 0.0
    gates_s: float = 0.0
    waits_s: float = 0.0
    usage: Usage = Usage()
    unpriced: int = 0
    """Iterations that used tokens at an unknown cost; the total cost is without them."""
    stories: tuple[StoryReceipt, ...] = ()
    per_iteration: Rate | None = None
    per_story: Rate | None = None
    """Per finished story; None while there is none."""
    per_proved_story: Rate | None = None

    @property
    def seconds(self) -> float:
        """The time of the agent, the gates and the waits together."""
        return self.agent_s + self.gates_s + self.waits_s

    def with_iteration(self, record: "IterationRecord", *, accepted: bool) -> "Receipt":
        """Add an iteration; `accepted` means that it finished its story."""
        usage = record.usage
        added = msgspec.structs.replace(
            self,
            iterations=self.iterations + 1,
            agent_s=round(self.agent_s + record.duration_s, 3),
            gates_s=round(self.gates_s + record.gates_s, 3),
            usage=self.usage + usage,
            unpriced=self.unpriced + bool(usage.tokens and usage.cost_usd is None),
            stories=_with_story(self.stories, record, accepted=accepted),
        )
        return _averaged(added)

    def with_wait(self, seconds: float) -> "Receipt":
        """Add the time of a wait."""
        return _averaged(msgspec.structs.replace(self, waits_s=round(self.waits_s + seconds, 3)))


def _with_story(
    stories: tuple[StoryReceipt, ...], record: "IterationRecord", *, accepted: bool
) -> tuple[StoryReceipt, ...]:
    if record.story_id is None:
        return stories
    before = next((story for story in stories if story.id == record.story_id), StoryReceipt(id=record.story_id))
    story = msgspec.structs.replace(
        before,
        iterations=before.iterations + 1,
        agent_s=round(before.agent_s + record.duration_s, 3),
        gates_s=round(before.gates_s + record.gates_s, 3),
        usage=before.usage + record.usage,
        done=accepted,
        proved=accepted and record.proof is Proof.PROVED,
    )
    if before not in stories:
        return (*stories, story)
    return tuple(story if one is before else one for one in stories)


def _averaged(receipt: Receipt) -> Receipt:
    done = sum(story.done for story in receipt.stories)
    proved = sum(story.proved for story in receipt.stories)
    return msgspec.structs.replace(
        receipt,
        per_iteration=_rate(receipt, receipt.iterations),
        per_story=_rate(receipt, done),
        per_proved_story=_rate(receipt, proved),
    )


def _rate(receipt: Receipt, count: int) -> Rate | None:
    if not count:
        return None
    tokens, cost = receipt.usage.tokens, receipt.usage.cost_usd
    return Rate(
        seconds=round(receipt.seconds / count, 3),
        tokens=None if tokens is None else round(tokens / count, 1),
        cost_usd=None if cost is None or receipt.unpriced else cost / count,
    )
