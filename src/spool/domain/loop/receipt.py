"""The receipt of a loop: time, tokens and cost, in total and per iteration, story and proved story.

The loop adds each iteration and each wait as it ends, and every view shows the result.
"""

from typing import TYPE_CHECKING

import msgspec

from spool.domain.agent.stream import Usage
from spool.domain.judging.gates.gate import Proof

if TYPE_CHECKING:  # a loop's summary holds a receipt, and an iteration's record stands above both
    from spool.domain.loop.state import IterationRecord


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """An average; None if unknown."""

    seconds: float
    tokens: float | None
    cost_usd: float | None


class StoryReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """The use of one story, in all its attempts."""

    id: str
    iterations: int = 0
    agent_s: float = 0.0
    gates_s: float = 0.0
    usage: Usage = Usage()
    done: bool = False
    proved: bool = False
    """Whether the gates proved that it is done."""

    def with_iteration(self, record: "IterationRecord") -> "StoryReceipt":
        """Add an iteration."""
        return StoryReceipt(
            id=self.id,
            iterations=self.iterations + 1,
            agent_s=round(self.agent_s + record.duration_s, 3),
            gates_s=round(self.gates_s + record.gates_s, 3),
            usage=self.usage + record.usage,
            done=record.accepted,
            proved=record.accepted and record.proof is Proof.PROVED,
        )


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """The use of a loop, in all its runs."""

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

    def with_iteration(self, record: "IterationRecord") -> "Receipt":
        """Add an iteration."""
        usage = record.usage
        added = msgspec.structs.replace(
            self,
            iterations=self.iterations + 1,
            agent_s=round(self.agent_s + record.duration_s, 3),
            gates_s=round(self.gates_s + record.gates_s, 3),
            usage=self.usage + usage,
            unpriced=self.unpriced + bool(usage.tokens and usage.cost_usd is None),
            stories=self.stories
            if record.story_id is None
            else _with_story(self.stories, self.of_story(record.story_id).with_iteration(record)),
        )
        return _averaged(added)

    def of_story(self, story_id: str) -> StoryReceipt:
        """Return what one story has taken so far."""
        return next((story for story in self.stories if story.id == story_id), StoryReceipt(id=story_id))

    def with_story_done(self, story_id: str, proof: Proof | None) -> "Receipt":
        """Mark a story as done, if its last iteration did not."""
        before = self.of_story(story_id)
        if before.done:
            return self
        story = msgspec.structs.replace(before, done=True, proved=proof is Proof.PROVED)
        return _averaged(msgspec.structs.replace(self, stories=_with_story(self.stories, story)))

    def with_wait(self, seconds: float) -> "Receipt":
        """Add the time of a wait."""
        return _averaged(msgspec.structs.replace(self, waits_s=round(self.waits_s + seconds, 3)))


def _with_story(stories: tuple[StoryReceipt, ...], story: StoryReceipt) -> tuple[StoryReceipt, ...]:
    if all(one.id != story.id for one in stories):
        return (*stories, story)
    return tuple(story if one.id == story.id else one for one in stories)


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
