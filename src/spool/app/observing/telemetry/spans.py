"""The spans of a run: the run, its iterations, their tools, and gates, waits and reverts beside them."""

import json
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from opentelemetry.context import Context
from opentelemetry.trace import Span, StatusCode, Tracer, set_span_in_context

from spool.app.observing.telemetry import conventions as names
from spool.domain.account.story_history import is_trouble, outcome_of
from spool.domain.agent.stream import Done, StreamEvent, ToolResult, ToolUse
from spool.domain.judging.gates.gate import JUDGING
from spool.domain.loop import events
from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.state import IterationRecord
from spool.domain.loop.verdict import Status
from spool.domain.text.plain_text import one_line
from spool.domain.text.redaction import redacted
from spool.nofollow import read_file

_CONTENT = 64 << 10
"""The most characters of a prompt or an output, where they are asked for."""


class Spans:
    """Turns a run's events into spans, with the times of the events."""

    def __init__(self, tracer: Tracer, spec: LoopSpec, above: Context | None, *, content: bool) -> None:
        self._tracer = tracer
        self._spec = spec
        self._above = above
        self._content = content
        self._run: Span | None = None
        self._agent: Span | None = None
        self._gate: Span | None = None
        self._wait: Span | None = None
        self._tools: dict[str, Span] = {}
        self._prompt = ""
        self._heard: int | None = None

    def see(self, event: events.Event) -> None:
        """Start or end the spans of one event."""
        at = self._heard = _nanoseconds(event.at) or self._heard
        if (said := events.said_in(event)) is not None:
            self._hear(said, at)
            return
        match event:
            case events.RunStarted():
                self._begin(event, at)
            case events.IterationStarted():
                self._start_agent(event, at)
            case events.IterationEnded():
                self._end_agent(event.record)
            case events.GateStarted():
                about: names.Attributes = {"spool.gate.name": event.gate, "spool.gate.purpose": event.purpose}
                self._gate = self._start(f"gate {one_line(event.gate, 60)}", at, about)
            case events.GateEnded():
                self._end_gate(event, at)
            case events.Waiting():
                reason = redacted(one_line(event.reason, 200))
                self._wait = self._start(
                    "wait", at, {"spool.wait.reason": reason, "spool.wait.planned_s": event.seconds}
                )
            case events.WaitEnded():
                _ended(self._wait, at)
                self._wait = None
            case events.Reverted():
                about = {"spool.story": event.story_id, "spool.discarded": event.kept_as}
                _ended(self._start("revert", at, about), at)
            case events.RunEnded():
                self._finish(event, at)
            case _:
                pass

    def close(self) -> None:
        """End the spans that are open: the runner could not."""
        for span in (*self._tools.values(), self._agent, self._gate, self._wait, self._run):
            _ended(span, self._heard)
        self._tools.clear()
        self._agent = self._gate = self._wait = self._run = None

    def _start(self, name: str, at: int | None, about: names.Attributes, parent: Span | None = None) -> Span:
        above = parent or self._run
        context = set_span_in_context(above) if above is not None else self._above
        return self._tracer.start_span(name, context, attributes=about, start_time=at)

    def _begin(self, event: events.RunStarted, at: int | None) -> None:
        change = one_line(event.change, 120)
        about: names.Attributes = {
            names.OPERATION: names.INVOKE_WORKFLOW,
            names.WORKFLOW: change,
            "spool.run_id": self._spec.run_id,
            "spool.command": str(self._spec.door),
        }
        self._run = self._start(f"{names.INVOKE_WORKFLOW} {change}", at, about)

    def _start_agent(self, event: events.IterationStarted, at: int | None) -> None:
        about = names.agent_attributes(self._spec) | {"spool.iteration": event.iteration}
        self._prompt = event.prompt  # the file is written later
        self._agent = self._start(f"{names.INVOKE_AGENT} {self._spec.settings.harness}", at, about)

    def _hear(self, said: StreamEvent, at: int | None) -> None:
        match said:
            case ToolUse():
                self._start_tool(said, at)
            case ToolResult():
                self._end_tool(said, at)
            case Done() if self._content and self._agent is not None and said.content:
                self._agent.set_attribute(names.OUTPUT_MESSAGES, _message("assistant", said.content))
            case _:
                pass

    def _start_tool(self, said: ToolUse, at: int | None) -> None:
        if said.call_id in self._tools:  # without ids, a call ends with the next one
            _ended(self._tools.pop(said.call_id), at)
        name = one_line(said.tool, 60)
        about: names.Attributes = {names.OPERATION: names.EXECUTE_TOOL, names.TOOL: name}
        about |= {names.CALL: said.call_id} if said.call_id else {}
        about |= {names.ARGUMENTS: said.summary[:_CONTENT]} if self._content else {}
        self._tools[said.call_id] = self._start(f"{names.EXECUTE_TOOL} {name}", at, about, self._agent)

    def _end_tool(self, said: ToolResult, at: int | None) -> None:
        span = self._tools.pop(said.call_id, None)
        if span is None:
            return
        if self._content:
            span.set_attribute(names.RESULT, said.output[:_CONTENT])
        if said.is_error:
            span.set_attribute(names.ERROR, "tool_error")
            span.set_status(StatusCode.ERROR)
        _ended(span, at)

    def _end_agent(self, record: IterationRecord) -> None:
        ended = _nanoseconds(record.ended_at)
        for tool in self._tools.values():
            _ended(tool, ended)
        self._tools.clear()
        span, self._agent = self._agent, None
        if span is None:  # an earlier run was killed in it
            began = _nanoseconds(record.started_at)
            about = names.agent_attributes(self._spec) | {"spool.iteration": record.iteration}
            span = self._start(f"{names.INVOKE_AGENT} {self._spec.settings.harness}", began, about)
        outcome = outcome_of(record)
        about = names.usage_attributes(record.usage) | {"spool.outcome": outcome, "spool.gates_s": record.gates_s}
        about |= {names.CONVERSATION: record.session} if record.session else {}
        about |= {"spool.story": record.story_id} if record.story_id else {}
        about |= {"spool.proof": str(record.proof)} if record.proof else {}
        about |= {"spool.cost_usd": record.usage.cost_usd} if record.usage.cost_usd is not None else {}
        about |= {"spool.commit": record.commit} if record.commit else {}
        if self._content:
            with suppress(OSError):
                about[names.INPUT_MESSAGES] = _message("user", read_file(Path(self._prompt)).decode("utf-8", "replace"))
        if is_trouble(outcome):
            about[names.ERROR] = outcome
            span.set_status(StatusCode.ERROR, redacted(one_line(record.reason, 200)))
        span.set_attributes(about)
        _ended(span, ended)

    def _end_gate(self, event: events.GateEnded, at: int | None) -> None:
        if self._gate is not None:
            self._gate.set_attribute("spool.gate.green", event.green)
            if event.purpose in JUDGING and not event.green:
                self._gate.set_status(StatusCode.ERROR)
        _ended(self._gate, at)
        self._gate = None

    def _finish(self, event: events.RunEnded, at: int | None) -> None:
        if self._run is not None:
            self._run.set_attribute("spool.status", str(event.status))
            if event.status is Status.STUCK:
                self._run.set_attribute(names.ERROR, str(event.limit or event.status))
                self._run.set_status(StatusCode.ERROR, redacted(one_line(event.reason, 200)))
        self._heard = at
        self.close()


def _ended(span: Span | None, at: int | None) -> None:
    """End a span, if there is one."""
    if span is not None:
        span.end(at)


def _nanoseconds(at: datetime | None) -> int | None:
    return None if at is None else int(at.timestamp() * 1_000_000) * 1_000


def _message(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text[:_CONTENT]}]}])
