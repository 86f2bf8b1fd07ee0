"""Reads a plan file: any Markdown with a list, or with headings that are steps, is a change."""

from collections.abc import Iterable
from pathlib import Path

from spool.domain.change.change import Change
from spool.domain.change.plan_file.ids import plan_id, plan_path
from spool.errors import ChangeError
from spool.nofollow import Unreadable, read_file
from spool.sources.source import Accepted

_LARGEST_PLAN = 1 << 20
_NO_LIST = "write each task as a list item below its heading, for example: - [ ] Add a login form"
_NO_STEPS = f"{_NO_LIST}; or number the headings that are steps: ## Step 1: Add a login form"


class _Markdown:
    """Plans that are one Markdown file."""

    kind = "plan"
    tool = None

    def find(self, root: Path) -> Iterable[str]:  # noqa: ARG002
        """Return nothing yet."""
        return []

    def holds(self, root: Path, change_id: str) -> bool:  # noqa: ARG002 - one that is gone has an error of its own
        """Whether an id is that of a Markdown file."""
        return plan_path(change_id) is not None

    def read(self, root: Path, change_id: str) -> Change:
        """Read a plan file."""
        return read_plan(root, plan_path(change_id) or change_id)

    def paths(self, root: Path, change_id: str) -> list[Path]:
        """Return the file."""
        return [root / (plan_path(change_id) or change_id)]

    def record(self, text: str, accepted: Accepted) -> str:  # noqa: ARG002 - the agent ticks the boxes
        """Return the text unchanged."""
        return text


MARKDOWN = _Markdown()


def read_plan(root: Path, path: str) -> Change:
    """Read a plan, whose path is below the project, as a change."""
    from spool.domain.change.plan_file.boxed import plan_tasks  # the reader of Markdown takes 30 ms to import

    text = plan_text(root / path, path)
    if not text.strip():
        raise ChangeError(f"{path} is empty", hint=_NO_LIST)
    tasks = plan_tasks(text)
    if not tasks.tasks:
        raise ChangeError(f"{path} has no list of tasks{_untaken(text)}", hint=_NO_STEPS)
    return Change(
        id=plan_id(path),
        source="plan",
        directory=str(Path(path).parent),
        proposal=text,
        tasks=tasks.text,
        plan_file=path,
        listed=tasks,
    )


def _untaken(text: str) -> str:
    """Return where the first list stands that does not count; empty without one."""
    from spool.domain.change.plan_file.task_choice import untaken

    found = untaken(text)
    return f" (line {found[0].line}: {found[0].words})" if found else ""


def plan_text(path: Path, name: str = "") -> str:
    """Return the text of a plan; `name` is what messages call it."""
    name = name or str(path)
    try:
        return read_file(path, most_bytes=_LARGEST_PLAN).decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        raise ChangeError(f"the plan {name} no longer exists") from None
    except UnicodeDecodeError as error:
        raise ChangeError(f"{name} is not UTF-8 text (byte {error.start})") from None
    except Unreadable as error:
        raise ChangeError(str(error.strerror)) from None
    except OSError as error:
        raise ChangeError(f"cannot read {name}: {error.strerror}") from None
