"""OpenTelemetry for runs: an observer that exports spans and metrics by OTLP. Needs the extra `[otel]`.

It is on where the standard variables name an endpoint and the SDK is installed; until then nothing imports the SDK.
"""

import os
from collections.abc import Mapping
from importlib.util import find_spec

from spool.app.observing.observers import Observer, complain
from spool.domain.loop.spec import LoopSpec

_ENDPOINTS = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)


def is_wanted(environment: Mapping[str, str]) -> bool:
    """Whether the standard variables ask for telemetry."""
    off = environment.get("OTEL_SDK_DISABLED", "").lower() == "true"
    return not off and any(environment.get(name) for name in _ENDPOINTS)


def telemetry_of(spec: LoopSpec) -> list[Observer]:
    """Return the observer that exports a run, if the environment asks for it and the SDK is installed."""
    if not is_wanted(os.environ) or find_spec("opentelemetry") is None:
        return []
    try:
        from spool.app.observing.telemetry.export import Telemetry

        return [Telemetry(spec)]
    except Exception as error:  # noqa: BLE001 - a broken set-up must not end the loop
        complain("no telemetry", error)
        return []
