"""Runs iterations until a verdict ends the loop.

Facts, decision and effect are separate: `iteration` gathers facts, `domain.outcome` classifies them, the plan decides,
and this module acts on the verdict. Work on the tree is saved as due before it is done.
"""

from contextlib import suppress
from functools import partial
from typing import Any, assert_never

import msgspec

from spool.domain.agent.invocation import AgentOptions
from spool.domain.loop.events import IterationStarted, RunStarted, StopRequested, Warned
from spool.domain.loop.outcome import OutcomeKind, stopped_words
from spool.domain.loop.plan_memory import Due, PlanMemory, due_in
from spool.domain.loop.state import InFlight, IterationRecord, LoopState, UnfinishedIteration, ended_early
from spool.domain.loop.summary import Phase
from spool.domain.loop.verdict import (
    Continue,
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
from spool.engine.closing import Closing
from spool.engine.examination import Examiner
from spool.engine.gates.gatekeeper import Gatekeeper
from spool.engine.iteration import iterate
from spool.engine.plans.strategy import IterationNumbers, Strategy, after_failed_commit, after_hung_command
from spool.engine.ports import Harness, Ports
from spool.engine.spending import Spending
from spool.engine.state_writer import StateWriter
from spool.engine.stop_request import Stop
from spool.engine.waits import Waits
from spool.errors import ChangeError, CommandError, CommandTimeout, FencedOff, SpoolError


class Loop:
    """Drives one run."""

    def __init__(
        self,
        plan: Strategy[Any],
        harness: Harness,
        options: AgentOptions,
        ports: Ports,
        stop: Stop,
        state: LoopState,
        *,
        unjudged: UnfinishedIteration | None = None,
        keeper: Gatekeeper | None = None,
    ) -> None:
        self._plan = plan
        self._harness = harness
        self._options = options
        self._ports = ports
        self._stop = stop
        self._unjudged = unjudged
        self._account = StateWriter(ports, state, closing=unjudged.record.iteration if unjudged else 0)
        self._examiner = Examiner(plan, keeper, self._account, ports, stop)
        self._closing = Closing(plan, keeper, self._account, ports, stop)
        self._tally = Tally(run_iterations=0)
        self._spending = Spending(plan.limits, ports.expenses, ports.clock)
        self._waits = Waits(self._account, self._spending, ports, stop, harness=harness.name)
        self._mark_is_old = True

    @property
    def _state(self) -> LoopState:
        return self._account.state

    async def run(self) -> Finish:
        """Run to the end, and write the end to disk and to the journal."""
        self._account.save(status=Status.RUNNING, phase=Phase.STARTING)
        self._ports.emit(
            RunStarted(
                change=self._state.change,
                harness=self._harness.name,
                model=self._options.model,
                limits=self._plan.limits,
                iteration=self._state.iteration,
                sandbox=self._state.sandbox,
                allow_all=self._options.allow_all,
                checks=self._state.checks,
                usage=self._state.usage,
                started_at=self._state.started_at,
            )
        )
        for concern in self._spending.concerns(self._harness, self._options.price):
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
        resumable = self._state.story is not None or self._options.auto_commit
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
                if finish := self._retried(error):
                    return finish
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
        verdict, memory = self._judged(record, advance(self._tally, record.as_outcome()))
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
        while due_in(self._state.memory) is not Due.NOTHING and not self._stop.requested:
            try:
                memory = await self._stop.obeyed(self._plan.settle(self._state.memory))
            except CommandError as error:
                if finish := self._retried(error):
                    return finish
                continue
            if memory is None:
                return self._stopped()
            self._account.save(memory=memory)
        return None

    async def _one(self) -> Verdict:
        """Run one iteration, record it, and return the verdict on it."""
        place = IterationNumbers(iteration=self._state.iteration + 1, run_iteration=self._tally.run_iterations + 1)
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
        if (failed := await self._mark()) is not None:
            return failed
        memory, begun = self._state.memory, self._begin(place)
        if not await self._admitted():
            return self._not_started(begun)
        record = await iterate(
            begun,
            self._harness,
            self._options,
            self._ports,
            self._stop,
            lambda said: self._ports.emit(self._plan.event(memory, place, said)),
            prompt=prompt,
            promise=self._plan.promise,
            exceeded=partial(self._spending.exceeded, self._state.usage),
        )
        self._options = self._options.continuing(record.session)
        record = await self._committed(record)
        begun = msgspec.structs.replace(begun, ended=record)
        examined = await self._examiner.examined(
            record, lambda: self._account.save(phase=Phase.RECORDING, in_flight=begun)
        )
        if examined is None:
            return self._stopped()
        record = examined
        self._tally = advance(self._tally, record.as_outcome())
        verdict, memory = self._judged(record, self._tally)
        # The history has the end. If the next iteration begins at once, one save of the state serves both.
        at_once = verdict == Continue() and due_in(memory) is Due.NOTHING
        self._account.end_iteration(record, memory, saved_soon=at_once)
        if concern := self._spending.concern_about(record):
            self._ports.emit(Warned(message=concern.message, hint=concern.hint))
        return verdict

    async def _mark(self) -> Verdict | None:
        """Mark the tree unless it is marked; return the verdict on a git that fails a story by not answering."""
        # A plan with stories may have changed the tree itself, and gates leave files behind.
        if not (self._mark_is_old or self._examiner.ran_gates or self._state.story is not None):
            return None
        try:
            await self._stop.obeyed(self._ports.worktree.mark())
        except CommandError as error:
            if self._state.story is not None and isinstance(error, CommandTimeout):
                return self._judge_failed_command(error)
            self._account.warn(error)
        self._mark_is_old = self._examiner.ran_gates = False
        return None

    async def _admitted(self) -> bool:
        """Return whether the agent may start; a stop may come first."""

        async def admit() -> bool:
            await self._ports.admission.admit(self._state)
            return True

        return bool(await self._stop.obeyed(admit())) and not self._stop.requested

    def _not_started(self, begun: InFlight) -> Finish:
        """Record an iteration that was stopped before its agent started."""
        now = max(self._ports.clock.now(), begun.started_at)
        record = ended_early(begun, ended_at=now, reason="stopped before its agent started")
        self._account.end_iteration(record, self._state.memory)
        return self._stopped()

    async def _prepare(self, place: IterationNumbers) -> str | Verdict:
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

    def _begin(self, place: IterationNumbers) -> InFlight:
        """Save the iteration as in flight, and return it."""
        begun = self._in_flight(place.iteration)
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
        return begun

    def _in_flight(self, iteration: int) -> InFlight:
        story = self._state.story
        return InFlight(
            iteration=iteration,
            run_id=self._state.run_id,
            started_at=self._ports.clock.now(),
            harness=self._harness.name,
            model=self._options.model,
            story_id=story.id if story else None,
            attempt=story.attempt if story else None,
        )

    async def _committed(self, record: IterationRecord) -> IterationRecord:
        """Return the record, with its commit if one is wanted and made."""
        if not self._options.auto_commit or self._stop.requested or record.changed_files == 0:
            return record
        message, memory = f"{self._state.change}: iteration {record.iteration}", self._state.memory
        try:
            commit = await self._stop.obeyed(self._ports.worktree.commit(message, leaving=memory.leavings))
            self._account.remember(msgspec.structs.replace(memory, uncommitted=""))
        except CommandError as error:
            self._account.warn(error, about="commit")
            self._account.remember(after_failed_commit(memory, error))
            return after_hung_command(record, error)
        return msgspec.structs.replace(record, commit=commit)

    def _judged(self, record: IterationRecord, tally: Tally) -> tuple[Verdict, PlanMemory]:
        now, used = self._ports.clock.now().timestamp(), self._state.usage + record.usage
        judgement = self._plan.judge(self._state.memory, record, tally, used=used, now=now)
        return judgement.verdict, judgement.memory

    def _judge_failed_command(self, error: CommandError) -> Verdict:
        kind = OutcomeKind.TIMEOUT if isinstance(error, CommandTimeout) else OutcomeKind.HARNESS_ERROR
        self._account.warn(error)
        begun = self._in_flight(self._state.iteration)
        failed = ended_early(begun, kind, ended_at=begun.started_at, reason=error.advice)
        verdict, memory = self._judged(failed, self._tally)
        self._account.remember(memory)
        return verdict

    def _retried(self, error: CommandError) -> Finish | None:
        """Judge a command that is run again, and report what that costs; return the end, if it is one."""
        verdict = self._judge_failed_command(error)
        if isinstance(verdict, Retry):
            self._account.report_retry(verdict)
        return verdict if isinstance(verdict, Finish) else None

    def _stopped(self) -> Finish:
        return Finish(Status.STOPPED, stopped_words(self._stop.by), ExitCode.INTERRUPTED)

    def _report_stop(self) -> None:
        with suppress(SpoolError):  # called from a signal handler; the loop's next write reports a full disk
            self._ports.emit(StopRequested(by=self._stop.by, forced=self._stop.forced))
