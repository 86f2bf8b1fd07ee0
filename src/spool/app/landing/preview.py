"""Rebases changes one onto the other as a landing would, in throwaway clones; nothing of the person's is written."""

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from spool.domain.account.landing_order import Candidate
from spool.host.git.landing.rehearsal import Rehearsal, throwaway
from spool.host.git.repository import Repository


@dataclass
class LandingPreview:
    """The target as it would be after landing some changes."""

    repository: Repository
    tips: list[str] = field(default_factory=list)
    """The branches of the changes that would land, before they are rebased."""
    _target: str = ""
    _last: Rehearsal | None = None
    """The clone that has the target as it would be."""

    async def rebase(self, candidate: Candidate, target: str, *, upstream: str) -> bool:
        """Rebase a change onto what would be the target; return whether anything is left of it; raise Conflict."""
        onto = self._target or target
        rehearsal = Rehearsal(self.repository, throwaway(self.repository))
        try:
            source = self._last.top / ".git" if self._last else None
            result = await rehearsal.rebase(candidate.change, candidate.tip, onto, upstream=upstream, source=source)
            await rehearsal.require_no_state(onto)
        except BaseException:
            _remove(rehearsal)
            raise
        self.close()
        self._target, self._last = result, rehearsal
        self.tips.append(candidate.tip)
        return result != onto

    def close(self) -> None:
        """Remove the last clone."""
        if self._last is not None:
            _remove(self._last)


def _remove(rehearsal: Rehearsal) -> None:
    home: Path = rehearsal.top.parent
    shutil.rmtree(home, ignore_errors=True)
