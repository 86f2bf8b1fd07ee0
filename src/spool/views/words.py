"""Formats events and figures as text; all views use the same wording."""

from spool.domain import events
from spool.domain.gates.values import Proof
from spool.domain.state import IterationRecord
from spool.domain.stream import Denied, Failure, Retry, ToolUse, Usage
from spool.domain.text import counted, one_line
from spool.views.hints import worded


def started(event: events.IterationStarted) -> str:
    """Describe the start of an iteration."""
    if event.max_iterations is None:
        return f"iteration {event.iteration}"
    return f"iteration {event.iteration} ({event.run_iteration} of {event.max_iterations} in this run)"


def story(event: events.StoryProgress | events.StoryDone | events.Retrying | events.Reverted) -> str:
    """Describe what happens to a story."""
    match event:
        case events.StoryProgress():
            attempt = f", attempt {event.attempt}" if event.attempt > 1 else ""
            return one_line(f"story {event.story_id} ({event.current} of {event.total}{attempt}): {event.title}")
        case events.StoryDone():
            commit = f", commit {event.commit[:10]}" if event.commit else ""
            return one_line(f"story {event.story_id} is complete: {event.title}{commit}")
        case events.Retrying():
            return one_line(
                f"retrying story {event.story_id} ({event.attempt - 1} of {event.max_retries}): {event.because}",
                400,
            )
        case events.Reverted():
            if event.resumed and event.kept_as:  # a person may have worked here since the stop
                kept = f"later changes, yours included, are saved: spool checkpoint restore {event.kept_as}"
                return f"reverted to the story's checkpoint; {kept}"
            kept = f"; the discarded work is kept as {event.kept_as}" if event.kept_as else ""
            return f"reverted to the checkpoint{kept}"


def ended(record: IterationRecord) -> str:
    """Describe how an iteration ended."""
    parts = [f"iteration {record.iteration}: {record.outcome}", duration(record.duration_s)]
    if record.exit_code:
        parts.append(f"exit code {record.exit_code}")
    if record.changed_files is not None:
        parts.append(changed(record))
    parts += spent(record.usage)
    if record.commit:
        parts.append(f"commit {record.commit[:10]}")
    return " · ".join(parts)


def why(record: IterationRecord) -> str:
    """Return the reason and note of an iteration's outcome, or an empty string."""
    return one_line("; ".join(part for part in (record.reason, worded(record.note)) if part), 400)


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


def trouble(event: Retry | Denied | Failure) -> str:
    """Describe a retry, a denied tool or a failure."""
    match event:
        case Retry():
            wait = f", waiting {duration(event.delay_s)}" if event.delay_s is not None else ""
            return one_line(f"{'rate limited' if event.rate_limited else 'retrying'}: {event.message}{wait}")
        case Denied():
            return one_line(f"denied: {event.tool} {event.summary}")
        case Failure():
            return one_line(f"error: {event.message}{f'; {worded(event.hint)}' if event.hint else ''}", 400)


_PURPOSES = {
    "baseline": "before the first agent",
    "again": "again, since it was red",
    "replay": "with the tests as they were",
    "proof": "without the change",
    "control": "in a fresh checkout",
}


def checking(event: events.GateStarted) -> str:
    """Describe a gate that starts."""
    purpose = _PURPOSES.get(event.purpose)
    return one_line(f"checking: {event.gate}{f', {purpose}' if purpose else ''}")


def proof(event: events.Complete) -> str:
    """Say what the end of a loop rests on."""
    if event.proof is Proof.WORD:
        return one_line(f"done on the agent's word: {event.evidence}; --verify CMD checks", 400)
    return one_line(f"{event.proof}: {event.evidence}", 400)


def waiting(event: events.Waiting) -> str:
    """Describe a wait."""
    return one_line(f"waiting {duration(event.seconds)}, until {event.until:%H:%M:%S} UTC: {event.reason}")


def warning(event: events.Warned) -> str:
    """Format a warning with its hint."""
    return one_line(f"{event.message}{f'; {worded(event.hint)}' if event.hint else ''}", 400)


def kept(event: events.Error) -> str:
    """Describe where the work of a failed story is, and how to continue from it."""
    return (
        f"the work of story {one_line(event.kept, 40)} is in the working tree; "
        "run again with --on-resume keep to continue from it, or --on-resume revert to restore its checkpoint"
    )


def over(event: events.RunEnded) -> str:
    """Describe how the loop ended."""
    return one_line(f"{event.status}: {event.reason}", 400)
