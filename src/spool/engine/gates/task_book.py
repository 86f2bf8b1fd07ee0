"""Keeps what a person wrote in a change apart from what agents made of it."""

from collections.abc import Callable

import msgspec

from spool.domain.change.story import Story, StoryList
from spool.domain.judging.gates.boxes import (
    BoxLedger,
    after_acceptance,
    after_agent,
    after_person,
    closed_by_person,
    honest,
)


class TaskBook:
    """The boxes that a person left open, and the change's texts before the first agent."""

    def __init__(self, load: Callable[[], BoxLedger], save: Callable[[BoxLedger], None]) -> None:
        self._load = load
        self._save = save
        self._ledger: BoxLedger | None = None

    @property
    def ledger(self) -> BoxLedger:
        """The current ledger."""
        if self._ledger is None:
            self._ledger = self._load()
        return self._ledger

    @property
    def texts(self) -> str:
        """The change's texts before the first agent."""
        return self.ledger.texts

    def before_agent(self, stories: StoryList, texts: str = "") -> None:
        """Attribute the changes since the last look to a person."""
        ledger = after_person(self.ledger, stories)
        self._keep(ledger if ledger.texts else msgspec.structs.replace(ledger, texts=texts))

    def after_agent(self, stories: StoryList) -> None:
        """Attribute the changes since the last look to an agent, or to Spool."""
        self._keep(after_agent(self.ledger, stories))

    def accept(self, story: Story) -> None:
        """Note the tasks of an accepted story that have no box."""
        if story.boxless:
            self._keep(after_acceptance(self.ledger, story))

    def closed(self, story_id: str, stories: StoryList) -> bool:
        """Whether a person closed every box of a story, which needs no agent then."""
        return closed_by_person(self.ledger, stories, story_id)

    def honest(self, stories: StoryList) -> StoryList:
        """Return the stories with every box open that only an agent closed without ticking it."""
        return honest(self.ledger, stories)

    def _keep(self, ledger: BoxLedger) -> None:
        if ledger != self._ledger:
            self._save(ledger)
        self._ledger = ledger
