"""OpenTelemetry, as a receiver in a process of its own sees it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from spool.app.loops.loop_list import loop_at
from spool.app.observing.telemetry.activation import is_wanted
from spool.app.observing.telemetry.conventions import provider_of, usage_attributes
from spool.app.reporting.loop_reports import account_loop
from spool.domain.agent.stream import Usage
from spool.domain.loop.events import IterationEnded
from spool.domain.loop.settings import Settings
from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.summary import LoopKind
from spool.host.state.journal import JournalReader
from tests.support import CHANGE, Scratch, make_scratch
from tests.support.night import run_night, set_up_night
from tests.support.scene import half_way

pytest.importorskip("opentelemetry.sdk")
pytestmark = pytest.mark.xdist_group("telemetry")  # its night is played once


@dataclass
class Span:
    """A span as received."""

    name: str
    id: str
    parent: str
    trace: str
    attributes: dict[str, Any]
    error: bool
    began: int
    ended: int


@dataclass
class Received:
    """What a receiver has got."""

    file: Path

    def _all(self, path: str) -> Iterator[dict[str, Any]]:
        for line in self.file.read_text().splitlines():
            got = json.loads(line)
            if got["path"] == path:
                yield got["request"]

    @property
    def spans(self) -> list[Span]:
        return [
            Span(
                one["name"],
                one["spanId"],
                one.get("parentSpanId", ""),
                one["traceId"],
                values(one.get("attributes", [])),
                one.get("status", {}).get("code") == "STATUS_CODE_ERROR",
                int(one["startTimeUnixNano"]),
                int(one["endTimeUnixNano"]),
            )
            for request in self._all("/v1/traces")
            for resource in request["resourceSpans"]
            for scope in resource["scopeSpans"]
            for one in scope["spans"]
        ]

    @property
    def metrics(self) -> dict[str, list[dict[str, Any]]]:
        """The points of each metric, as last received."""
        return {
            metric["name"]: next(metric[kind]["dataPoints"] for kind in ("sum", "histogram") if kind in metric)
            for request in self._all("/v1/metrics")
            for resource in request["resourceMetrics"]
            for scope in resource["scopeMetrics"]
            for metric in scope["metrics"]
        }

    @property
    def services(self) -> set[str]:
        return {
            values(resource["resource"]["attributes"])["service.name"]
            for request in self._all("/v1/traces")
            for resource in request["resourceSpans"]
        }


def values(attributes: list[dict[str, Any]]) -> dict[str, Any]:
    return {one["key"]: next(iter(one["value"].values())) for one in attributes}


@contextmanager
def receiver(folder: Path) -> Iterator[tuple[str, Received]]:
    file = folder / "received.jsonl"
    file.touch()
    argv = [sys.executable, "-m", "tests.telemetry.otlp_receiver", str(file)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}", Received(file)
        process.terminate()


@dataclass
class Night:
    """A night that was watched, and its second run."""

    scratch: Scratch
    received: Received
    first: list[Span]


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Night]:
    folder = tmp_path_factory.mktemp("telemetry")
    scratch = make_scratch(folder)
    set_up_night(scratch)
    with receiver(folder) as (url, received):
        scratch.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = url
        done = run_night(scratch)
        assert done.returncode == 1, done.stderr
        first = received.spans
        yield Night(scratch, received, first)


def named(spans: list[Span], operation: str) -> list[Span]:
    return [span for span in spans if span.attributes.get("gen_ai.operation.name") == operation]


def receipt(scratch: Scratch) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((scratch.run_state / "state.json").read_text())["receipt"]
    return loaded


def test_a_run_is_a_workflow_and_its_iterations_are_agents(night: Night) -> None:
    (run,) = named(night.first, "invoke_workflow")
    assert run.name == "invoke_workflow 002-01_add-ralph-loop"
    assert (run.parent, run.error, run.attributes["spool.status"]) == ("", True, "stuck")
    agents = named(night.first, "invoke_agent")
    assert [span.name for span in agents] == ["invoke_agent scripted"] * 6
    assert {span.parent for span in agents} == {run.id}
    assert [span.attributes["spool.outcome"] for span in agents] == [
        "completed",
        "refused",
        "rate limited",
        "completed",
        "failed",
        "no promise",
    ]
    assert [span.attributes.get("error.type") for span in agents][1] == "refused"
    assert all(run.began <= span.began <= span.ended <= run.ended for span in night.first)
    assert night.received.services == {"spool"}


def test_tools_are_below_their_agent_and_gates_waits_and_reverts_below_the_run(night: Night) -> None:
    (run,) = named(night.first, "invoke_workflow")
    agents = {span.id for span in named(night.first, "invoke_agent")}
    tools = named(night.first, "execute_tool")
    assert Counter(span.attributes["gen_ai.tool.name"] for span in tools) == {"edit": 5, "write": 5}
    assert {span.parent for span in tools} <= agents
    others = [span for span in night.first if "gen_ai.operation.name" not in span.attributes]
    assert {span.parent for span in others} == {run.id}
    kinds = Counter(span.name.split()[0] for span in others)
    assert (kinds["wait"], kinds["revert"]) == (1, 1)
    assert kinds["gate"] > 5


def test_the_figures_are_those_of_the_receipt(night: Night) -> None:
    taken, metrics = receipt(night.scratch), night.received.metrics
    agents = named(night.first, "invoke_agent")
    for name, attribute in (("tokens_in", "input_tokens"), ("tokens_out", "output_tokens")):
        total = sum(int(span.attributes.get(f"gen_ai.usage.{attribute}", 0)) for span in agents)
        assert total == taken["usage"][name]
    tokens = {
        values(point["attributes"])["gen_ai.token.type"]: point["sum"] for point in metrics["gen_ai.client.token.usage"]
    }
    assert tokens == {"input": taken["usage"]["tokens_in"], "output": taken["usage"]["tokens_out"]}
    assert metrics["spool.cost"][0]["asDouble"] == pytest.approx(taken["usage"]["cost_usd"])
    assert sum(int(point["count"]) for point in metrics["gen_ai.client.operation.duration"]) == 6
    assert int(metrics["spool.stories.proved"][0]["asInt"]) == 2
    assert int(metrics["spool.claims.refused"][0]["asInt"]) == 1
    assert int(metrics["spool.promises.refused"][0]["asInt"]) == 1


def test_prompts_and_outputs_stay_here(night: Night) -> None:
    written = night.received.file.read_text()
    assert "I begin with add" not in written
    assert "gen_ai.input.messages" not in written
    assert "tick: 1.1" not in written


def test_a_resumed_run_continues_the_trace_and_content_can_be_asked_for(night: Night) -> None:
    asked = {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true", "OTEL_SERVICE_NAME": "nightly"}
    before = len(night.received.spans)
    night.scratch.run("--max-retries", "0", env=asked)
    (first,) = named(night.first, "invoke_workflow")
    later = night.received.spans[before:]
    assert {span.trace for span in later} == {first.trace}
    (again,) = named(later, "invoke_workflow")
    assert (again.parent, again.id != first.id) == (first.id, True)
    agent = named(later, "invoke_agent")[0]
    assert json.loads(agent.attributes["gen_ai.input.messages"])[0]["role"] == "user"
    assert json.loads(agent.attributes["gen_ai.output.messages"])[0]["parts"][0]["content"] == "I stop here."
    assert "nightly" in night.received.services


def test_an_endpoint_that_never_answers_holds_up_no_loop(scratch: Scratch) -> None:
    scratch.script([{"promise": "COMPLETE"}])
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        done = scratch.ralph("Go", "--harness", "scripted", env={"OTEL_EXPORTER_OTLP_ENDPOINT": url})
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert "opentelemetry" not in done.stderr


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "TRUE"}, False),
    ],
)
def test_the_standard_variables_decide(environment: dict[str, str], wanted: bool) -> None:
    assert is_wanted(environment) is wanted


@pytest.mark.parametrize(
    ("harness", "model", "provider"),
    [
        ("claude", "sonnet", "anthropic"),
        ("opencode", "openai/gpt-5", "openai"),
        ("opencode", "somewhere/model", "somewhere"),
        ("mine", None, "mine"),
    ],
)
def test_providers(harness: str, model: str | None, provider: str) -> None:
    assert provider_of(harness, model) == provider


def test_tokens_read_from_a_cache_are_input_tokens_too() -> None:
    assert usage_attributes(Usage(tokens_in=5, tokens_cached=90, tokens_out=1)) == {
        "gen_ai.usage.input_tokens": 95,
        "gen_ai.usage.output_tokens": 1,
        "gen_ai.usage.cache_read.input_tokens": 90,
    }


def test_an_iteration_names_its_agent_provider_model_and_conversation() -> None:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from spool.app.observing.telemetry.spans import Spans

    kept, tracing = InMemorySpanExporter(), TracerProvider()
    tracing.add_span_processor(SimpleSpanProcessor(kept))
    settings = Settings(harness="claude", model="sonnet")
    spec = LoopSpec(run_id="r", door=LoopKind.RUN, change="add-auth", root="/srv/shop", settings=settings)
    spans = Spans(tracing.get_tracer("test"), spec, None, content=False)
    for event in half_way():
        if isinstance(event, IterationEnded):
            event = msgspec.structs.replace(event, record=msgspec.structs.replace(event.record, session="s-17"))
        spans.see(event)
    agent = next(span for span in kept.get_finished_spans() if span.name == "invoke_agent claude")
    assert agent.attributes is not None
    assert {name: agent.attributes[f"gen_ai.{name}"] for name in ("agent.name", "provider.name", "request.model")} == {
        "agent.name": "claude",
        "provider.name": "anthropic",
        "request.model": "sonnet",
    }
    assert agent.attributes["gen_ai.conversation.id"] == "s-17"


def test_spans_and_metrics_have_the_figures_of_the_account(scratch: Scratch) -> None:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from spool.app.observing.telemetry.metrics import Metrics
    from spool.app.observing.telemetry.spans import Spans

    set_up_night(scratch)
    assert run_night(scratch).returncode == 1
    loop = loop_at(scratch.root, LoopKind.RUN, CHANGE)
    assert loop is not None
    account = account_loop(loop).history
    events = JournalReader(scratch.run_state / "journal.jsonl").read()
    spec = LoopSpec(run_id="r", door=LoopKind.RUN, change=CHANGE, root=str(scratch.root), settings=Settings())
    kept, reader, tracing = InMemorySpanExporter(), InMemoryMetricReader(), TracerProvider()
    tracing.add_span_processor(SimpleSpanProcessor(kept))
    spans = Spans(tracing.get_tracer("test"), spec, None, content=False)
    metrics = Metrics(MeterProvider([reader]).get_meter("test"), spec)
    for event in events:
        spans.see(event)
        metrics.see(event)
    exported = json.loads(reader.get_metrics_data().to_json())  # type: ignore[union-attr]
    found = exported["resource_metrics"][0]["scope_metrics"][0]["metrics"]
    points = {metric["name"]: metric["data"]["data_points"] for metric in found}
    usage = account.receipt.usage
    assert sum(point["sum"] for point in points["gen_ai.client.token.usage"]) == usage.tokens
    assert points["spool.cost"][0]["value"] == pytest.approx(usage.cost_usd)
    assert points["spool.stories.proved"][0]["value"] == sum(story.proved for story in account.receipt.stories)
    assert points["spool.claims.refused"][0]["value"] == account.refused_claims
    assert points["spool.promises.refused"][0]["value"] == account.refused_promises
    seconds = sum(point["sum"] for point in points["gen_ai.client.operation.duration"])
    assert seconds == pytest.approx(account.receipt.agent_s)
    agents = [span for span in kept.get_finished_spans() if span.name.startswith("invoke_agent")]
    assert [(span.attributes or {})["spool.outcome"] for span in agents] == [one.outcome for one in account.attempts]
    reverts = [span for span in kept.get_finished_spans() if span.name == "revert"]
    assert [(span.attributes or {})["spool.discarded"] for span in reverts] == [one.name for one in account.discarded]
