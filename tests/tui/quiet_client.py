"""A client whose loops do nothing by themselves."""

from typing import Any

from spool.app.loops.client import Client
from spool.domain.loop.settings import Settings
from spool.domain.loop.summary import LoopSummary
from spool.sources.project import Project
from tests.support.scene import loop_in


class QuietClient(Client):
    """The real client, which starts, stops and forces nothing but remembers that it was asked."""

    def __init__(self, project: Project, settings: Settings) -> None:
        super().__init__(project, settings)
        self.asked: list[tuple[str, Any]] = []
        self.owns = True
        """Whether the screen started the loops that it shows."""

    async def start(self, change: str, settings: Settings, *, on_resume: str = "") -> LoopSummary:
        self.asked.append(("start", settings))
        return loop_in(self._project.root, change)

    def has_started(self, loop: LoopSummary) -> bool:
        return self.owns

    def stop(self, loop: LoopSummary) -> bool:
        self.asked.append(("stop", loop))
        return True

    def force(self, loop: LoopSummary) -> None:
        self.asked.append(("force", loop))
