"""A plan's memory, one kind per plan. It is saved with the loop: a killed run continues exactly where it stopped."""

from enum import StrEnum
from typing import Any, TypeVar

import msgspec

from spool.decoders import converted, decoded
from spool.domain.judging.gates.gate import Proof

_PLAN = "plan"
_Loop = TypeVar("_Loop", bound=msgspec.Struct)


class StoryState(msgspec.Struct, frozen=True, kw_only=True):
    """The story a loop works on, and how many are complete."""

    id: str
    title: str
    current: int
    total: int
    completed: int
    attempt: int = 1

    @property
    def label(self) -> str:
        """The story's name in checkpoints."""
        return f"story {self.id}, {self.title}"


class Due(StrEnum):
    """The work that a verdict requires on the tree and that is not done yet."""

    NOTHING = ""
    REVERT = "revert"
    KEEP = "keep"
    """Save the refused work as the checkpoint of the next attempt."""
    ACCEPT = "accept"


class LoopMemory(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field=_PLAN):
    """What every plan remembers."""

    refusal: str = ""
    """Why the agent's last COMPLETE did not count, for the next prompt."""
    failed_commits: int = 0
    uncommitted: str = ""
    """The hook's output if it refused the last commit, for the next prompt."""
    fingerprint: str = ""
    """The tree's fingerprint at the end of the run; another one shows a person's edits."""
    base: str = ""
    """The recorded tree in which the loop, or the story, began; gates compare with it."""
    left: str = ""
    """The recorded tree at the end of the last run; what differs from it later is a person's."""
    unverifiable: int = 0
    """Consecutive claims that could not be checked because a gate no longer starts."""
    asking: int = 0
    """Consecutive claims whose only objection is for a person to decide."""
    leavings: tuple[str, ...] = ()
    """Untracked files that gates left behind, which are not committed."""
    proof: Proof | None = None
    """The proof of all accepted work."""
    evidence: str = ""
    """Why, in one line."""
    begun: bool = False
    """Whether the tree before the run is kept, for a person to go back to."""


class PromptMemory(LoopMemory, frozen=True, kw_only=True, omit_defaults=True, tag="prompt"):
    """The memory of a plan that repeats one prompt."""

    idle: int = 0
    """Consecutive iterations without progress."""
    failing: int | None = None
    """The number of tests that refused the last claim; fewer are progress."""
    seen: tuple[str, ...] = ()
    """Hashes of recent trees; returning to one of them does not count as progress."""
    changed: bool = False
    """Whether any iteration of the loop changed files, or may have."""


class StoryMemory(LoopMemory, frozen=True, kw_only=True, omit_defaults=True, tag="stories"):
    """The memory of a plan that works story by story."""

    story: StoryState | None = None
    retries: int = 0
    """Retries of the current story."""
    own_words: str = ""
    """Why the last attempt failed, in the agent's own words, for the next prompt."""
    unaccepted: str = ""
    """The story that was begun: until a claim is accepted, or a person closes its boxes, it is not done."""
    due: Due = Due.NOTHING
    accepted: Proof | None = None
    """The proof of the story that was just accepted."""

    def for_next_story(self) -> "StoryMemory":
        """Return the memory after a story: what holds for the whole change."""
        return StoryMemory(
            story=self.story,
            base=self.base,
            left=self.left,
            proof=self.proof,
            evidence=self.evidence,
            leavings=self.leavings,
            failed_commits=self.failed_commits,
            uncommitted=self.uncommitted,
            fingerprint=self.fingerprint,
            begun=self.begun,
        )


PlanMemory = PromptMemory | StoryMemory


def due_in(memory: PlanMemory) -> Due:
    """Return the work on the tree that is due; one prompt leaves none."""
    return memory.due if isinstance(memory, StoryMemory) else Due.NOTHING


def merged(names: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    """Return both, without repetition."""
    return tuple(dict.fromkeys((*names, *more)))


def loop_in(data: bytes | str, kind: type[_Loop]) -> _Loop:
    """Return the state or the summary of a loop in a JSON text.

    A memory that an earlier version wrote does not name its plan: only `run` has stories.
    """
    try:
        return decoded(data, kind)
    except msgspec.ValidationError:
        found = decoded(data, dict[str, Any])
        memory = found.get("memory")
        if not isinstance(memory, dict) or _PLAN in memory:
            raise
        memory[_PLAN] = "stories" if found.get("door") == "run" else "prompt"
        return converted(found, kind)
