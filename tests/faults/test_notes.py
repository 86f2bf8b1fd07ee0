"""A person's note is kept, whatever an agent does to the state folder at that moment."""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spool.app.loops.notes import add_note
from tests.support import Scratch

NOTES = [f"note {number}" for number in range(12)]


@contextmanager
def removed_again_and_again(folder: Path) -> Iterator[None]:
    """Remove a folder all the time, as an agent's `git clean -fdx` in a loop does."""
    over = threading.Event()

    def remove() -> None:
        while not over.wait(0.002):
            shutil.rmtree(folder, ignore_errors=True)

    remover = threading.Thread(target=remove)
    remover.start()
    try:
        yield
    finally:
        over.set()
        remover.join()


def test_notes_added_while_the_state_folder_is_removed_are_all_kept(scratch: Scratch) -> None:
    with removed_again_and_again(scratch.root / ".spool" / ".state"):
        for note in NOTES:
            add_note(scratch.state, note)
    add_note(scratch.state, "the last")
    assert (scratch.state / "context.md").read_text().splitlines() == [*NOTES, "the last"]


def test_a_note_is_kept_when_the_folder_is_removed_before_its_runner_sees_it(scratch: Scratch) -> None:
    assert scratch.ralph("--add-context", "The port is 8080").returncode == 0
    shutil.rmtree(scratch.root / ".spool" / ".state")
    assert scratch.ralph("--add-context", "The host is localhost").returncode == 0
    assert (scratch.state / "context.md").read_text() == "The port is 8080\nThe host is localhost\n"


def test_a_note_by_the_command_line_survives_a_folder_that_is_removed_all_the_time(scratch: Scratch) -> None:
    with removed_again_and_again(scratch.root / ".spool" / ".state"):
        done = scratch.ralph("--add-context", "The port is 8080")
    assert (done.returncode, done.stderr) == (0, "")
    assert scratch.ralph("--add-context", "Last").returncode == 0
    assert "The port is 8080" in (scratch.state / "context.md").read_text()
