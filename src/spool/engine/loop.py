"""The loop: iteration after iteration, until the verdict says that it is over.

Facts, decision and effect stay apart: `iteration` gathers facts, `domain.outcome` names them, the plan's verdict
decides, and this module acts on it.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar, assert_never

import msgspec

from spool.domain.events import (
    Complete,
    Error,
    IterationEnded,
    IterationStarted,
    RunEnded,
    RunStarted,
    StopRequested,
    Waiting,
    Warned,
)
from spool.domain.invocation import AgentRequest
from spool.domain.outcome import Facts, Outcome, OutcomeKind, classify
from spool.domain.promise import PromiseReader
from spool.domain.state import Changes, InFlight, IterationRecord, LoopState, Phase, interrupted_record
from spool.domain.stream import Usage
from spool.domain.verdict import Continue, ExitCode, Finish, NextStory, Retry, Status, Tally, Verdict, Wait, advance
from spool.engine.iteration import Patience, Transcript, run_agent
from spool.engine.plan import Place, Plan
from spool.engine.ports import Harness, Ports
from spool.engine.stop import Stop
from spool.errors import ChangeError, CommandError, CommandTimeout, SpoolError

_Result = TypeVar("_Result")
_WAIT_SLICE_S = 30.0
STOP_GRACE_S = 0.4
"""How long a git command may still take once a stop is requested: a stop is to be obeyed within half a second."""


@dataclass(frozen=True, kw_only=True)
class Agency:
    """Which agent is used, and how."""

    harness: Harness
    directory: str
    patience: Patience
    model: str | None = None
    allow_all: bool = False
    is_root: bool = False
    auto_commit: bool = False
    resume: bool = False
    """Whether the agent goes on with its own conversation instead of starting afresh."""


class Loop:
    """Drives one run."""

    def __init__(
        self, plan: Plan, agency: Agency, ports: Ports, stop: Stop, state: LoopState, *, session: str = ""
    ) -> None:
        self._plan = plan
        self._agency = agency
        self._ports = ports
        self._stop = stop
        self._state = state
        self._tally = Tally(run_iterations=0)
        self._mark_is_old = True
        self._closing = 0
        self._session = session

    async def run(self) -> Finish:
        """Run to the end; whatever the end is, it is on disk and in the journal."""
        self._save(status=Status.RUNNING, phase=Phase.STARTING)
        self._ports.emit(
            RunStarted(
                change=self._state.change,
                harness=self._agency.harness.name,
                model=self._agency.model,
                limits=self._plan.limits,
                iteration=self._state.iteration,
            )
        )
        with self._stop.waking(self._tell_stop):
            try:
                finish = self._plan.conclude(await self._iterate())
            except (SpoolError, OSError) as error:
                with suppress(SpoolError, OSError):  # a full disk may be what brought us here
                    self._give_up(str(error))
                raise
        await self._close(finish)
        return finish

    async def _iterate(self) -> Finish:
        while not self._stop.requested:
            verdict = await self._one()
            match verdict:
                case Finish():
                    return verdict
                case Wait(seconds, reason):
                    await self._wait(seconds, f"rate limit: {reason}", Phase.WAITING)
                case Continue(pause_s) if pause_s:
                    errors = self._tally.errors_in_row
                    await self._wait(pause_s, f"{errors} failed iterations in a row", Phase.PAUSING)
                case Continue() | NextStory() | Retry():
                    pass
                case _:
                    assert_never(verdict)
        return self._stopped()

    async def _one(self) -> Verdict:
        """Run one iteration, record it, and return the verdict on it."""
        place = Place(iteration=self._state.iteration + 1, run_iteration=self._tally.run_iterations + 1)
        if self._state.phase is not Phase.PREPARING:
            self._save(phase=Phase.PREPARING)
        prompt = await self._prepare(place)
        if not isinstance(prompt, str):
            return prompt
        if self._stop.requested:
            return self._stopped()
        if self._mark_is_old or self._plan.story is not None:  # a plan with stories may have changed the tree itself
            await self._guarded(self._ports.worktree.mark())
            self._mark_is_old = False
        begun = self._begin(place)
        facts = await self._run_agent(place, prompt)
        self._session = facts.session or self._session
        self._save(phase=Phase.RECORDING)
        changes = await self._guarded(self._ports.worktree.changes(self._agency.harness.traits.leavings))
        facts = msgspec.structs.replace(facts, changed_files=None if changes is None else changes.count)
        outcome = classify(facts)
        commit = await self._commit(place, changes)
        self._tally = advance(self._tally, outcome)
        self._record(begun, facts, outcome, changes, commit)
        if facts.denied and outcome.kind is not OutcomeKind.PERMISSION_DENIED:
            refused = ", ".join(sorted(set(facts.denied)))
            self._warn(f"the agent was refused {refused}; --allow-all lets it work without asking")
        if facts.left:
            left = ", ".join(map(str, facts.left))
            self._warn(f"processes of the agent cannot be ended (do they run as another user?): {left}")
        return await self._judge(outcome)

    async def _prepare(self, place: Place) -> str | Verdict:
        """Get the next prompt. A command that fails on the way is a failed attempt, as the plan judges it."""
        try:
            prompt = await self._unless_stopped(self._plan.prepare(place))
        except CommandError as error:
            kind = OutcomeKind.TIMEOUT if isinstance(error, CommandTimeout) else OutcomeKind.HARNESS_ERROR
            self._warn(error.advice)
            return await self._judge(Outcome(kind=kind, reason=error.advice))
        except ChangeError as error:
            return Finish(Status.STUCK, str(error), ExitCode.FAILED)
        return self._stopped() if prompt is None else prompt

    async def _judge(self, outcome: Outcome) -> Verdict:
        """Ask the plan; a stop is obeyed before anything that its judgement needs."""
        verdict = await self._unless_stopped(self._plan.judge(outcome, self._tally))
        return self._stopped() if verdict is None else verdict

    def _stopped(self) -> Finish:
        return Finish(Status.STOPPED, f"stopped by {self._stop.by}", ExitCode.INTERRUPTED)

    def _begin(self, place: Place) -> InFlight:
        begun = InFlight(
            iteration=place.iteration,
            run_id=self._state.run_id,
            started_at=self._ports.clock.now(),
            harness=self._agency.harness.name,
            model=self._agency.model,
            story_id=self._plan.story.id if self._plan.story else None,
            attempt=self._plan.story.attempt if self._plan.story else None,
        )
        self._save(phase=Phase.AGENT, in_flight=begun, iteration=place.iteration, run_iteration=place.run_iteration)
        self._ports.emit(
            IterationStarted(
                iteration=place.iteration,
                run_iteration=place.run_iteration,
                max_iterations=self._plan.limits.max_iterations,
                prompt=self._ports.agents.prompt_path(place.iteration),
            )
        )
        return begun

    async def _run_agent(self, place: Place, prompt: str) -> Facts:
        agency = self._agency
        request = AgentRequest(
            prompt_path=self._ports.agents.prompt_path(place.iteration),
            directory=agency.directory,
            model=agency.model,
            allow_all=agency.allow_all,
            is_root=agency.is_root,
            session=self._session if agency.resume else "",
            side_path=self._ports.agents.side_path(place.iteration),
        )
        reader = PromiseReader(self._plan.promise, prompt=prompt)
        transcript = Transcript(
            agency.harness.decoder(),
            reader,
            lambda event: self._ports.emit(self._plan.tell(place, event)),
            allow_all=agency.allow_all,
        )
        return await run_agent(
            self._ports.agents,
            agency.harness.invoke(request),
            transcript,
            reader,
            iteration=place.iteration,
            prompt=prompt,
            patience=agency.patience,
            clock=self._ports.clock,
            stop=self._stop,
        )

    async def _commit(self, place: Place, changes: Changes | None) -> str | None:
        if not self._agency.auto_commit or self._stop.requested or (changes is not None and not changes.count):
            return None
        message = f"{self._state.change}: iteration {place.iteration}"
        return await self._guarded(self._ports.worktree.commit(message))

    def _record(
        self, begun: InFlight, facts: Facts, outcome: Outcome, changes: Changes | None, commit: str | None
    ) -> None:
        record = IterationRecord(
            iteration=begun.iteration,
            run_id=begun.run_id,
            started_at=begun.started_at,
            ended_at=max(self._ports.clock.now(), begun.started_at),
            duration_s=round(facts.duration_s, 3),
            harness=begun.harness,
            model=begun.model,
            exit_code=outcome.exit_code,
            outcome=outcome.kind,
            reason=outcome.reason,
            note=outcome.note,
            completion_found=outcome.kind is OutcomeKind.COMPLETED,
            vetoes=facts.reading.vetoes,
            changed_files=changes.count if changes else None,
            files=changes.files if changes else (),
            insertions=changes.insertions if changes else 0,
            deletions=changes.deletions if changes else 0,
            usage=facts.usage,
            commit=commit,
            story_id=begun.story_id,
            attempt=begun.attempt,
            session=facts.session,
            log=self._ports.agents.log_path(begun.iteration),
        )
        self._put_end(record, self._state.usage + facts.usage)

    def _put_end(self, record: IterationRecord, usage: Usage) -> None:
        """Put an end on disk; the iteration stays in flight until history and journal have it, or a crash loses one."""
        self._closing = record.iteration
        self._ports.store.append(record)
        self._ports.emit(IterationEnded(record=record))
        self._save(phase=Phase.PREPARING, in_flight=None, usage=usage)

    async def _wait(self, seconds: float, reason: str, phase: Phase) -> None:
        until = self._ports.clock.now() + timedelta(seconds=seconds)
        self._save(phase=phase, waiting_until=until)
        self._ports.emit(Waiting(seconds=round(seconds, 3), until=until, reason=reason))
        # In slices, and until one of two clocks says so. By the wall clock a laptop that slept through the reset need
        # not wait for it again; by the other a wall clock that is set back turns no second into an hour.
        clock, until_s = self._ports.clock, self._ports.clock.monotonic() + seconds
        while not self._stop.requested:
            left_s = min((until - clock.now()).total_seconds(), until_s - clock.monotonic())
            if left_s <= 0:
                break
            await self._stop.sleep(min(left_s, _WAIT_SLICE_S))
        self._mark_is_old = True  # a person may have used the time

    async def _guarded(self, work: Coroutine[Any, Any, _Result]) -> _Result | None:
        """Await git's account of what happened; one that fails costs a warning, not the loop."""
        try:
            return await self._unless_stopped(work)
        except CommandError as error:
            self._warn(error.advice)
            return None

    async def _unless_stopped(self, work: Coroutine[Any, Any, _Result]) -> _Result | None:
        """Await something that may take long, but not against a stop: then it has a moment, and is cancelled."""
        task = asyncio.ensure_future(work)
        stopping = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({task, stopping}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({task}, timeout=STOP_GRACE_S)
            return task.result() if task.done() else None
        finally:
            stopping.cancel()
            task.cancel()
            with suppress(asyncio.CancelledError, SpoolError):
                await task

    async def _close(self, finish: Finish) -> None:
        """Let the plan clean up, then end; what it could not clean up costs a warning."""
        kept = ""
        try:
            kept = await self._plan.close(finish)
        except CommandError as error:
            self._warn(error.advice)
        self._end(finish, kept=kept)

    def _give_up(self, why: str) -> None:
        """An error of ours ends the run: what was in flight is interrupted, and a person can read why.

        If the error came while the end was written, nobody knows how much of it is on disk: the next run looks.
        """
        begun = self._state.in_flight
        if begun is not None and begun.iteration != self._closing:
            ended_at = max(self._ports.clock.now(), begun.started_at)
            self._put_end(interrupted_record(begun, ended_at=ended_at, reason=why), self._state.usage)
        self._end(Finish(Status.STOPPED, why, ExitCode.FAILED), kept="")

    def _end(self, finish: Finish, *, kept: str) -> None:
        self._save(status=finish.status, reason=finish.reason, phase=Phase.ENDED)
        if finish.status is Status.DONE:
            self._ports.emit(Complete(iterations=self._tally.run_iterations, usage=self._state.usage))
        elif finish.status is Status.STUCK or finish.exit_code is ExitCode.FAILED:
            story = self._plan.story
            self._ports.emit(Error(reason=finish.reason, story_id=story.id if story else None, kept=kept))
        self._ports.emit(RunEnded(status=finish.status, reason=finish.reason, exit_code=int(finish.exit_code)))

    def _save(self, **changed: Any) -> None:
        now = self._ports.clock.now()
        if changed.get("phase", self._state.phase) is not self._state.phase:
            changed.setdefault("waiting_until", None)
            changed["phase_since"] = now
        self._state = msgspec.structs.replace(self._state, updated_at=now, story=self._plan.story, **changed)
        self._ports.store.save(self._state)

    def _warn(self, message: str) -> None:
        self._ports.emit(Warned(message=message))

    def _tell_stop(self) -> None:
        with suppress(SpoolError):  # this is a signal's way in; the loop's own next write meets the full disk too
            self._ports.emit(StopRequested(by=self._stop.by, forced=self._stop.forced))
