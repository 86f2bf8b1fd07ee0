"""Reads a plan file: any Markdown with a list, or with headings that are steps, is a change."""

from pathlib import Path

from spool.domain.change.change import Change
from spool.domain.change.plan_file.boxed import task_list
from spool.domain.change.plan_file.ids import plan_id
from spool.errors import ChangeError
from spool.nofollow import Unreadable, read_file

_LARGEST_PLAN = 1 << 20
_NO_LIST = "write each task as a list item below its heading, for example: - [ ] Add a login form"
_NO_STEPS = f"{_NO_LIST}; or number the headings that are steps: ## Step 1: Add a login form"


def read_plan(root: Path, path: str) -> Change:
    """Read a plan, whose path is below the project, as a change."""
    text = plan_text(root / path, path)
    if not text.strip():
        raise ChangeError(f"{path} is empty", hint=_NO_LIST)
    tasks = task_list(text)
    if not tasks.strip():
        raise ChangeError(f"{path} has no list of tasks", hint=_NO_STEPS)
    folder = str(Path(path).parent)
    return Change(id=plan_id(path), source="plan", directory=folder, proposal=text, tasks=tasks, plan_file=path)


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
