"""Markdown plans: any file with boxes, with a list, or with headings that are steps."""

from collections.abc import Mapping

from spool.domain.change.tasks import TaskList
from spool.errors import ChangeError
from spool.sources.plan_format import PlanFormat

_NO_STEPS = (
    "write each task as a list item below its heading, for example: - [ ] Add a login form; "
    "or number the headings that are steps: ## Step 1: Add a login form"
)
_NAME = r".*\.(md|markdown)"


def parse_markdown(text: str, beside: Mapping[str, str]) -> TaskList:  # noqa: ARG001 - other formats look there
    """Read a plan; refuse one without tasks, with the first list that does not count."""
    from spool.domain.change.plan_file.boxed import plan_tasks  # the reader of Markdown takes 30 ms to import
    from spool.domain.change.plan_file.task_choice import untaken

    tasks = plan_tasks(text)
    if not tasks.tasks:
        rest = "".join(f" (line {one.line}: {one.words})" for one in untaken(text)[:1])
        raise ChangeError(f"has no list of tasks{rest}", hint=_NO_STEPS)
    return tasks


MARKDOWN = PlanFormat(
    kind="plan",
    owns=_NAME,
    places=(("", r"(plan|todo)\.(md|markdown)"), ("plans", _NAME), ("docs/plans", _NAME)),
    parse=parse_markdown,
)
