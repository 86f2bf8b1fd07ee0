"""Runs one iteration: starts an agent, reads its output, stops it at its limits, and records the outcome."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial

import msgspec

from spool.domain.agent.invocation import AgentOptions
from spool.domain.agent.stream import StreamEvent, Usage
from spool.domain.judging.promise.reader import PromiseReader
from spool.domain.loop.budget import Exceeded
from spool.domain.loop.events import Warned
from spool.domain.loop.outcome import Facts, Outcome, OutcomeKind, StopCause, classify
from spool.domain.loop.state import Changes, InFlight, IterationRecord
from spool.domain.text.common_fields import carried
from spool.domain.text.plain_text import one_line
from spool.engine.agent_limits import AgentLimits, BudgetWatch
from spool.engine.agent_transcript import AgentTranscript
from spool.engine.plans.strategy import after_hung_command
from spool.engine.ports import Agent, Clock, Emit, Harness, Ports
from spool.engine.stop_request import Stop
from spool.errors import CommandError, Hint

_READ_TURN = 8 << 20
"""Bytes read before other tasks run, so that a stop is noticed while an agent prints gigabytes."""


async def iterate(
    begun: InFlight,
    harness: Harness,
    options: AgentOptions,
    ports: Ports,
    stop: Stop,
    report: Callable[[StreamEvent], None],
    *,
    prompt: str,
    promise: str,
    exceeded: Callable[[Usage], Exceeded | None],
) -> IterationRecord:
    """Run one agent to its end and return its record; pass each stream event to `report` as it arrives.

    `exceeded` returns the budget that is used up, given the usage of the agent so far.
    """
    reader = PromiseReader(promise, prompt=prompt)
    transcript = AgentTranscript(harness.decoder(), reader, report, allow_all=options.allow_all, price=options.price)
    paths = {
        "prompt_path": ports.agents.prompt_path(begun.iteration),
        "side_path": ports.agents.side_path(begun.iteration),
    }
    invocation = harness.invoke(msgspec.structs.replace(options, **paths))
    start = partial(
        ports.agents.start,
        invocation,
        iteration=begun.iteration,
        prompt=prompt,
        memory_limit=options.patience.memory_bytes,
    )
    facts = await _run_agent(start, options, transcript, BudgetWatch(exceeded), ports.clock, stop)
    facts = msgspec.structs.replace(facts, reading=reader.finish())
    changes, trouble = await _changes(harness, ports, stop)
    outcome = classify(msgspec.structs.replace(facts, changed_files=None if changes is None else changes.count))
    _warn_of_trouble(facts, outcome, ports.emit)
    record = IterationRecord(
        ended_at=max(ports.clock.now(), begun.started_at),
        duration_s=round(facts.duration_s, 3),
        outcome=outcome.kind,
        completion_found=outcome.kind is OutcomeKind.COMPLETED,
        vetoes=facts.reading.vetoes,
        changed_files=changes.count if changes else None,
        usage=facts.usage,
        session=facts.session,
        log=ports.agents.log_path(begun.iteration),
        **carried(begun, IterationRecord),
        **carried(outcome, IterationRecord),
        **(carried(changes, IterationRecord) if changes else {}),
    )
    return record if trouble is None else after_hung_command(record, trouble)


async def _changes(harness: Harness, ports: Ports, stop: Stop) -> tuple[Changes | None, CommandError | None]:
    """Return the changes that git reports; on failure, warn and return the error instead."""
    try:
        return await stop.obeyed(ports.worktree.changes(harness.traits.leavings)), None
    except CommandError as error:
        ports.emit(Warned(message=str(error), hint=error.hint))
        return None, error


def _warn_of_trouble(facts: Facts, outcome: Outcome, emit: Emit) -> None:
    if facts.denied and outcome.kind is not OutcomeKind.PERMISSION_DENIED:
        denied = ", ".join(sorted(set(facts.denied)))
        emit(Warned(message=f"the agent was denied {denied}", hint=Hint.ALLOW_ALL))
    if facts.left:
        left = ", ".join(map(str, facts.left))
        emit(Warned(message=f"cannot stop processes of the agent (running as another user?): {left}"))


async def _run_agent(
    start: Callable[..., AbstractAsyncContextManager[Agent]],
    options: AgentOptions,
    transcript: AgentTranscript,
    budget: BudgetWatch,
    clock: Clock,
    stop: Stop,
) -> Facts:
    started = clock.monotonic()
    wake = asyncio.Event()
    with stop.waking(wake.set):
        async with start(wake=wake.set) as agent:
            watch = AgentLimits(options.patience, clock)
            stopped = await _follow(agent, transcript, watch, budget, stop, wake)
            if not await _drain(agent, transcript, stop):
                stopped = stopped or StopCause.PERSON
            stderr = agent.stderr_tail()
            transcript.finish(stderr, agent.side_text())
            if agent.truncated:
                transcript.disbelieve("the agent's output was cut while it was read")
            return Facts(
                exit_code=agent.exit_code,
                stopped=stopped,
                stopped_by=stop.by,
                memory_limit=options.patience.memory_bytes,
                exceeded=budget.found if stopped is StopCause.BUDGET else None,
                failure=transcript.failure,
                rate_limited_retry_s=transcript.rate_limited_retry_s,
                denied=tuple(transcript.denied),
                allow_all=options.allow_all,
                usage=transcript.usage,
                session=transcript.session,
                stderr_tail=_last_line(stderr),
                duration_s=clock.monotonic() - started,
                left=agent.left,
            )


def _last_line(stderr: str) -> str:
    return one_line(next((line for line in reversed(stderr.splitlines()) if line.strip()), ""), 300)


async def _follow(
    agent: Agent, transcript: AgentTranscript, watch: AgentLimits, budget: BudgetWatch, stop: Stop, wake: asyncio.Event
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


def _must_stop(
    agent: Agent, transcript: AgentTranscript, watch: AgentLimits, budget: BudgetWatch, stop: Stop
) -> StopCause | None:
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


def _read_turn(agent: Agent, transcript: AgentTranscript) -> bool:
    """Read available output, up to 8 MiB; return whether there may be more."""
    taken = 0
    while taken < _READ_TURN:
        chunk = agent.read()
        if not chunk:
            return False
        transcript.feed(chunk)
        taken += len(chunk)
    return True


async def _drain(agent: Agent, transcript: AgentTranscript, stop: Stop) -> bool:
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
