"""Formats events and figures as text; all views use the same wording."""

import re
import shlex
from collections.abc import Sequence
from datetime import datetime

from spool.app.loops.reach import loop_branch
from spool.domain.account.story_history import outcome_of
from spool.domain.agent.stream import AgentRetry, Denied, Failure, ToolResult, ToolUse, Usage
from spool.domain.judging.gates.findings import UNTESTED
from spool.domain.judging.gates.gate import JUDGING, VERIFIED, BuiltInGate, GatePurpose, Proof
from spool.domain.loop import events
from spool.domain.loop.state import IterationRecord
from spool.domain.loop.summary import LoopSummary
from spool.domain.loop.verdict import end_word
from spool.domain.text.plain_text import clean, counted, one_line, with_reason
from spool.views.hints import worded

_COMMITS = 5
_LINES = 20
_COLUMNS = 200
"""The length shown of a tool's output: the end of a traceback says what went wrong."""


def named(loop: LoopSummary) -> str:
    """Name a loop with its project and its branch: `add-auth (3f2a1c) in shop on change/add-auth`."""
    branch = loop_branch(loop)
    where = f" in {one_line(loop.name, 60)}{f' on {one_line(branch, 120)}' if branch else ''}"
    return f"{one_line(loop.change, 120)} ({loop.id}){where if loop.project else ''}"


def started(event: events.IterationStarted) -> str:
    """Describe the start of an iteration, with the time of day."""
    at = f", {clock(event.at)}" if event.at else ""
    if event.max_iterations is None:
        return f"iteration {event.iteration}{at}"
    return f"iteration {event.iteration} ({event.run_iteration} of {event.max_iterations} in this run){at}"


def clock(at: datetime) -> str:
    """Format the time of day where the reader is."""
    return f"{at.astimezone():%H:%M:%S}"


def moment(at: datetime) -> str:
    """Format date and time where the reader is."""
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S}"


def story(
    event: events.StoryProgress | events.StoryDone | events.Retrying | events.Reverted | events.TreeKept,
) -> str:
    """Describe what happens to a story."""
    match event:
        case events.StoryProgress():
            attempt = f", attempt {event.attempt}" if event.attempt > 1 else ""
            return one_line(f"story {event.story_id} ({event.current} of {event.total}{attempt}): {event.title}")
        case events.StoryDone():
            commit = f", commit {event.commit[:10]}" if event.commit else ""
            checked = f", {event.proof}" if event.proof in VERIFIED else " on the agent's word"
            return one_line(f"story {event.story_id} is complete{checked}: {event.title}{commit}")
        case events.Retrying():
            what = f"retrying story {event.story_id}" if event.story_id else "retrying"
            return one_line(
                f"{what} (retry {event.attempt - 1} of {event.max_retries}): {event.because}",
                400,
            )
        case events.Reverted():
            if event.resumed and event.kept_as:  # a person may have worked here since the stop
                kept = f"later changes, yours included, are saved: spool checkpoint restore {event.kept_as}"
                return f"reverted to the story's checkpoint; {kept}; {_BEFORE}"
            kept = f"; the discarded work is kept as {event.kept_as}" if event.kept_as else ""
            return f"reverted to the checkpoint{kept}{f'; {_BEFORE}' if event.resumed else ''}"
        case events.TreeKept():
            why = ", which may have been edited since the last run" if event.edited else ""
            back = f"its checkpoint is saved: spool checkpoint restore {event.saved_as}"
            return f"continuing from the working tree as it is{why}; {back}"


_BEFORE = "refused attempts move the checkpoint, and spool undo returns to where the story began"


def ended(record: IterationRecord) -> str:
    """Describe how an iteration ended."""
    parts = [f"iteration {record.iteration}: {outcome_of(record)}", duration(record.duration_s)]
    if record.exit_code:
        parts.append(f"exit code {record.exit_code}")
    if record.changed_files is not None:
        parts.append(changed(record))
    parts += spent(record.usage)
    if record.commit:
        parts.append(f"commit {record.commit[:10]}")
    return " · ".join([*parts, clock(record.ended_at)])


def why(record: IterationRecord) -> str:
    """Return the reason and note of an iteration's outcome, or an empty string."""
    rejected = record.rejected.why if record.rejected else ""
    return one_line("; ".join(part for part in (record.reason, rejected, worded(record.note)) if part), 400)


def vetoed(record: IterationRecord) -> list[str]:
    """Return a line per refused promise, without the last if it is the record's reason."""
    lines = [f"a promise did not count: {veto.why}" for veto in record.vetoes]
    return lines[:-1] if lines and lines[-1] == record.reason else lines


def changed(record: IterationRecord) -> str:
    """Format the count of changed files and lines."""
    count = record.changed_files
    if not count:
        return "no files changed"
    return f"{counted(count, 'file')} changed (+{record.insertions} -{record.deletions})"


def commits(names: Sequence[str]) -> str:
    """List commits, shortened: `commits 0826d60dd9, cbf4669879`."""
    shown = ", ".join(clean(name[:10]) for name in names[:_COMMITS])
    more = f" and {len(names) - _COMMITS} more" if len(names) > _COMMITS else ""
    return f"{'commit' if len(names) == 1 else 'commits'} {shown}{more}"


def restore(name: str) -> str:
    """Return the command that brings discarded work back."""
    return f"spool checkpoint restore {shlex.quote(one_line(name, 200))}"


def spent(usage: Usage) -> list[str]:
    """Format the tokens and cost that the agent reported."""
    parts = []
    if usage.tokens is not None:
        parts.append(f"{tokens(usage.tokens)} tokens")
    if usage.cost_usd is not None:
        parts.append(f"${usage.cost_usd:.2f}")
    return parts


def tokens(count: int) -> str:
    """Format a number of tokens: 950, 12.3k, 4.5M."""
    if count < 1_000:
        return str(count)
    return f"{count / 1_000:.1f}k" if count < 1_000_000 else f"{count / 1_000_000:.1f}M"


def duration(seconds: float) -> str:
    """Format a duration: 0.4s, 12s, 3m 05s, 2h 10m."""
    if seconds < 10:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes}m {rest:02}s" if minutes < 60 else f"{minutes // 60}h {minutes % 60:02}m"


def tool(event: ToolUse) -> str:
    """Format a tool call in one line."""
    return one_line(f"{event.tool} {event.summary}", 200)


def call(use: ToolUse, result: ToolResult | None) -> str:
    """Format a tool call in one line, with the exit code of one that failed."""
    if result is None or not result.is_error:
        return tool(use)
    found = _EXIT.search(result.output, 0, _EXIT_WITHIN) or _EXIT.search(result.output[-_EXIT_WITHIN:])
    return f"{tool(use)}: {f'exit {found[1]}' if found else 'failed'}"


_EXIT = re.compile(r"\bexit(?:ed)?(?: with)? (?:code|status)[: ]*([0-9]{1,3})\b", re.IGNORECASE)
_EXIT_WITHIN = 200
"""Characters at either end of an output in which agents name the exit code of a command."""


def tool_output(event: ToolResult) -> str:
    """Format a tool's output, indented; its lines stay lines, the last ones where there are many."""
    lines = clean(event.output).rstrip().splitlines()
    left_out = [f"({counted(len(lines) - _LINES, 'more line')})"] if len(lines) > _LINES else []
    return "\n".join(f"    {capped_line(one)}" for one in [*left_out, *lines[-_LINES:]])


def capped_line(text: str) -> str:
    """Return one line with its indentation, cut at 200 characters."""
    return text if len(text) <= _COLUMNS else f"{text[: _COLUMNS - 1]}…"


def trouble(event: AgentRetry | Denied | Failure) -> str:
    """Describe a retry, a denied tool or a failure."""
    match event:
        case AgentRetry():
            wait = f", waiting {duration(event.delay_s)}" if event.delay_s is not None else ""
            return one_line(f"{'rate limited' if event.rate_limited else 'retrying'}: {event.message}{wait}")
        case Denied():
            return one_line(f"denied: {event.tool} {event.summary}")
        case Failure():
            return one_line(f"error: {event.message}{f'; {worded(event.hint)}' if event.hint else ''}", 400)


_PURPOSES = {
    GatePurpose.BASELINE: "before the change",
    GatePurpose.BASELINE_AGAIN: "before the change, a second time, to find flaky tests",
    GatePurpose.CLAIM: "",
    GatePurpose.CLAIM_AGAIN: "a second time, to find flaky tests",
    GatePurpose.REPLAY: "with the tests as they were",
    GatePurpose.REPLAY_AGAIN: "with the tests as they were, a second time, to find flaky tests",
    GatePurpose.PROOF: "without the change",
    GatePurpose.CONTROL: "in a fresh checkout",
}


def checking(event: events.GateStarted) -> str:
    """Describe a gate that starts."""
    return one_line(f"checking: {gate(event.gate, event.purpose)}")


def gate(name: str, purpose: GatePurpose) -> str:
    """Name a gate, and why it runs if not for a claim."""
    why = _PURPOSES[purpose]
    return one_line(f"{name}, {why}" if why else name)


_STEPS = {
    GatePurpose.BASELINE: "before",
    GatePurpose.BASELINE_AGAIN: "before, again",
    GatePurpose.CLAIM: "",
    GatePurpose.CLAIM_AGAIN: "again",
    GatePurpose.REPLAY: "as they were",
    GatePurpose.REPLAY_AGAIN: "as they were, again",
    GatePurpose.PROOF: "without it",
    GatePurpose.CONTROL: "in a fresh checkout",
}


def gate_chain(runs: Sequence[events.GateStarted | events.GateEnded]) -> str:
    """Describe gates that ran for one claim: `claimed → tests green → as they were → without it: red · 3.2s`."""
    parts = ["claimed"] if any(run.purpose in JUDGING for run in runs) else []
    before = ""
    for run in runs:
        step = _STEPS[run.purpose]
        name = one_line(run.gate, 60) if run.gate != before or not step else ""
        before, label = run.gate, f"{name} {step}".strip()
        if isinstance(run, events.GateStarted):
            parts.append(f"{label}: running")
        elif run.purpose in _AS_CLAIMED and run.green:
            parts.append(label)
        else:
            parts.append(f"{label}{':' if step else ''} {'green' if run.green else 'red'}")
    took_s = sum(run.duration_s for run in runs if isinstance(run, events.GateEnded))
    return one_line(" → ".join(parts) + (f" · {duration(took_s)}" if took_s else ""), 400)


_AS_CLAIMED = (GatePurpose.REPLAY, GatePurpose.REPLAY_AGAIN)
"""Runs that say nothing new if they are green."""


def proof(event: events.Complete) -> str:
    """Return the evidence of a loop's end."""
    return rests_on(event.proof or Proof.WORD, event.evidence)


_UNCHECKED = "nothing checked"


def start_line(event: events.RunStarted) -> str:
    """Describe how a run starts: agent and model, permissions, sandbox, checks, budget."""
    agent = f"{event.harness}, model {event.model}" if event.model else event.harness
    asks = {True: "allow-all", False: "without allow-all"}
    checks = [name for name in event.checks or () if name != BuiltInGate.TASKS]
    limits = event.limits
    budget = [
        *([f"${limits.max_cost_usd:.2f}"] if limits.max_cost_usd else []),
        *([f"{tokens(limits.max_tokens)} tokens"] if limits.max_tokens else []),
        *([duration(limits.max_duration_s)] if limits.max_duration_s else []),
        *([f"${limits.max_cost_per_day:.2f} a day"] if limits.max_cost_per_day else []),
    ]
    parts = [
        agent,
        *([asks[event.allow_all]] if event.allow_all is not None else []),
        event.sandbox,
        *([f"checks: {', '.join(checks)}"] if checks else []),
        f"budget: {', '.join(budget)}" if budget else "no budget",
    ]
    return one_line(" · ".join(parts), 400)


def unchecked(checks: Sequence[str] | None) -> str:
    """Warn at the start of a loop that only boxes, which the agent ticks itself, will end it."""
    nothing = checks is not None and set(checks) <= {"tasks"}
    return "nothing will be checked: --verify CMD, or spool init" if nothing else ""


def rests_on(said: Proof, evidence: str) -> str:
    """Describe what the gates allow to be said, and why."""
    if said is Proof.WORD:
        why = evidence or _UNCHECKED
        hint = "; --verify CMD checks" if why.endswith((_UNCHECKED, UNTESTED)) else ""
        return one_line(f"done on the agent's word: {why}{hint}", 400)
    return one_line(f"{said}: {evidence}", 400)


def working(event: events.Working) -> str:
    """Describe Spool's own work on a large tree."""
    match event.step:
        case "checkpoint":
            return f"saving the working tree, {counted(event.files, 'file')}"
        case "restore":
            return f"restoring the working tree, {counted(event.files, 'file')}"
        case "clone":
            return "making the clone"


def waiting(event: events.Waiting) -> str:
    """Describe a wait."""
    return one_line(f"waiting {duration(event.seconds)}, until {clock(event.until)}: {event.reason}")


def stopping(event: events.StopRequested) -> str:
    """Describe a request to stop."""
    return one_line(f"{'forced to stop' if event.forced else 'stopping'} ({event.by})")


def warning(event: events.Warned) -> str:
    """Format a warning with its hint."""
    return one_line(f"{event.message}{f'; {worded(event.hint)}' if event.hint else ''}", 400)


def kept(event: events.Error) -> str:
    """Describe where the work of a failed story is, and how to continue from it."""
    return (
        f"the work of story {one_line(event.kept, 40)} is in the working tree; "
        "run again with --on-resume keep to continue from it, or --on-resume revert to restore its checkpoint"
    )


def undo(event: events.RunEnded) -> str:
    """Return how to go back to before the attempts of a run that is not done."""
    return f"to return to where it began: spool undo {clean(event.run_id.rpartition('-')[2])}".rstrip()


def over(event: events.RunEnded) -> str:
    """Describe how the loop ended."""
    return one_line(with_reason(end_word(event.status, event.exit_code), event.reason), 400)
