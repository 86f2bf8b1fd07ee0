"""What the Info and Changes tabs and the preview say, as blocks."""

from collections.abc import Sequence

from spool.domain import words
from spool.domain.story import Story
from spool.domain.text import counted, one_line
from spool.tui.blocks import Block, Form, Tone, markdown, plain
from spool.tui.client import Diff, FileDiff
from spool.tui.progress import Attempt, LoopProgress, StoryView

_DONE = ("x", "X")
_BY_SIGN = {"+": Tone.GOOD, "-": Tone.BAD, "@": Tone.HUNK}


def info(progress: LoopProgress, view: StoryView, story: Story | None, scenarios: Sequence[str]) -> list[Block]:
    """Tell a story's tasks, its attempts with their reasons, and the scenarios."""
    found = [_heading("Tasks")]
    if story is None:
        found.append(_line("this loop works on the whole change", Tone.DIM))
    else:
        found += [_task(task.mark, f"{task.id} {task.text}") for task in story.tasks]
    found += [_heading("Attempts"), *(_attempt(one) for one in view.attempts)]
    if not view.attempts:
        found.append(_line("none yet", Tone.DIM))
    if progress.warnings:
        found += [_heading("Warnings"), *(_line(one_line(text, 400), Tone.WARN) for text in progress.warnings)]
    if scenarios:
        found += [_heading("Scenarios"), *(block for text in scenarios for block in markdown(text))]
    return found


def summary(view: StoryView) -> list[Block]:
    """Tell what became of a story: its attempts with their reasons, and the files they changed."""
    found = [_heading(f"{view.id} {view.title}".strip()), *(_attempt(one) for one in view.attempts)]
    if not view.attempts:
        found.append(_line("not begun", Tone.DIM))
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
    lines = [line for line in file.patch.splitlines() if not _is_header(line)]
    return [head, *_coloured(lines, number)]


def _is_header(line: str) -> bool:
    return line.startswith(("diff --git", "index ", "--- ", "+++ ", "new file mode", "deleted file mode", "\\ No newl"))


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


def _attempt(attempt: Attempt) -> Block:
    if not attempt.outcome:
        return _line(f"{attempt.number}: running (iteration {attempt.iteration})", Tone.CALL)
    told = f"{attempt.number}: {attempt.outcome}, {words.duration(attempt.seconds)}, iteration {attempt.iteration}"
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
