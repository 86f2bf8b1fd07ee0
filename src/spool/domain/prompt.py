"""Builds what the agent gets to read.

No line here holds the promise and nothing else, and each sentence that names it says when it may be made. So an agent
that prints its prompt back has promised nothing, even where its output cannot be told from an echo.
"""

import msgspec

from spool.domain.change import Change
from spool.domain.tasks import parse_tasks

CONTEXT_HEADING = "## Additional Context (added by user mid-loop)"


class RalphPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """All that goes into the prompt of one iteration."""

    iteration: int
    run_iteration: int
    min_iterations: int
    max_iterations: int | None
    promise: str
    change: Change
    user_prompt: str
    context: str = ""
    question_tool: str = ""


def build_ralph_prompt(parts: RalphPrompt) -> str:
    """Return the whole prompt of one iteration."""
    sections = [
        preamble(parts),
        _section(CONTEXT_HEADING, parts.context),
        _section(f"## The change: {parts.change.id}", parts.change.proposal),
        _tasks_section(parts.change),
        _section(f"## Module {parts.change.module}", parts.change.module_text),
        _section("## Your task", parts.user_prompt),
        _promise_section(parts.promise),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def preamble(parts: RalphPrompt) -> str:
    """Return the opening: where in the loop this is, and how to work without a person."""
    rules = [
        "- Each iteration is a fresh start: you remember nothing. The files, git and the task list say what is done.",
        "- Look at the current state first, then do the most important piece of work that is left.",
        "- Run the project's own checks before you call anything done. Never weaken a test to make it pass.",
        "- Tick a box in the task list only when its work is done and checked.",
        "- Leave the working tree in a state from which the next iteration can go on.",
        "- Nobody is there to answer: do not ask, decide for yourself and write down why.",
    ]
    if parts.question_tool:
        rules.append(f"- Do not use the {parts.question_tool} tool.")
    rules.append("- Do not touch `.spool/.state/`, and do not start processes that outlive your work.")
    return "\n".join(
        [
            f"# Spool loop: iteration {parts.iteration}",
            "",
            _where(parts),
            "",
            "## How to work",
            "",
            *rules,
        ]
    )


def _where(parts: RalphPrompt) -> str:
    limit = f"of at most {parts.max_iterations}" if parts.max_iterations is not None else "with no upper limit"
    said = (
        f"You are in iteration {parts.iteration} of an autonomous development loop: the same task is given to you "
        f"again and again until it is complete. In this run it is iteration {parts.run_iteration} {limit}."
    )
    if parts.min_iterations > parts.run_iteration:
        said += (
            f" The loop goes on until at least iteration {parts.min_iterations} of this run;"
            " use what is left of it to review and improve."
        )
    return said


def _tasks_section(change: Change) -> str:
    if change.tasks is None:
        return ""
    tasks = parse_tasks(change.tasks)
    where = f"The task list is `{change.directory}/tasks.md`."
    if not tasks.tasks:
        return _section("## Tasks", f"{where}\n\n{change.tasks.strip()}" if change.tasks.strip() else "")
    done = f"{tasks.done_count} of {len(tasks.tasks)} boxes are ticked."
    if not tasks.open:
        return _section("## Tasks", f"{where} {done} None is open.")
    lines, group = [f"{where} {done} Still open:", ""], ""
    for task in tasks.open:
        if task.group != group:
            group = task.group
            lines += ["", f"### {group}", ""] if group else [""]
        lines.append(f"- [ ] {task.text}")
    return _section("## Tasks", "\n".join(lines).replace("\n\n\n", "\n\n"))


def _promise_section(promise: str) -> str:
    return "\n".join(
        [
            "## When you are done",
            "",
            "Only when the whole task is complete and checked, end your last message with "
            f"`<promise>{promise}</promise>` on a line of its own.",
            "If you cannot go on, end it with `<promise>FAILED: reason</promise>` instead and say what is in the way.",
            "Otherwise write neither: stop when a useful piece of work is done, and the next iteration goes on.",
        ]
    )


def _section(heading: str, body: str) -> str:
    body = body.strip()
    return f"{heading}\n\n{body}" if body else ""
