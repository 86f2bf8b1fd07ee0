"""Runs one iteration: starts an agent, reads its output, stops it at its limits, and records the outcome."""

import asyncio
from collections.abc import Callable

import msgspec

from spool.domain.budget import Exceeded
from spool.domain.events import Warned
from spool.domain.invocation import AgentRequest
from spool.domain.outcome import Facts, Outcome, OutcomeKind, StopCause, classify
from spool.domain.prices import Price
from spool.domain.promise.reader import PromiseReader
from spool.domain.state import Changes, InFlight, IterationRecord
from spool.domain.stream import StreamEvent, Usage
from spool.domain.text import one_line
from spool.engine.ports import Agent, Emit, Harness, Ports
from spool.engine.stop import Stop
from spool.engine.transcript import Transcript
from spool.engine.watch import BudgetWatch, Patience, Watch
from spool.errors import CommandError, Hint

_READ_TURN = 8 << 20
"""Bytes read before other tasks run, so that a stop is noticed while an agent prints gigabytes."""


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
            await _nap(wake, watch.tick_s)
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
        transcript.disbelieve("made after the agent was asked to stop")
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


async def _nap(wake: asyncio.Event, seconds: float) -> None:
    """Wait to be woken, by a timer at the latest; `wait_for` would make a task and an exception for each nap."""
    timer = asyncio.get_running_loop().call_later(seconds, wake.set)
    try:
        await wake.wait()
    finally:
        timer.cancel()
