"""Sets the SDK up and feeds it a run's events."""

import hashlib
import logging
import os
import threading
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

from spool import __version__
from spool.app.observing.observers import Attention
from spool.app.observing.telemetry.metrics import Metrics
from spool.app.observing.telemetry.spans import Spans
from spool.domain.loop.events import Event, RunEnded
from spool.domain.loop.spec import LoopSpec
from spool.host.state.journal import JournalReader

_CLOSE_S = 5.0
"""The longest wait at the end of a run for a silent endpoint."""
_SCOPE = "spool"


class Telemetry:
    """Exports a run as spans and metrics."""

    attention = Attention()

    def __init__(self, spec: LoopSpec) -> None:
        _silence()
        self._closed = False
        first = _first_run(spec)
        resource = _resource(os.environ)
        self._tracing = TracerProvider(resource=resource, id_generator=_Ids(first, spec.run_id), shutdown_on_exit=False)
        if _exports("TRACES"):
            self._tracing.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        readers: list[MetricReader] = []
        if _exports("METRICS"):
            readers.append(PeriodicExportingMetricReader(OTLPMetricExporter()))
        self._metering = MeterProvider(readers, resource=resource, shutdown_on_exit=False)
        above = None
        if first != spec.run_id:  # a later run continues the trace of the first one
            context = SpanContext(_trace_id(first), _span_id(first), is_remote=True, trace_flags=TraceFlags(1))
            above = set_span_in_context(NonRecordingSpan(context))
        content = os.environ.get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "").lower() == "true"
        self._spans = Spans(self._tracing.get_tracer(_SCOPE, __version__), spec, above, content=content)
        self._metrics = Metrics(self._metering.get_meter(_SCOPE, __version__), spec)

    def see(self, event: Event) -> None:
        """Export one event."""
        self._spans.see(event)
        self._metrics.see(event)
        if isinstance(event, RunEnded):
            self.close()

    def tick(self) -> None:
        """Do nothing; the SDK exports by its own clock."""

    def close(self) -> None:
        """End the spans that are open, and export what is left, for at most five seconds."""
        if self._closed:
            return
        self._closed = True
        self._spans.close()
        ending = threading.Thread(target=self._shut_down, daemon=True)
        ending.start()
        ending.join(_CLOSE_S)

    def _shut_down(self) -> None:
        self._tracing.shutdown()
        self._metering.shutdown()


class _Ids(RandomIdGenerator):
    """Gives all runs of a loop one trace id, and the span of a run an id that later runs know."""

    def __init__(self, first: str, run_id: str) -> None:
        self._trace = _trace_id(first)
        self._next: int | None = _span_id(run_id)

    def generate_trace_id(self) -> int:
        """Return the loop's id."""
        return self._trace

    def generate_span_id(self) -> int:
        """Return the run's id for the first span, then random ones."""
        known, self._next = self._next, None
        return known if known is not None else super().generate_span_id()


def _trace_id(run_id: str) -> int:
    return int.from_bytes(hashlib.sha256(f"trace {run_id}".encode()).digest()[:16], "big") or 1


def _span_id(run_id: str) -> int:
    return int.from_bytes(hashlib.sha256(f"span {run_id}".encode()).digest()[:8], "big") or 1


def _first_run(spec: LoopSpec) -> str:
    """Return the id of the loop's first run, by its journal."""
    try:
        reader = JournalReader(Path(spec.folder) / "journal.jsonl")
    except OSError:
        return spec.run_id
    with closing(reader):
        return next((event.run_id for event in reader.read() if event.run_id), spec.run_id)


def _resource(environment: Mapping[str, str]) -> Resource:
    """Return the resource; a service name of the person's own comes first."""
    named = "OTEL_SERVICE_NAME" in environment or "service.name=" in environment.get("OTEL_RESOURCE_ATTRIBUTES", "")
    name = {} if named else {"service.name": "spool"}
    return Resource.create({**name, "service.version": __version__})


def _exports(signal: str) -> bool:
    return os.environ.get(f"OTEL_{signal}_EXPORTER", "otlp").lower() != "none"


def _silence() -> None:
    """Keep the SDK's complaints about an endpoint off the terminal."""
    logger = logging.getLogger("opentelemetry")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
