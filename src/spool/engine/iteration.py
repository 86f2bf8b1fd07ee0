"""Runs one iteration: starts an agent, reads its output, stops it at its limits, and records the outcome."""

import asyncio
from collections.abc import Callable, Iterable

import msgspec

from spool.domain.budget import Exceeded, Limit
from spool.domain.events import Warned
from spool.domain.invocation import AgentRequest
from spool.domain.outcome import Facts, Outcome, OutcomeKind, StopCause, classify
from spool.domain.prices import Price, priced
from spool.domain.promise.reader import PromiseReader
from spool.domain.state import Changes, InFlight, IterationRecord
from spool.domain.stream import (
    Denied,
    Done,
    ErrorKind,
    Failure,
    Message,
    Retry,
    StreamEvent,
    ToolResult,
    ToolUse,
    Usage,
    UsageSoFar,
)
from spool.domain.text import one_line
from spool.engine.ports import Agent, Clock, Decoder, Emit, Harness, Ports
from spool.engine.stop import Stop
from spool.errors import CommandError, Hint

TICK_S = 0.25
_READ_TURN = 8 << 20
"""Bytes read before other tasks run, so that a stop is noticed while an agent prints gigabytes."""


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's limits on time, output and memory."""

    iteration_s: float | None = 7_200.0
    idle_s: float | None = 1_800.0
    promise_grace_s: float = 20.0
    output_bytes: int = 4 << 30
    memory_bytes: int = 0


class Transcript:
    """Decodes an agent's output into events and keeps the facts that the outcome needs."""

    def __init__(
        self,
        decoder: Decoder,
        reader: PromiseReader,
        report: Callable[[StreamEvent], None],
        *,
        allow_all: bool = False,
        price: Price | None = None,
    ) -> None:
        self._decoder = decoder
        self._reader = reader
        self._report = report
        self._allow_all = allow_all
        self._price = price
        self._spoke = False
        self.usage = Usage()
        self.session = ""
        self.failure: Failure | None = None
        self.rate_limited_retry_s: float | None = None
        self.denied: list[str] = []
        self.reader_closed = False
        self.over = False
        """Whether the agent has reported its end."""

    def feed(self, chunk: bytes) -> None:
        """Decode the next chunk of output."""
        self._take(self._decoder.feed(chunk))

    def pause(self) -> None:
        """Decode what is certain while the agent is silent."""
        self._take(self._decoder.pause())

    def finish(self, stderr: str, side: str = "") -> None:
        """Decode the rest after the last chunk."""
        self._take(self._decoder.finish(stderr, side))
        if self.failure is not None:
            incomplete = self.failure.error is ErrorKind.INCOMPLETE
            self._reader.veto("the agent's output is incomplete" if incomplete else "the agent ended with an error")

    @property
    def promised(self) -> bool:
        """Whether the output so far ends in a valid promise."""
        return self._reader.current().kept is not None

    def disbelieve(self, why: str) -> None:
        """Refuse all promises, earlier and later."""
        self._reader.end_message()
        self._reader.veto(why)
        self.reader_closed = True

    def _take(self, events: Iterable[StreamEvent]) -> None:
        for event in events:
            if isinstance(event, Denied) and event.withheld and self._allow_all:
                continue
            if isinstance(event, UsageSoFar | Done):
                event = msgspec.structs.replace(event, usage=priced(event.usage, self._price))  # noqa: PLW2901
            self._note(event)
            self._report(event)

    def _note(self, event: StreamEvent) -> None:
        match event:
            case Message(subagent=False, stray=False) if not self.reader_closed:
                self._spoke = True
                self._reader.feed(event.text)
                if not event.partial:
                    self._reader.end_message()
            case ToolUse(subagent=False) if "todo" not in event.tool.lower():  # a list that is updated is not work
                self._reader.tool_used()
            case Denied():
                self.denied.append(event.tool)
            case Failure():
                self.failure = event
            case UsageSoFar():
                self.usage = event.usage
            case Done():
                self.over = True
                if event.usage != Usage():  # one that failed may report none at its end
                    self.usage = event.usage
                self.session = event.session
                if event.content and not self._spoke and not self.reader_closed:
                    self._reader.feed(event.content)
                    self._reader.end_message()
            case ToolResult() | Message() | ToolUse() | Retry():
                pass
        # Output after a stop request does not clear a rate limit: aider prints "^C again to exit".
        if not self.reader_closed:
            match event:
                case Retry(rate_limited=True):
                    self.rate_limited_retry_s = event.delay_s or 0.0
                case _:
                    self.rate_limited_retry_s = None


class Watch:
    """Counts an agent's time in ticks, so that suspending the machine or the runner causes no timeout."""

    def __init__(self, patience: Patience, clock: Clock) -> None:
        self._patience = patience
        self._clock = clock
        self._last = clock.monotonic()
        self._quiet_s = 0.0
        self.elapsed_s = 0.0

    def tick(self, *, heard: bool) -> None:
        """Add the time since the last tick; a gap counts as two ticks at most."""
        now = self._clock.monotonic()
        passed = min(max(0.0, now - self._last), 2 * TICK_S)
        self._last = now
        self.elapsed_s += passed
        self._quiet_s = 0.0 if heard else self._quiet_s + passed

    @property
    def quiet(self) -> bool:
        """Whether the agent has been silent for at least one tick."""
        return self._quiet_s >= TICK_S

    def verdict(self, *, promised: bool, printed: int) -> StopCause | None:
        """Return why the agent must stop now, or None."""
        if self._patience.output_bytes and printed > self._patience.output_bytes:
            return StopCause.OUTPUT
        if promised and self._quiet_s >= self._patience.promise_grace_s:
            return StopCause.PROMISED
        if self._patience.iteration_s and self.elapsed_s >= self._patience.iteration_s:
            return StopCause.WALL
        if self._patience.idle_s and self._quiet_s >= self._patience.idle_s:
            return StopCause.IDLE
        return None


class BudgetWatch:
    """Looks whether a budget is used up while an agent runs."""

    def __init__(self, exceeded: Callable[[Usage], Exceeded | None]) -> None:
        self._exceeded = exceeded
        self.found: Exceeded | None = None

    def verdict(self, transcript: Transcript) -> StopCause | None:
        """Return why the agent must stop now, or None.

        One that has just promised may exit by itself, and one that has reported its end spends only time.
        """
        self.found = self._exceeded(transcript.usage)
        if self.found is None or transcript.promised or (transcript.over and self.found.limit is not Limit.DURATION):
            return None
        return StopCause.BUDGET


class IterationRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The input of one iteration: the prompt, the agent's options and its limits."""

    begun: InFlight
    prompt: str
    promise: str
    directory: str
    patience: Patience
    allow_all: bool = False
    in_sandbox: bool = False
    session: str = ""
    """The agent's conversation to continue; empty for a new one."""
    price: Price | None = None
    exceeded: Callable[[Usage], Exceeded | None] = lambda _: None
    """Returns the budget that is used up, given the usage of the agent so far."""


async def iterate(
    request: IterationRequest, harness: Harness, ports: Ports, stop: Stop, report: Callable[[StreamEvent], None]
) -> IterationRecord:
    """Run one agent to its end and return its record; pass each stream event to `report` as it arrives."""
    facts = await _run_agent(request, harness, ports, stop, report)
    changes = await _changes(harness, ports, stop)
    outcome = classify(msgspec.structs.replace(facts, changed_files=None if changes is None else changes.count))
    _warn_of_trouble(facts, outcome, ports.emit)
    begun = request.begun
    return IterationRecord(
        iteration=begun.iteration,
        run_id=begun.run_id,
        started_at=begun.started_at,
        ended_at=max(ports.clock.now(), begun.started_at),
        duration_s=round(facts.duration_s, 3),
        harness=begun.harness,
        model=begun.model,
        exit_code=outcome.exit_code,
        outcome=outcome.kind,
        reason=outcome.reason,
        note=outcome.note,
        retry_after_s=outcome.retry_after_s,
        resets_at=outcome.resets_at,
        completion_found=outcome.kind is OutcomeKind.COMPLETED,
        refused=outcome.refused,
        hopeless=outcome.hopeless,
        exceeded=outcome.exceeded,
        vetoes=facts.reading.vetoes,
        changed_files=changes.count if changes else None,
        files=changes.files if changes else (),
        insertions=changes.insertions if changes else 0,
        deletions=changes.deletions if changes else 0,
        trees=changes.trees if changes else (),
        usage=facts.usage,
        story_id=begun.story_id,
        attempt=begun.attempt,
        session=facts.session,
        log=ports.agents.log_path(begun.iteration),
    )


async def _changes(harness: Harness, ports: Ports, stop: Stop) -> Changes | None:
    """Return the changes that git reports; on failure, warn and return None."""
    try:
        return await stop.obeyed(ports.worktree.changes(harness.traits.leavings))
    except CommandError as error:
        ports.emit(Warned(message=str(error), hint=error.hint))
        return None


def _warn_of_trouble(facts: Facts, outcome: Outcome, emit: Emit) -> None:
    if facts.denied and outcome.kind is not OutcomeKind.PERMISSION_DENIED:
        denied = ", ".join(sorted(set(facts.denied)))
        emit(Warned(message=f"the agent was denied {denied}", hint=Hint.ALLOW_ALL))
    if facts.left:
        left = ", ".join(map(str, facts.left))
        emit(Warned(message=f"cannot stop processes of the agent (running as another user?): {left}"))


async def _run_agent(
    request: IterationRequest, harness: Harness, ports: Ports, stop: Stop, report: Callable[[StreamEvent], None]
) -> Facts:
    agents, clock, iteration = ports.agents, ports.clock, request.begun.iteration
    limit = request.patience.memory_bytes
    reader = PromiseReader(request.promise, prompt=request.prompt)
    transcript = Transcript(harness.decoder(), reader, report, allow_all=request.allow_all, price=request.price)
    invocation = harness.invoke(
        AgentRequest(
            prompt_path=agents.prompt_path(iteration),
            directory=request.directory,
            model=request.begun.model,
            allow_all=request.allow_all,
            in_sandbox=request.in_sandbox,
            session=request.session,
            side_path=agents.side_path(iteration),
        )
    )
    started = clock.monotonic()
    wake = asyncio.Event()
    with stop.waking(wake.set):
        async with agents.start(
            invocation, iteration=iteration, prompt=request.prompt, memory_limit=limit, wake=wake.set
        ) as agent:
            watch = Watch(request.patience, clock)
            budget = BudgetWatch(request.exceeded)
            stopped = await _follow(agent, transcript, watch, budget, stop, wake)
            if not await _drain(agent, transcript, stop):
                stopped = stopped or StopCause.PERSON
            stderr = agent.stderr_tail()
            transcript.finish(stderr, agent.side_text())
            if agent.truncated:
                transcript.disbelieve("the agent's output was cut while it was read")
            return Facts(
                exit_code=agent.exit_code,
                reading=reader.finish(),
                stopped=stopped,
                stopped_by=stop.by,
                memory_limit=limit,
                exceeded=budget.found if stopped is StopCause.BUDGET else None,
                failure=transcript.failure,
                rate_limited_retry_s=transcript.rate_limited_retry_s,
                denied=tuple(transcript.denied),
                allow_all=request.allow_all,
                usage=transcript.usage,
                session=transcript.session,
                stderr_tail=_last_line(stderr),
                duration_s=clock.monotonic() - started,
                left=agent.left,
            )


def _last_line(stderr: str) -> str:
    return one_line(next((line for line in reversed(stderr.splitlines()) if line.strip()), ""), 300)


async def _follow(
    agent: Agent, transcript: Transcript, watch: Watch, budget: BudgetWatch, stop: Stop, wake: asyncio.Event
) -> StopCause | None:
    """Read until the agent has exited; return why we stopped it, if we did."""
    stopped: StopCause | None = None
    seen = 0
    while not agent.exited:
        wake.clear()
        _read_turn(agent, transcript)
        watch.tick(heard=agent.bytes_seen != seen)
        seen = agent.bytes_seen
        if watch.quiet:
            transcript.pause()
        if stopped is None:
            stopped = _must_stop(agent, transcript, watch, budget, stop)
        if stop.forced:
            agent.kill()
        if not agent.exited:
            await _nap(wake)
    if stopped is None and agent.over_memory:  # the kernel was faster
        transcript.disbelieve("made by an agent that ran out of memory")
        stopped = StopCause.MEMORY
    return stopped


def _must_stop(agent: Agent, transcript: Transcript, watch: Watch, budget: BudgetWatch, stop: Stop) -> StopCause | None:
    promised = watch.quiet and transcript.promised
    cause = StopCause.PERSON if stop.requested else watch.verdict(promised=promised, printed=agent.bytes_seen)
    if cause is None and agent.over_memory:
        cause = StopCause.MEMORY
    cause = cause or budget.verdict(transcript)
    if cause is None:
        return None
    # claude, when stopped in the middle of a tool call, promised COMPLETE in 7 of 8 runs.
    if cause is not StopCause.PROMISED:
        transcript.disbelieve("made after the agent was told to stop")
    agent.kill() if cause is StopCause.MEMORY else agent.stop()
    return cause


def _read_turn(agent: Agent, transcript: Transcript) -> bool:
    """Read available output, up to 8 MiB; return whether there may be more."""
    taken = 0
    while taken < _READ_TURN:
        chunk = agent.read()
        if not chunk:
            return False
        transcript.feed(chunk)
        taken += len(chunk)
    return True


async def _drain(agent: Agent, transcript: Transcript, stop: Stop) -> bool:
    """Read the remaining output unless a stop is requested; return whether all was read."""
    while _read_turn(agent, transcript):
        if stop.requested:
            return False
        await asyncio.sleep(0)
    return True


async def _nap(wake: asyncio.Event) -> None:
    try:
        await asyncio.wait_for(wake.wait(), TICK_S)
    except TimeoutError:
        return
