"""What the Info and Changes tabs and the preview say, as blocks."""

from collections.abc import Sequence

from spool.domain import words
from spool.domain.story import StoryList
from spool.domain.text import counted, one_line
from spool.tui.blocks import Block, Form, Tone, markdown, plain
from spool.tui.client import Diff, FileDiff
from spool.tui.progress import WHOLE, Attempt, LoopProgress, StoryView

_DONE = ("x", "X")
_BY_SIGN = {"+": Tone.GOOD, "-": Tone.BAD, "@": Tone.HUNK}


def info(progress: LoopProgress, view: StoryView, stories: StoryList, scenarios: Sequence[str]) -> list[Block]:
    """Tell a story's tasks, its attempts with their reasons, and the scenarios."""
    found = [_heading("Tasks")]
    told = [story for story in stories.stories if view.id in (story.id, WHOLE)]
    found += [_task(task.mark, f"{task.id} {task.text}") for story in told for task in story.tasks]
    if not told:
        found.append(_line("there are none in tasks.md now", Tone.DIM))
    found += [_heading("Attempts" if view.id else "Iterations"), *_attempts(view)]
    if progress.warnings:
        found += [_heading("Warnings"), *(_line(one_line(text, 400), Tone.WARN) for text in progress.warnings)]
    if scenarios:
        found += [_heading("Scenarios"), *(block for text in scenarios for block in markdown(text))]
    return found


def summary(view: StoryView) -> list[Block]:
    """Tell what became of a story: its attempts with their reasons, and the files they changed."""
    found = [_heading(f"{view.id} {view.title}".strip()), *_attempts(view)]
    return found + [_line(f"  {one_line(name, 400)}", Tone.PLAIN) for name in sorted(view.files)]


def changes(diff: Diff, view: StoryView) -> list[Block]:
    """Tell which files have changed, with a patch for each that unfolds."""
    if diff.files:
        added = sum(file.added or 0 for file in diff.files)
        removed = sum(file.removed or 0 for file in diff.files)
        when = "between this checkpoint and the next" if view.until else "since the checkpoint"
        head = f"{counted(len(diff.files), 'file')} changed {when}"
        found = [_line(f"{head} (+{added} -{removed})", Tone.STRONG), _line("", Tone.PLAIN)]
        return found + [block for number, file in enumerate(diff.files) for block in _file(number, file)]
    if view.files:
        found = [_line(f"{counted(len(view.files), 'file')} changed", Tone.STRONG), _line(diff.note, Tone.DIM)]
        return [*found, *(_line(one_line(name), Tone.PLAIN) for name in sorted(view.files))]
    return [_line(diff.note or "nothing has changed since the checkpoint", Tone.DIM)]


def _file(number: int, file: FileDiff) -> list[Block]:
    counted = "binary" if file.added is None else f"+{file.added} -{file.removed}"
    head = Block(text=f"{one_line(file.path)}  {counted}", form=Form.LINE, tone=Tone.STRONG, fold=number, head=True)
    if not file.patch or file.added is None:
        why = "not text" if file.added is None else "too long to be shown here"
        return [head, *plain(why, tone=Tone.DIM, indent=2, fold=number)]
    hunks = file.patch.partition("\n@@")
    lines = f"@@{hunks[2]}".splitlines() if hunks[1] else []
    return [head, *_coloured([line for line in lines if not line.startswith("\\")], number)]


def _coloured(lines: list[str], number: int) -> list[Block]:
    """Return lines in the colour of their first sign, neighbours of one colour as one block."""
    found: list[Block] = []
    run: list[str] = []
    for at, line in enumerate(lines):
        run.append(line)
        if at + 1 == len(lines) or lines[at + 1][:1] != line[:1]:
            found += plain("\n".join(run), tone=_BY_SIGN.get(line[:1], Tone.PLAIN), indent=2, fold=number)
            run = []
    return found


def _task(mark: str, text: str) -> Block:
    done = mark in _DONE
    sign = "✓" if done else "○" if mark == " " else mark
    return _line(f"{sign} {one_line(text, 300)}", Tone.GOOD if done else Tone.PLAIN)


def _attempts(view: StoryView) -> list[Block]:
    return [_attempt(one, whole=view.id == WHOLE) for one in view.attempts] or [_line("not begun", Tone.DIM)]


def _attempt(attempt: Attempt, *, whole: bool) -> Block:
    place = f"iteration {attempt.iteration}" + ("" if whole else f", attempt {attempt.number}")
    if not attempt.outcome:
        return _line(f"{place}: running", Tone.CALL)
    told = f"{place}: {attempt.outcome}, {words.duration(attempt.seconds)}"
    if attempt.reason:
        told += f" ({one_line(attempt.reason, 400)})"
    return _line(told, Tone.GOOD if attempt.outcome == "completed" else Tone.WARN)


def _heading(text: str) -> Block:
    return Block(text=text, form=Form.RULE, tone=Tone.STRONG)


def _line(text: str, tone: Tone) -> Block:
    return Block(text=text, form=Form.LINE, tone=tone)


def failure(text: str) -> Block:
    """Tell why there is nothing to show."""
    return _line(one_line(text, 400), Tone.DIM)
