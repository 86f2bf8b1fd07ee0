"""Lands changes on a branch, one after the other: rebased, checked on the result, moved, and only then called landed.

Each step is a process that may be killed. Before the target moves, the move is on disk; the next landing reads it and
finishes or undoes it before it does anything else. Everything earlier happens in a throwaway clone.
"""

import asyncio
import secrets
import shutil
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from spool.app.archiving import archive_in_clone, require_archiver
from spool.app.landing_candidates import Candidates
from spool.app.landing_checks import check_result, place_of, spec_for, without_change
from spool.app.landing_moves import Moves
from spool.app.observers import Observer
from spool.app.signals import listening
from spool.domain.gates.values import refusal
from spool.domain.landing import (
    MOST_TRIES,
    Candidate,
    Fate,
    Landing,
    Move,
    Train,
    failing_tests,
    missing_dependency,
    trained,
    unready,
)
from spool.domain.settings import Settings
from spool.domain.spec import LoopSpec
from spool.domain.text import one_line
from spool.engine.gatekeeper import Verified
from spool.engine.stop import Stop
from spool.errors import Hint, LockedError, SpoolError, UsageError
from spool.host.clock import SystemClock
from spool.host.git.landing.errors import TargetMoved, TreeInTheWay, Unsettled
from spool.host.git.landing.rehearsal import Conflict, Rehearsal, remove_throwaways, throwaway
from spool.host.git.landing.target import Target, landing_lock
from spool.host.git.repository import Repository, find_repository
from spool.host.state.landings import Landings

_Result = TypeVar("_Result")
_DEFAULTS = ("main", "master")
_UNCHECKED = "no check is configured, so nothing would verify what lands"


class LandRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to land."""

    root: Path
    settings: Settings
    names: tuple[str, ...] = ()
    """Empty for all changes that are finished."""
    onto: str = ""
    """Empty for main, or master."""
    allow_unverified: bool = False
    archive: bool = False
    dry_run: bool = False


class LandView(Observer, Protocol):
    """Shows a landing while it goes on."""

    def step(self, change: str, text: str) -> None:
        """Show what is done with a change now."""

    def ended(self, landing: Landing) -> None:
        """Show what became of a change."""


class _Stopped(Exception):
    """A person stopped the landing."""


def land(request: LandRequest, view: LandView) -> Train:
    """Land changes and return what became of each."""
    repository = find_here(request.root)
    with landing_lock(repository) as lock:
        return _Landing(request=request, view=view, repository=repository, lock=lock).run()


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
class _Landing:
    request: LandRequest
    view: LandView
    repository: Repository
    lock: int
    clock: SystemClock = field(default_factory=SystemClock)

    def __post_init__(self) -> None:
        self._records = Landings(self.repository.common_dir)
        self._timeout_s = self.request.settings.command_timeout
        self._moves = Moves(self.repository, self._records, self.lock, self.clock, timeout_s=self._timeout_s)
        self._target = self._find_target()
        self._fates: dict[str, Fate] = {}
        self._ended: list[Landing] = []

    def run(self) -> Train:
        """Settle what an earlier landing left, then land each change in turn."""
        if not self.request.dry_run:
            remove_throwaways(self.repository)
            if settled := self._moves.settle():
                self.view.ended(settled)
        candidates = Candidates(self.repository, self.request.root)
        chosen = candidates.named(self.request.names) if self.request.names else self._finished(candidates)
        unlanded = {one.change for one in candidates.all() if one.branch and not self._has_landed(one)}
        self._require_sense(chosen)
        for candidate in trained(chosen):
            why = unready(candidate, allow_unverified=self.request.allow_unverified)
            why = why or self._unchecked(candidate) or missing_dependency(candidate, self._fates, unlanded)
            self._end(self._refused(candidate, why) if why else self._landed(candidate))
            if self._fates[candidate.change] is Fate.STOPPED:
                break
        return Train(onto=self._target.onto, target=self._at(), landings=tuple(self._ended))

    def _find_target(self) -> Target:
        names = (self.request.onto,) if self.request.onto else _DEFAULTS
        for name in names:
            target = Target(self.repository, name, self.lock, timeout_s=self._timeout_s)
            if asyncio.run(target.commit()):
                return target
        raise UsageError(f"there is no branch {' or '.join(names)} to land on", hint=Hint.NAME_TARGET)

    def _finished(self, candidates: Candidates) -> list[Candidate]:
        return [one for one in candidates.all() if one.branch and one.finished and not self._has_landed(one)]

    def _has_landed(self, candidate: Candidate) -> bool:
        found = self._records.of(candidate.change)
        if found and found.fate is Fate.LANDED and found.tip == candidate.tip:
            return asyncio.run(self._target.contains(found.commit))
        return asyncio.run(self._target.contains(candidate.tip))

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

    def _landed(self, candidate: Candidate) -> Landing:
        """Land one change; try again while the target moves."""
        started = self.clock.monotonic()
        landing = self._landing(candidate, Fate.HELD)
        for number in range(1, MOST_TRIES + 1):
            try:
                landing = self._try(candidate)
            except TargetMoved:
                landing = self._landing(
                    candidate, Fate.HELD, why=f"{self._target.onto} moved {number} times while it was checked"
                )
                self.view.step(candidate.change, f"{self._target.onto} has moved; starting again")
                continue
            finally:
                seconds = round(self.clock.monotonic() - started, 3)
            break
        return msgspec.structs.replace(landing, tries=number, seconds=seconds)

    def _try(self, candidate: Candidate) -> Landing:
        try:
            return self._rehearsed(candidate)
        except TargetMoved:
            raise
        except _Stopped:
            return self._landing(candidate, Fate.STOPPED, why="you stopped it")
        except Conflict as error:
            return self._landing(candidate, Fate.CONFLICT, why=str(error), files=error.files)
        except TreeInTheWay as error:
            return self._landing(candidate, Fate.HELD, why=str(error), files=error.files, next=error.hint)
        except (LockedError, Unsettled) as error:
            return self._landing(candidate, Fate.HELD, why=str(error))
        except (SpoolError, OSError) as error:
            return self._landing(candidate, Fate.FAILED, why=one_line(str(error), 400))

    def _rehearsed(self, candidate: Candidate) -> Landing:
        """Rebase, check and move; nothing but the last step touches the person's branches."""
        move = asyncio.run(self._planned(candidate))
        if self._has_landed(candidate):
            return self._landing(candidate, Fate.ALREADY, base=move.old)
        if self.request.dry_run:
            return self._landing(candidate, Fate.PLANNED, base=move.old)
        home = throwaway(self.repository)
        try:
            return self._from_clone(candidate, move, home)
        finally:
            shutil.rmtree(home, ignore_errors=True)
            if self._records.begun() is None:  # a half-moved tree needs the result to be settled
                asyncio.run(self._target.forget(candidate.change))

    def _from_clone(self, candidate: Candidate, move: Move, home: Path) -> Landing:
        root, repository = self.request.root, self.repository
        spec, inside = spec_for(candidate, root, self.request.settings), place_of(candidate, root, repository)
        self.view.step(candidate.change, f"rebasing onto {move.onto}")
        rehearsal = Rehearsal(repository, home)
        result = self._rebased(candidate, move, rehearsal, inside)
        if result == move.old:
            return self._landing(candidate, Fate.ALREADY, base=move.old)
        move = msgspec.structs.replace(move, new=result)
        if self.request.archive:
            spec = without_change(spec)
        logs = self._fresh_logs(candidate.change)
        found = check_result(spec, rehearsal, repository, base=move.old, inside=inside, logs=logs, watcher=self.view)
        if found is None:
            raise _Stopped
        if refused := refusal(found.gates):
            return self._red(candidate, move, found, refused.name, spec)
        self.view.step(move.change, f"moving {move.onto}")
        return self._moves.make(move)

    async def _planned(self, candidate: Candidate) -> Move:
        """Return the move to make; raise TreeInTheWay if the target's tree could not follow."""
        tree = await self._target.tree()
        move = Move(
            token=f"spool-{secrets.token_hex(16)}",
            change=candidate.change,
            branch=candidate.branch,
            tip=candidate.tip,
            onto=self._target.onto,
            old=await self._target.commit(),
            new="",
            top=str(tree.top) if tree else "",
            git_dir=str(tree.git_dir) if tree else "",
        )
        await self._target.require_movable(move)
        return move

    def _rebased(self, candidate: Candidate, move: Move, rehearsal: Rehearsal, inside: str) -> str:
        """Rebase the change, archive it if asked for, and bring the result back; return the result."""
        result = _obeyed(self._rebase(candidate, move, rehearsal))
        if result == move.old:
            return result
        if self.request.archive:
            today = self.clock.now().date()
            if archive_in_clone(rehearsal.top / inside, candidate.change, today):
                result = _obeyed(rehearsal.commit_all(f"Archive {candidate.change}"))
        asyncio.run(rehearsal.bring_back(candidate.change, move.old))
        return result

    async def _rebase(self, candidate: Candidate, move: Move, rehearsal: Rehearsal) -> str:
        return await rehearsal.rebase(candidate.tip, move.old, upstream=await self._upstream(candidate))

    async def _upstream(self, candidate: Candidate) -> str:
        """Return the tip of a landed change on which a branch builds; its commits have landed under other names."""
        tips = [
            one.tip
            for one in self._records.all()
            if one.fate is Fate.LANDED and one.change != candidate.change and one.tip
        ]
        built_on = [tip for tip in tips if await self._target.contains(tip, inside=candidate.tip)]
        for tip in built_on:
            if all([await self._target.contains(other, inside=tip) for other in built_on]):
                return tip
        return ""

    def _red(self, candidate: Candidate, move: Move, found: Verified, gate: str, spec: LoopSpec) -> Landing:
        refused = refusal(found.gates)
        assert refused is not None  # noqa: S101 - the caller found one
        command = next((one.run for one in spec.gates if one.name == gate), "") or gate
        return self._landing(
            candidate,
            Fate.RED,
            why=one_line(f"{command}: {refused.why}", 400),
            base=move.old,
            gate=gate,
            failing=failing_tests(found.gates),
            log=refused.log,
        )

    def _refused(self, candidate: Candidate, why: str) -> Landing:
        if not candidate.branch or not self._has_landed(candidate):
            return self._landing(candidate, Fate.NOT_READY, why=why)
        return self._landing(candidate, Fate.ALREADY)

    def _landing(self, candidate: Candidate, fate: Fate, **found: Any) -> Landing:
        return Landing(
            change=candidate.change,
            branch=candidate.branch,
            tip=candidate.tip,
            onto=self._target.onto,
            fate=fate,
            at=self.clock.now(),
            **found,
        )

    def _end(self, landing: Landing) -> None:
        self._fates[landing.change] = landing.fate
        self._ended.append(landing)
        tried = landing.fate not in (Fate.NOT_READY, Fate.ALREADY, Fate.STOPPED)
        if tried and not self.request.dry_run:
            self._records.record(landing)
        self.view.ended(landing)

    def _at(self) -> str:
        return asyncio.run(self._target.commit())

    def _fresh_logs(self, change: str) -> Path:
        folder = self._records.folder / "logs" / change
        shutil.rmtree(folder, ignore_errors=True)
        return folder


def _obeyed(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Do something, and raise _Stopped if a person stops it."""

    async def obey() -> _Result | None:
        stop = Stop()
        with listening(stop, None, stdin=False, asked_by=lambda: ""):
            done = await stop.obeyed(work)
        return None if stop.requested else done

    found = asyncio.run(obey())
    if found is None:
        raise _Stopped
    return found
