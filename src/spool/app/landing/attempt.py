"""Lands one change: rebased, checked on the result, moved, and only then called landed."""

import asyncio
import secrets
import shutil
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from spool.app.landing.archive import archive_in_clone
from spool.app.landing.checks import check_result, place_of, spec_for, without_change
from spool.app.landing.moves import Moves
from spool.app.landing.preview import LandingPreview
from spool.app.observing.observers import Watcher
from spool.app.starting.signals import listening
from spool.domain.account.landing_order import MOST_TRIES, Candidate, Fate, Landing, Move, failing_tests
from spool.domain.judging.gates.gate import refusal
from spool.domain.loop.settings import Settings
from spool.domain.loop.spec import LoopSpec, Show
from spool.domain.text.plain_text import one_line
from spool.engine.gates.gatekeeper import Verified
from spool.engine.ports import Clock
from spool.engine.stop_request import Stop
from spool.errors import LockedError, SpoolError
from spool.host.git.landing.rehearsal import Conflict, Rehearsal, throwaway
from spool.host.git.landing.target_branch import Target
from spool.host.git.landing.target_errors import TargetMoved, TreeInTheWay, Unsettled
from spool.host.git.repository import Repository
from spool.host.state.landings import Landings

_Result = TypeVar("_Result")


class LandRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One landing."""

    root: Path
    settings: Settings
    names: tuple[str, ...] = ()
    """Empty for all changes that are finished."""
    onto: str = ""
    """Empty for main, or master."""
    allow_unverified: bool = False
    archive: bool = False
    repair: bool = False
    """Whether the agent repairs what is refused."""
    dry_run: bool = False
    show: Show = Show.RESULTS
    """The agents' events to show."""


class LandView(Watcher, Protocol):
    """Shows a landing while it runs."""

    def step(self, change: str, text: str) -> None:
        """Show what is done with a change now."""

    def ended(self, landing: Landing) -> None:
        """Show what became of a change."""


class _Stopped(Exception):
    """A person stopped the landing."""


@dataclass(frozen=True, kw_only=True)
class Attempts:
    """Lands changes on one target, as the holder of the lock of landing."""

    request: LandRequest
    view: LandView
    repository: Repository
    target: Target
    records: Landings
    moves: Moves
    clock: Clock
    preview: LandingPreview

    def land(self, candidate: Candidate) -> Landing:
        """Land one change; try again while the target moves."""
        started = self.clock.monotonic()
        landing = self.outcome(candidate, Fate.HELD)
        for number in range(1, MOST_TRIES + 1):
            try:
                landing = self._try(candidate)
            except TargetMoved:
                landing = self.outcome(
                    candidate, Fate.HELD, why=f"{self.target.onto} moved {number} times while it was checked"
                )
                self.view.step(candidate.change, f"{self.target.onto} has moved; starting again")
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
            return self.outcome(candidate, Fate.STOPPED, why="stopped on request")
        except Conflict as error:
            return self.outcome(candidate, Fate.CONFLICT, why=str(error), files=error.files)
        except TreeInTheWay as error:
            return self.outcome(candidate, Fate.HELD, why=str(error), files=error.files, next=error.hint)
        except (LockedError, Unsettled) as error:
            return self.outcome(candidate, Fate.HELD, why=str(error))
        except (SpoolError, OSError) as error:
            return self.outcome(candidate, Fate.FAILED, why=one_line(str(error), 400))

    def _rehearsed(self, candidate: Candidate) -> Landing:
        """Rebase, check and move; nothing but the last step touches the person's branches."""
        move = asyncio.run(self._planned(candidate))
        if self.has_landed(candidate):
            return self.outcome(candidate, Fate.ALREADY, base=move.old)
        if self.request.dry_run:
            return self._foreseen(candidate, move)
        home = throwaway(self.repository)
        try:
            return self._from_clone(candidate, move, home)
        finally:
            shutil.rmtree(home, ignore_errors=True)
            if self.records.begun() is None:  # a half-moved tree needs the result to be settled
                asyncio.run(self.target.forget(candidate.change))

    def _foreseen(self, candidate: Candidate, move: Move) -> Landing:
        """Rebase onto what the target would be by then, and check and move nothing."""
        self.view.step(candidate.change, f"rebasing onto {move.onto}")
        left = _obeyed(self._rebase_on_preview(candidate, move))
        return self.outcome(candidate, Fate.PLANNED if left else Fate.ALREADY, base=move.old)

    async def _rebase_on_preview(self, candidate: Candidate, move: Move) -> bool:
        return await self.preview.rebase(candidate, move.old, upstream=await self._upstream(candidate))

    def _from_clone(self, candidate: Candidate, move: Move, home: Path) -> Landing:
        root, repository = self.request.root, self.repository
        spec, inside = spec_for(candidate, root, self.request.settings), place_of(candidate, root, repository)
        self.view.step(candidate.change, f"rebasing onto {move.onto}")
        rehearsal = Rehearsal(repository, home)
        result = self._rebased(candidate, move, rehearsal, inside)
        if result == move.old:
            return self.outcome(candidate, Fate.ALREADY, base=move.old)
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
        return self.moves.make(move)

    async def _planned(self, candidate: Candidate) -> Move:
        """Return the move to make; raise TreeInTheWay if the target's tree could not follow."""
        tree = await self.target.tree()
        move = Move(
            token=f"spool-{secrets.token_hex(16)}",
            change=candidate.change,
            branch=candidate.branch,
            tip=candidate.tip,
            onto=self.target.onto,
            old=await self.target.commit(),
            new="",
            top=str(tree.top) if tree else "",
            git_dir=str(tree.git_dir) if tree else "",
        )
        await self.target.require_movable(move)
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
        return await rehearsal.rebase(
            candidate.change, candidate.tip, move.old, upstream=await self._upstream(candidate)
        )

    async def _upstream(self, candidate: Candidate) -> str:
        """Return the tip of a landed change on which a branch builds; its commits have landed under other names."""
        tips = [
            one.tip
            for one in self.records.all()
            if one.fate is Fate.LANDED and one.change != candidate.change and one.tip
        ]
        tips += self.preview.tips
        built_on = [tip for tip in tips if await self.target.contains(tip, inside=candidate.tip)]
        for tip in built_on:
            if all([await self.target.contains(other, inside=tip) for other in built_on]):
                return tip
        return ""

    def _red(self, candidate: Candidate, move: Move, found: Verified, gate: str, spec: LoopSpec) -> Landing:
        refused = refusal(found.gates)
        assert refused is not None  # noqa: S101 - the caller found one
        command = next((one.run for one in spec.gates if one.name == gate), "") or gate
        return self.outcome(
            candidate,
            Fate.RED,
            why=one_line(f"{command}: {refused.why}", 400),
            base=move.old,
            gate=gate,
            failing=failing_tests(found.gates),
            log=refused.log,
        )

    def has_landed(self, candidate: Candidate) -> bool:
        """Whether the target has a change."""
        found = self.records.of(candidate.change)
        if found and found.fate is Fate.LANDED and found.tip == candidate.tip:
            return asyncio.run(self.target.contains(found.commit))
        return asyncio.run(self.target.contains(candidate.tip))

    def outcome(self, candidate: Candidate, fate: Fate, **found: Any) -> Landing:
        """Return a change's result."""
        return Landing(
            change=candidate.change,
            branch=candidate.branch,
            tip=candidate.tip,
            onto=self.target.onto,
            fate=fate,
            at=self.clock.now(),
            **found,
        )

    def _fresh_logs(self, change: str) -> Path:
        folder = self.records.folder / "logs" / change
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
