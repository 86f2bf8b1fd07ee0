"""The metrics of a run: tokens, cost, duration, proved stories, refused claims and promises."""

from opentelemetry.metrics import Meter

from spool.app.observing.telemetry.conventions import (
    ERROR,
    INPUT,
    OUTPUT,
    TOKEN_TYPE,
    agent_attributes,
    usage_attributes,
)
from spool.domain.account.story_history import is_trouble, outcome_of
from spool.domain.judging.gates.gate import Proof
from spool.domain.loop import events
from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.state import IterationRecord

_TOKENS = [4**power for power in range(14)]
_SECONDS = [0.01 * 2**power for power in range(14)] + [300.0, 900.0, 3_600.0, 10_800.0]


class Metrics:
    """Counts what a run's events say."""

    def __init__(self, meter: Meter, spec: LoopSpec) -> None:
        self._agent = agent_attributes(spec)
        self._loop = {"spool.change": spec.change, "spool.command": str(spec.door)}
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            unit="{token}",
            description="Tokens of an iteration.",
            explicit_bucket_boundaries_advisory=_TOKENS,
        )
        self._duration = meter.create_histogram(
            "gen_ai.client.operation.duration",
            unit="s",
            description="Duration of an agent's iteration.",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self._cost = meter.create_counter("spool.cost", unit="USD", description="Cost that agents reported.")
        self._proved = meter.create_counter("spool.stories.proved", unit="{story}", description="Proved stories.")
        self._claims = meter.create_counter(
            "spool.claims.refused", unit="{claim}", description="Claims of completion that a gate refused."
        )
        self._promises = meter.create_counter(
            "spool.promises.refused", unit="{promise}", description="Promises that did not count."
        )

    def see(self, event: events.Event) -> None:
        """Count one event."""
        match event:
            case events.IterationEnded():
                self._iteration(event.record)
            case events.StoryDone(proof=Proof.PROVED):
                self._proved.add(1, self._loop)
            case _:
                pass

    def _iteration(self, record: IterationRecord) -> None:
        outcome = outcome_of(record)
        failed = {ERROR: outcome} if is_trouble(outcome) else {}
        self._duration.record(record.duration_s, {**self._agent, **failed})
        used = usage_attributes(record.usage)
        for name, kind in ((INPUT, "input"), (OUTPUT, "output")):
            if name in used:
                self._tokens.record(int(used[name]), {**self._agent, TOKEN_TYPE: kind})
        if record.usage.cost_usd:
            self._cost.add(record.usage.cost_usd, self._loop)
        if record.rejected is not None:
            self._claims.add(1, self._loop)
        if record.vetoes:
            self._promises.add(len(record.vetoes), self._loop)
