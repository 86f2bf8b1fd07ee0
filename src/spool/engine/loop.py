"""Runs iterations until a verdict ends the loop.

Facts, decision and effect are separate: `iteration` gathers facts, `domain.outcome` classifies them, the plan decides,
and this module acts on the verdict. Work on the tree is saved as due before it is done.
"""

from collections.abc import Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar, assert_never

import msgspec

from spool.domain.events import IterationStarted, RunStarted, StopRequested, Warned
from spool.domain.loop import Due, Phase, PlanState
from spool.domain.outcome import Outcome, OutcomeKind, stopped_words
from spool.domain.state import InFlight, IterationRecord, LoopState, Unfinished, interrupted_record
from spool.domain.verdict import (
    Continue,
    Ended,
    ExitCode,
    Finish,
    NextStory,
    Retry,
    Status,
    Tally,
    Verdict,
    Wait,
    advance,
    out_of_budget,
    with_failed_commits,
)
from spool.engine.account import Account
from spool.engine.agency import Agency
from spool.engine.closing import Closing
from spool.engine.examination import Examiner, ended_by
from spool.engine.gatekeeper import Gatekeeper
from spool.engine.iteration import IterationRequest, iterate
from spool.engine.plan import Place, Plan, after_failed_commit
from spool.engine.ports import Ports
from spool.engine.spending import Spending
from spool.engine.stop import Stop
from spool.engine.waits import Waits
from spool.errors import ChangeError, CommandError, CommandTimeout, FencedOff, SpoolError

_Result = TypeVar("_Result")


class Loop:
    """Drives one run."""

    def __init__(
        self,
        plan: Plan,
        agency: Agency,
        ports: Ports,
        stop: Stop,
        state: LoopState,
        *,
        unjudged: Unfinished | None = None,
        keeper: Gatekeeper | None = None,
    ) -> None:
        self._plan = plan
        self._agency = agency
        self._ports = ports
        self._stop = stop
        self._unjudged = unjudged
        self._account = Account(ports, state, closing=unjudged.record.iteration if unjudged else 0)
        self._examiner = Examiner(plan, keeper, self._account, ports, stop)
        self._closing = Closing(plan, keeper, self._account, ports, stop)
        self._tally = Tally(run_iterations=0)
        self._spending = Spending(plan.limits, ports.expenses, ports.clock)
        self._waits = Waits(self._account, self._spending, ports, stop, harness=agency.harness.name)
        self._mark_is_old = True
        self._session = agency.session

    @property
    def _state(self) -> LoopState:
        return self._account.state

    async def run(self) -> Finish:
        """Run to the end, and write the end to disk and to the journal."""
        self._account.save(status=Status.RUNNING, phase=Phase.STARTING)
        self._ports.emit(
            RunStarted(
                change=self._state.change,
                harness=self._agency.harness.name,
                model=self._agency.model,
                limits=self._plan.limits,
                iteration=self._state.iteration,
                sandbox=self._state.sandbox,
                usage=self._state.usage,
                started_at=self._state.started_at,
            )
        )
        for concern in self._spending.concerns(self._agency.harness, self._agency.price):
            self._ports.emit(Warned(message=concern.message, hint=concern.hint))
        with self._stop.waking(self._report_stop):
            try:
                finish = self._plan.conclude(await self._iterate())
                finish = with_failed_commits(finish, self._state.memory.failed_commits)
                finish = await self._closing.delivered(finish)
            except (SpoolError, OSError) as error:
                code = ExitCode.POSTPONED if isinstance(error, FencedOff) else ExitCode.FAILED
                with suppress(SpoolError, OSError):  # a full disk may be the cause
                    self.abandon(str(error), Status.STOPPED, code)
                raise
        resumable = self._state.story is not None or self._agency.auto_commit
        await self._closing.close(finish, iterations=self._tally.run_iterations, resumable=resumable)
        return finish

    def abandon(self, why: str, status: Status, code: ExitCode = ExitCode.FAILED) -> None:
        """End the run after an internal error."""
        self._account.abandon(why, status, iterations=self._tally.run_iterations, code=code)

    async def _iterate(self) -> Finish:
        ended = await self._resume() or (None if await self._examiner.open() else self._stopped())
        while ended is None and not self._stop.requested:
            verdict = await self._one()
            ended = verdict if isinstance(verdict, Finish) else await self._act(verdict)
        return ended or self._stopped()

    async def _resume(self) -> Finish | None:
        """Judge an iteration that was recorded but not judged, then settle what is due."""
        if self._unjudged is not None and (done := await self._judge_unfinished(*self._unjudged)):
            return done
        while not self._stop.requested:
            try:
                edited = await self._closing.edited()
                if self._stop.requested:  # the answer may be missing
                    break
                memory = await self._stop.obeyed(self._plan.resume(self._state.memory, edited=edited))
            except CommandError as error:
                if isinstance(verdict := self._judge_failed_command(error), Finish):
                    return verdict
                continue
            if memory is None:
                break
            # Not saved: what is due only because of how this run resumes is this run's alone.
            self._account.state = msgspec.structs.replace(self._state, memory=memory)
            return await self._settle()
        return self._stopped()

    async def _judge_unfinished(self, record: IterationRecord, recorded: bool) -> Finish | None:
        """Judge the iteration in which the runner before ended; one whose gates did not run is examined first.

        Return the end if it completes the work. Limits count per run, so it ends the loop in no other way.
        """
        examined = record if recorded else await self._examiner.examined(record)
        if examined is None:
            return None
        record = examined
        usage = self._state.usage + record.usage
        verdict, memory = self._judged(ended_by(record, usage), advance(self._tally, record.as_outcome()))
        if recorded:
            self._account.count_iteration(record, memory)
        else:
            self._account.end_iteration(record, memory)
        if isinstance(verdict, Retry):
            self._account.report_retry(verdict)
        return verdict if isinstance(verdict, Finish) and verdict.status is Status.DONE else None

    async def _act(self, verdict: Continue | Wait | NextStory | Retry) -> Finish | None:
        match verdict:
            case Wait(seconds, reason):
                self._mark_is_old = True  # a person may have edited files meanwhile
                return await self._waits.for_limit(seconds, reason)
            case Continue(pause_s):
                if pause_s:
                    await self._waits.after_errors(pause_s, self._tally.errors_in_row)
                    self._mark_is_old = True
            case NextStory():
                return await self._settle()
            case Retry():
                self._account.report_retry(verdict)
                return await self._settle()
            case _:
                assert_never(verdict)
        return None

    async def _settle(self) -> Finish | None:
        """Do the work that is due on the tree; the plan judges a failed command as a failed attempt."""
        while self._state.memory.due is not Due.NOTHING and not self._stop.requested:
            try:
                memory = await self._stop.obeyed(self._plan.settle(self._state.memory))
            except CommandError as error:
                verdict = self._judge_failed_command(error)
                if isinstance(verdict, Finish):
                    return verdict
                if isinstance(verdict, Retry):
                    self._account.report_retry(verdict)
                continue
            if memory is None:
                return self._stopped()
            self._account.save(memory=memory)
        return None

    async def _one(self) -> Verdict:
        """Run one iteration, record it, and return the verdict on it."""
        place = Place(iteration=self._state.iteration + 1, run_iteration=self._tally.run_iterations + 1)
        waited = await self._waits.with_others(self._plan.limits)
        if isinstance(waited, Finish):
            return waited
        if waited:
            self._mark_is_old = True
        if self._stop.requested:
            return self._stopped()
        if self._state.phase is not Phase.PREPARING:
            self._account.save(phase=Phase.PREPARING)
        prompt = await self._prepare(place)
        if not isinstance(prompt, str):
            return prompt
        if self._stop.requested:
            return self._stopped()
        # A plan with stories may have changed the tree itself, and gates leave files behind.
        if self._mark_is_old or self._examiner.ran_gates or self._state.story is not None:
            await self._guarded(self._ports.worktree.mark())
            self._mark_is_old = self._examiner.ran_gates = False
        memory, request = self._state.memory, self._begin(place, prompt)
        if not await self._admitted():
            return self._not_started(request.begun)
        record = await iterate(
            request,
            self._agency.harness,
            self._ports,
            self._stop,
            lambda said: self._ports.emit(self._plan.event(memory, place, said)),
        )
        self._session = record.session or self._session
        record = msgspec.structs.replace(record, commit=await self._commit(record))
        begun = msgspec.structs.replace(request.begun, ended=record)
        examined = await self._examiner.examined(
            record, lambda: self._account.save(phase=Phase.RECORDING, in_flight=begun)
        )
        if examined is None:
            return self._stopped()
        record = examined
        self._tally = advance(self._tally, record.as_outcome())
        verdict, memory = self._judged(ended_by(record, self._state.usage + record.usage))
        # The history has the end. If the next iteration begins at once, one save of the state serves both.
        at_once = verdict == Continue() and memory.due is Due.NOTHING
        self._account.end_iteration(record, memory, saved_soon=at_once)
        if concern := self._spending.concern_about(record):
            self._ports.emit(Warned(message=concern.message, hint=concern.hint))
        return verdict

    async def _admitted(self) -> bool:
        """Return whether the agent may start; a stop may come first."""

        async def admit() -> bool:
            await self._ports.admission.admit(self._state)
            return True

        return bool(await self._stop.obeyed(admit())) and not self._stop.requested

    def _not_started(self, begun: InFlight) -> Finish:
        """Record an iteration that was stopped before its agent started."""
        now = max(self._ports.clock.now(), begun.started_at)
        record = interrupted_record(begun, ended_at=now, reason="stopped before its agent started")
        self._account.end_iteration(record, self._state.memory)
        return self._stopped()

    async def _prepare(self, place: Place) -> str | Verdict:
        """Choose the next work and return its prompt; a failed command counts as a failed attempt."""
        try:
            chosen = await self._stop.obeyed(self._plan.choose(self._state.memory))
            if chosen is None:
                return self._stopped()
            if isinstance(chosen, Finish):
                return chosen
            if spent := self._spending.exceeded(self._state.usage):
                return out_of_budget(spent)
            self._account.remember(chosen)
            prompt = await self._stop.obeyed(self._plan.prepare(chosen, place))
        except CommandError as error:
            return self._judge_failed_command(error)
        except ChangeError as error:
            return Finish(Status.STUCK, str(error), ExitCode.FAILED)
        return self._stopped() if prompt is None else prompt

    def _begin(self, place: Place, prompt: str) -> IterationRequest:
        """Save the iteration as in flight, and return its request."""
        agency, story = self._agency, self._state.story
        begun = InFlight(
            iteration=place.iteration,
            run_id=self._state.run_id,
            started_at=self._ports.clock.now(),
            harness=agency.harness.name,
            model=agency.model,
            story_id=story.id if story else None,
            attempt=story.attempt if story else None,
        )
        self._account.save(
            phase=Phase.AGENT,
            in_flight=begun,
            iteration=place.iteration,
            run_iteration=place.run_iteration,
            memory=msgspec.structs.replace(self._state.memory, fingerprint=""),
        )
        self._ports.emit(
            IterationStarted(
                iteration=place.iteration,
                run_iteration=place.run_iteration,
                max_iterations=self._plan.limits.max_iterations,
                prompt=self._ports.agents.prompt_path(place.iteration),
                boxes=self._plan.boxes,
            )
        )
        return IterationRequest(
            begun=begun,
            prompt=prompt,
            promise=self._plan.promise,
            directory=agency.directory,
            patience=agency.patience,
            allow_all=agency.allow_all,
            in_sandbox=agency.in_sandbox,
            session=self._session if agency.resume else "",
            price=agency.price,
            exceeded=partial(self._spending.exceeded, self._state.usage),
        )

    async def _commit(self, record: IterationRecord) -> str | None:
        if not self._agency.auto_commit or self._stop.requested or record.changed_files == 0:
            return None
        message, memory = f"{self._state.change}: iteration {record.iteration}", self._state.memory
        try:
            commit = await self._stop.obeyed(self._ports.worktree.commit(message, leaving=memory.leavings))
            self._account.remember(msgspec.structs.replace(memory, uncommitted=""))
        except CommandError as error:
            self._account.warn(error, about="commit")
            self._account.remember(after_failed_commit(memory, error))
            return None
        return commit

    def _judge(self, ended: Ended) -> Verdict:
        """Return the plan's verdict, and save its memory."""
        verdict, memory = self._judged(ended)
        self._account.remember(memory)
        return verdict

    def _judged(self, ended: Ended, tally: Tally | None = None) -> tuple[Verdict, PlanState]:
        now = self._ports.clock.now().timestamp()
        judgement = self._plan.judge(self._state.memory, ended, tally or self._tally, now=now)
        return judgement.verdict, judgement.memory

    def _judge_failed_command(self, error: CommandError) -> Verdict:
        kind = OutcomeKind.TIMEOUT if isinstance(error, CommandTimeout) else OutcomeKind.HARNESS_ERROR
        self._account.warn(error)
        return self._judge(Ended(outcome=Outcome(kind=kind, reason=error.advice), used=self._state.usage))

    def _stopped(self) -> Finish:
        return Finish(Status.STOPPED, stopped_words(self._stop.by), ExitCode.INTERRUPTED)

    async def _guarded(self, work: Coroutine[Any, Any, _Result]) -> _Result | None:
        """Await work; on failure, warn and return None."""
        try:
            return await self._stop.obeyed(work)
        except CommandError as error:
            self._account.warn(error)
            return None

    def _report_stop(self) -> None:
        with suppress(SpoolError):  # called from a signal handler; the loop's next write reports a full disk
            self._ports.emit(StopRequested(by=self._stop.by, forced=self._stop.forced))
