"""Builds the blocks of the Info and Changes tabs and of the result."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import groupby
from zlib import crc32

from spool.app.loops.client import Diff, FileChange
from spool.app.reporting.loop_reports import LoopReports
from spool.domain.account.account import LoopAccount
from spool.domain.account.progress import WHOLE, IterationFigures, LoopProgress, StoryHistory
from spool.domain.change.story import StoryList
from spool.domain.loop.summary import LoopKind
from spool.domain.loop.verdict import Status
from spool.domain.text.plain_text import clean, counted
from spool.tui.blocks import NO_FOLD, TONES, Block, Form, Tone, line, markdown, plain, rule
from spool.views import words
from spool.views.hints import worded
from spool.views.look import DONE, OPEN
from spool.views.report.report_words import CONTINUE, steps, title, verdict
from spool.views.report.terminal import ReportLine, page

_DONE = ("x", "X")
_BY_SIGN = {"+": Tone.GOOD, "-": Tone.BAD, "@": Tone.ODD}


def info(progress: LoopProgress, view: StoryHistory, stories: StoryList, scenarios: Sequence[str]) -> list[Block]:
    """Return a story's tasks, its attempts with their reasons, the warnings and the scenarios."""
    found = [rule("Tasks")]
    shown = [story for story in stories.stories if view.id in (story.id, WHOLE)]
    found += [_task(task.mark, f"{task.id} {task.text}") for story in shown for task in story.tasks]
    if not shown:
        found.append(line("none in tasks.md", Tone.DIM))
    found += [rule("Attempts" if view.id else "Iterations"), *_attempts(progress, view)]
    if progress.warnings:
        found += [rule("Warnings"), *(line(words.warning(event), Tone.WARN) for event in progress.warnings)]
    if scenarios:
        found += [rule("Scenarios"), *(block for text in scenarios for block in markdown(text))]
    return found


def result(reported: LoopAccount, width: int) -> tuple[list[Block], list[str]]:
    """Return the lines of `spool report`, and the stories in their order; the line of the nth is a head, fold n."""
    report = LoopReports(made_at=datetime.now(UTC), since=None, loops=(reported,))
    found, stories = list[Block](), list[str]()
    for one in page(report, width):
        fold = NO_FOLD if one.story is None else len(stories)
        stories += [] if one.story is None else [one.story]
        found.append(_told(one, fold))
    return found, stories


def card(reported: LoopAccount, kept: str) -> str:
    """Return how a loop that was stopped has ended, what it kept, and how to continue it."""
    found = [f"{title(reported)}: {verdict(reported.history)}", kept]
    if reported.loop.status is Status.DONE:
        return "\n".join([*found, *(f"{one.label} {one.command}" for one in steps(reported)[:1])])
    ways = ["Enter, then R"] if reported.loop.door is LoopKind.RUN else []
    ways += [one.command for one in steps(reported) if one.label == CONTINUE]
    return "\n".join([*found, f"Continue with: {', or '.join(ways)}"] if ways else found)


def _told(one: ReportLine, fold: int) -> Block:
    text = clean(one.text).lstrip(" ")
    indent = len(one.text) - len(one.text.lstrip(" "))  # also of the rest, if it does not fit
    word, head = one.word or text, fold != NO_FOLD
    return Block(text=text, form=Form.LINE, tone=TONES[one.role], indent=indent, word=word, fold=fold, head=head)


def changes(diff: Diff, view: StoryHistory) -> list[Block]:
    """Return the changed files, each with a patch that unfolds."""
    if diff.files:
        added = sum(file.added or 0 for file in diff.files)
        removed = sum(file.removed or 0 for file in diff.files)
        when = "between this checkpoint and the next" if view.until else "since the checkpoint"
        head = f"{counted(len(diff.files), 'file')} changed {when}"
        found = [line(f"{head} (+{added} -{removed})", Tone.STRONG), line("")]
        return found + [block for file in diff.files for block in _file(file)]
    if view.files:
        found = [line(f"{counted(len(view.files), 'file')} changed", Tone.STRONG), line(diff.note, Tone.DIM)]
        return [*found, *(line(name) for name in view.files)]
    return [line(diff.note or "no changes since the checkpoint", Tone.DIM)]


def _file(file: FileChange) -> list[Block]:
    fold = crc32(file.path.encode("utf-8", "surrogateescape"))  # stable while other files come and go
    changed = "binary or too large" if file.added is None else f"+{file.added} -{file.removed}"
    head = line(f"{file.path}  {changed}", Tone.STRONG, fold=fold)
    hunks = file.patch.partition("\n@@")
    lines = [one for one in f"@@{hunks[2]}".splitlines() if one[:1] in "+- @"] if hunks[1] else []
    return [head, *(_coloured(lines, fold) or plain("not shown here", tone=Tone.DIM, indent=2, fold=fold))]


def _coloured(lines: list[str], fold: int) -> list[Block]:
    """Return lines coloured by their first character, neighbours of one colour as one block."""
    signs = groupby(lines, key=lambda one: one[:1])
    coloured = (("\n".join(run), _BY_SIGN.get(sign, Tone.PLAIN)) for sign, run in signs)
    return [block for text, tone in coloured for block in plain(text, tone=tone, indent=2, fold=fold, form=Form.PATCH)]


def _task(mark: str, text: str) -> Block:
    done = mark in _DONE
    sign = DONE if done else OPEN if mark == " " else mark
    return line(f"{sign} {text}", Tone.GOOD if done else Tone.PLAIN)


def _attempts(progress: LoopProgress, view: StoryHistory) -> list[Block]:
    attempts = progress.history.of_story(view.id)
    return [_attempt(one, whole=view.id == WHOLE) for one in attempts] or [line("not started", Tone.DIM)]


def _attempt(attempt: IterationFigures, *, whole: bool) -> Block:
    place = f"iteration {attempt.iteration}" + ("" if whole else f", attempt {attempt.number}")
    if not attempt.outcome:
        return line(f"{place}: running", Tone.CALL)
    text = f"{place}: {attempt.outcome}, {words.duration(attempt.seconds)}"
    if reason := "; ".join(part for part in (attempt.why, worded(attempt.note)) if part):
        text += f" ({reason})"
    return line(text, Tone.GOOD if attempt.outcome == "completed" else Tone.WARN)
