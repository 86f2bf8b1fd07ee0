"""Keeps what a person wrote in a change apart from what agents made of it."""

from collections.abc import Callable

import msgspec

from spool.domain.gates.boxes import Ledger, after_acceptance, after_agent, after_person, honest
from spool.domain.story import Story, StoryList


class TaskBook:
    """The boxes that a person left open, and the change's texts before the first agent."""

    def __init__(self, load: Callable[[], Ledger], save: Callable[[Ledger], None]) -> None:
        self._load = load
        self._save = save
        self._ledger: Ledger | None = None

    @property
    def ledger(self) -> Ledger:
        """The current ledger."""
        if self._ledger is None:
            self._ledger = self._load()
        return self._ledger

    @property
    def texts(self) -> str:
        """The change's texts before the first agent."""
        return self.ledger.texts

    def before_agent(self, stories: StoryList, texts: str = "") -> None:
        """Take what changed since the last look as a person's work."""
        ledger = after_person(self.ledger, stories)
        self._keep(ledger if ledger.texts else msgspec.structs.replace(ledger, texts=texts))

    def after_agent(self, stories: StoryList) -> None:
        """Take what changed since the last look as an agent's work, or Spool's own."""
        self._keep(after_agent(self.ledger, stories))

    def accept(self, story: Story) -> None:
        """Note the tasks of an accepted story that have no box."""
        if story.boxless:
            self._keep(after_acceptance(self.ledger, story))

    def honest(self, stories: StoryList) -> StoryList:
        """Return the stories with every box open that only an agent closed without ticking it."""
        return honest(self.ledger, stories)

    def _keep(self, ledger: Ledger) -> None:
        if ledger != self._ledger:
            self._save(ledger)
        self._ledger = ledger
