"""The words in which events are told; every view uses the same ones."""

from spool.domain.events import (
    IterationStarted,
    Retrying,
    Reverted,
    RunEnded,
    StoryDone,
    StoryProgress,
    Waiting,
)
from spool.domain.state import IterationRecord
from spool.domain.stream import Denied, Failure, Retry, ToolUse, Usage
from spool.domain.text import counted, one_line


def started(event: IterationStarted) -> str:
    """Tell that an iteration begins."""
    if event.max_iterations is None:
        return f"iteration {event.iteration}"
    return f"iteration {event.iteration} ({event.run_iteration} of {event.max_iterations} in this run)"


def story(event: StoryProgress | StoryDone | Retrying | Reverted) -> str:
    """Tell what happens to a story."""
    match event:
        case StoryProgress():
            attempt = f", attempt {event.attempt}" if event.attempt > 1 else ""
            return one_line(f"story {event.story_id} ({event.current} of {event.total}{attempt}): {event.title}")
        case StoryDone():
            commit = f", commit {event.commit[:10]}" if event.commit else ""
            return one_line(f"story {event.story_id} is complete: {event.title}{commit}")
        case Retrying():
            return one_line(
                f"story {event.story_id} is tried again ({event.attempt - 1} of {event.max_retries}): {event.because}",
                400,
            )
        case Reverted():
            kept = f"; what was discarded is kept as {event.kept_as}" if event.kept_as else ""
            return f"back at the checkpoint{kept}"


def ended(record: IterationRecord) -> str:
    """Tell how an iteration ended."""
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
    """Tell why an iteration ended as it did, if there is more to tell."""
    return one_line("; ".join(part for part in (record.reason, record.note) if part), 400)


def vetoed(record: IterationRecord) -> list[str]:
    """Tell which promises did not count, unless the reason says so already."""
    told = [f"a promise did not count: {veto.why}" for veto in record.vetoes]
    return told[:-1] if told and told[-1] == record.reason else told


def changed(record: IterationRecord) -> str:
    """Tell how much was changed."""
    count = record.changed_files
    if not count:
        return "no files changed"
    return f"{counted(count, 'file')} changed (+{record.insertions} -{record.deletions})"


def spent(usage: Usage) -> list[str]:
    """Tell what was used, as far as the agent told."""
    said = []
    if usage.tokens is not None:
        said.append(f"{tokens(usage.tokens)} tokens")
    if usage.cost_usd is not None:
        said.append(f"${usage.cost_usd:.2f}")
    return said


def tokens(count: int) -> str:
    """Tell a number of tokens: 950, 12.3k, 4.5M."""
    if count < 1_000:
        return str(count)
    return f"{count / 1_000:.1f}k" if count < 1_000_000 else f"{count / 1_000_000:.1f}M"


def duration(seconds: float) -> str:
    """Tell a duration: 0.4s, 12s, 3m 05s, 2h 10m."""
    if seconds < 10:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes}m {rest:02}s" if minutes < 60 else f"{minutes // 60}h {minutes % 60:02}m"


def tool(event: ToolUse) -> str:
    """Tell a tool call in one line."""
    return one_line(f"{event.tool} {event.summary}", 200)


def trouble(event: Retry | Denied | Failure) -> str:
    """Tell what is in the agent's way."""
    match event:
        case Retry():
            wait = f", waits {duration(event.delay_s)}" if event.delay_s is not None else ""
            return one_line(f"{'rate limited' if event.rate_limited else 'retries'}: {event.message}{wait}")
        case Denied():
            return one_line(f"was refused {event.tool} {event.summary}")
        case Failure():
            return one_line(f"error: {event.message}{f'; {event.hint}' if event.hint else ''}", 400)


def waiting(event: Waiting) -> str:
    """Tell that the loop waits."""
    return one_line(f"waits {duration(event.seconds)}, until {event.until:%H:%M:%S} UTC: {event.reason}")


def over(event: RunEnded) -> str:
    """Tell how the loop ended."""
    return one_line(f"{event.status}: {event.reason}", 400)
