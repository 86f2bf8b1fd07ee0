"""Lands changes on a branch, one after the other: rebased, checked on the result, moved, and only then called landed.

Each step is a process that may be killed. Before the target moves, the move is on disk; the next landing reads it and
finishes or undoes it before it does anything else. Everything earlier happens in a throwaway clone.
"""

import asyncio
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from spool.app.landing.archive import require_archiver
from spool.app.landing.attempt import Attempts, LandRequest, LandView
from spool.app.landing.candidates import Candidates
from spool.app.landing.checks import spec_for
from spool.app.landing.moves import Moves
from spool.app.landing.preview import LandingPreview
from spool.app.landing.repairs import Repairs, RepairStopped, is_repair
from spool.app.starting.runner import Observe
from spool.domain.account.landing_order import (
    MENDABLE,
    Candidate,
    Fate,
    Landing,
    Train,
    missing_dependency,
    trained,
    unready,
)
from spool.errors import Hint, UsageError
from spool.host.clock import SystemClock
from spool.host.git.landing.rehearsal import remove_throwaways
from spool.host.git.landing.target_branch import Target, landing_lock
from spool.host.git.repository import Repository, find_repository
from spool.host.state.landings import Landings

_DEFAULTS = ("main", "master")
_UNCHECKED = "no check is configured, so nothing would verify what lands"


def land(request: LandRequest, view: LandView, observe: Observe = lambda _: ()) -> Train:
    """Land changes and return what became of each; `observe` creates the observers of the agents that mend them."""
    repository = find_here(request.root)
    with landing_lock(repository) as lock:
        return _LandingRun(request=request, view=view, observe=observe, repository=repository, lock=lock).run()


def landings_of(root: Path) -> list[Landing]:
    """Return the last landing of each change of a repository, oldest first."""
    return Landings(find_here(root).common_dir).all()


def find_here(root: Path) -> Repository:
    """Return the repository around a directory; raise a UsageError if there is none."""
    found = asyncio.run(find_repository(root, timeout_s=60))
    if isinstance(found, Repository):
        return found
    raise UsageError(f"changes land in a git repository: {found.why}")


@dataclass(kw_only=True)
class _LandingRun:
    request: LandRequest
    view: LandView
    observe: Observe
    repository: Repository
    lock: int
    clock: SystemClock = field(default_factory=SystemClock)

    def __post_init__(self) -> None:
        self._records = Landings(self.repository.common_dir)
        self._timeout_s = self.request.settings.command_timeout
        self._moves = Moves(self.repository, self._records, self.lock, self.clock, timeout_s=self._timeout_s)
        self._target = self._find_target()
        self._preview = LandingPreview(self.repository)
        self._attempts = Attempts(
            request=self.request,
            view=self.view,
            repository=self.repository,
            target=self._target,
            records=self._records,
            moves=self._moves,
            clock=self.clock,
            preview=self._preview,
        )
        self._fates: dict[str, Fate] = {}
        self._ended: list[Landing] = []

    def run(self) -> Train:
        """Settle what an earlier landing left, then land each change in turn."""
        if not self.request.dry_run:
            remove_throwaways(self.repository)
            if settled := self._moves.settle():
                self.view.ended(settled)
        candidates = self._candidates()
        chosen = candidates.named(self.request.names) if self.request.names else self._finished(candidates)
        unlanded = {one.change for one in candidates.all() if one.branch and not self._attempts.has_landed(one)}
        self._require_sense(chosen)
        with closing(self._preview):
            for candidate in trained(chosen):
                why = self._unready(candidate) or missing_dependency(candidate, self._fates, unlanded)
                landing = self._refused(candidate, why) if why else self._attempts.land(candidate)
                self._end(self._mended(candidate, self._begun_repair(candidate) or landing))
                if self._fates[candidate.change] is Fate.STOPPED:
                    break
        return Train(onto=self._target.onto, target=self._at(), landings=tuple(self._ended))

    def _candidates(self) -> Candidates:
        return Candidates(self.repository, self.request.root)

    def _unready(self, candidate: Candidate) -> str:
        why = unready(candidate, allow_unverified=self.request.allow_unverified)
        return why or self._unchecked(candidate)

    def _mended(self, candidate: Candidate, landing: Landing) -> Landing:
        """Let the agent repair a conflict or a red check, and retry."""
        repair = self.request.repair and not self.request.dry_run
        most = self.request.settings.max_repairs if repair else 0
        for number in range(1, most + 1):
            if landing.fate not in MENDABLE:
                break
            self._record(landing)
            self.view.step(candidate.change, f"{landing.fate}: {landing.why}")
            self.view.step(candidate.change, f"repair {number} of {most}")
            try:
                problem = self._repairs.mend(candidate, landing)
            except RepairStopped:
                return self._attempts.outcome(candidate, Fate.STOPPED, why="stopped on request", repairs=number)
            (candidate,) = self._candidates().named([candidate.change])
            if problem or (problem := self._unready(candidate)):
                return msgspec.structs.replace(landing, why=f"{landing.why}; not repaired: {problem}", repairs=number)
            landing = msgspec.structs.replace(self._attempts.land(candidate), repairs=number)
        return landing

    def _begun_repair(self, candidate: Candidate) -> Landing | None:
        """Return why a change did not land if its agent was stopped while it mended that."""
        found = self._records.of(candidate.change) if self.request.repair and not candidate.finished else None
        return found if found and found.fate in MENDABLE and is_repair(candidate) else None

    @property
    def _repairs(self) -> Repairs:
        return Repairs(
            root=self.request.root,
            settings=self.request.settings,
            target=self._target,
            observe=self.observe,
            show=self.request.show,
            note=self.view.step,
        )

    def _find_target(self) -> Target:
        names = (self.request.onto,) if self.request.onto else _DEFAULTS
        for name in names:
            target = Target(self.repository, name, self.lock, timeout_s=self._timeout_s)
            if asyncio.run(target.commit()):
                return target
        raise UsageError(f"there is no branch {' or '.join(names)} to land on", hint=Hint.NAME_TARGET)

    def _finished(self, candidates: Candidates) -> list[Candidate]:
        return [one for one in candidates.all() if one.branch and one.finished and not self._attempts.has_landed(one)]

    def _require_sense(self, chosen: list[Candidate]) -> None:
        for candidate in chosen:
            if self.request.archive:
                require_archiver(candidate.source)
        if chosen and all(map(self._unchecked, chosen)):
            raise UsageError(_UNCHECKED, hint=Hint.ADD_GATE)

    def _unchecked(self, candidate: Candidate) -> str:
        """Return why a change cannot land if no check would verify it."""
        gates = spec_for(candidate, self.request.root, self.request.settings).gates
        return "" if gates or self.request.allow_unverified else _UNCHECKED

    def _refused(self, candidate: Candidate, why: str) -> Landing:
        if not candidate.branch or not self._attempts.has_landed(candidate):
            return self._attempts.outcome(candidate, Fate.NOT_READY, why=why)
        return self._attempts.outcome(candidate, Fate.ALREADY)

    def _end(self, landing: Landing) -> None:
        self._fates[landing.change] = landing.fate
        self._ended.append(landing)
        self._record(landing)
        self.view.ended(landing)

    def _record(self, landing: Landing) -> None:
        tried = landing.fate not in (Fate.NOT_READY, Fate.ALREADY, Fate.STOPPED)
        if tried and not self.request.dry_run:
            self._records.record(landing)

    def _at(self) -> str:
        return asyncio.run(self._target.commit())
