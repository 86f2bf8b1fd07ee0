"""How an agent's time is counted."""

from spool.domain.agent.invocation import Patience
from spool.domain.loop.outcome import StopCause
from spool.engine.agent_limits import IDLE_TICK_S, TICK_S, AgentLimits
from spool.testing.doubles import ManualClock


def ticking(watch: AgentLimits, clock: ManualClock, seconds: float, *, heard: bool = False) -> None:
    for _ in range(int(seconds / TICK_S)):
        clock.advance(TICK_S)
        watch.tick(heard=heard)


def test_wall_and_idle_timeouts() -> None:
    clock = ManualClock()
    watch = AgentLimits(Patience(iteration_s=10, idle_s=4), clock)
    ticking(watch, clock, 3.75)
    assert watch.verdict(promised=False, printed=0) is None
    ticking(watch, clock, 0.25)
    assert watch.verdict(promised=False, printed=0) is StopCause.IDLE
    ticking(watch, clock, 0.25, heard=True)
    assert watch.verdict(promised=False, printed=0) is None
    ticking(watch, clock, 6, heard=True)
    assert watch.verdict(promised=False, printed=0) is StopCause.WALL


def test_no_timeouts() -> None:
    clock = ManualClock()
    watch = AgentLimits(Patience(iteration_s=None, idle_s=None), clock)
    ticking(watch, clock, 1_000)
    assert watch.verdict(promised=False, printed=0) is None


def test_a_promise_gives_a_grace_of_silence() -> None:
    clock = ManualClock()
    watch = AgentLimits(Patience(promise_grace_s=2), clock)
    ticking(watch, clock, 1.75)
    assert watch.verdict(promised=True, printed=0) is None
    ticking(watch, clock, 0.25)
    assert watch.verdict(promised=True, printed=0) is StopCause.PROMISED
    assert watch.verdict(promised=False, printed=0) is None


def test_a_stopped_runner_or_a_sleeping_machine_causes_no_instant_timeout() -> None:
    clock = ManualClock()
    watch = AgentLimits(Patience(iteration_s=10, idle_s=4), clock)
    clock.advance(3_600)
    watch.tick(heard=False)
    assert watch.elapsed_s == 2 * TICK_S
    assert watch.verdict(promised=False, printed=0) is None


def test_a_clock_that_goes_back_costs_nothing() -> None:
    clock = ManualClock()
    watch = AgentLimits(Patience(), clock)
    clock.advance(-3_600)
    watch.tick(heard=False)
    assert watch.elapsed_s == 0


def test_too_much_output() -> None:
    watch = AgentLimits(Patience(output_bytes=100), ManualClock())
    assert watch.verdict(promised=True, printed=101) is StopCause.OUTPUT


def test_a_silent_agent_is_looked_at_less_often_and_its_time_still_counts() -> None:
    clock = ManualClock()
    watch = AgentLimits(Patience(iteration_s=None, idle_s=60), clock)
    ticking(watch, clock, 10)
    assert watch.tick_s == IDLE_TICK_S
    silent_s, ticks = 10.0, 0
    while watch.verdict(promised=False, printed=0) is None:
        clock.advance(watch.tick_s)
        silent_s, ticks = silent_s + watch.tick_s, ticks + 1
        watch.tick(heard=False)
    assert watch.verdict(promised=False, printed=0) is StopCause.IDLE
    assert (silent_s, ticks) == (60, 50 / IDLE_TICK_S)  # a limit is not passed by a tick
    ticking(watch, clock, TICK_S, heard=True)
    assert watch.tick_s == TICK_S


def test_a_limit_on_memory_is_always_looked_after() -> None:
    clock = ManualClock()
    watch = AgentLimits(Patience(memory_bytes=1 << 30), clock)
    ticking(watch, clock, 100)
    assert watch.tick_s == TICK_S
