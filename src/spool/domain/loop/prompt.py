"""Builds the agent's prompts.

No line here holds the promise and nothing else, and each sentence that names it says when it may be made. So an agent
that prints its prompt back has promised nothing, even where the echo is not recognised.
"""

from collections.abc import Sequence

import msgspec

from spool.domain.change.change import Change
from spool.domain.change.story import Story, StoryTask
from spool.domain.change.tasks import Task, TaskList, parse_tasks
from spool.domain.judging.promise import DEFAULT_PROMISE
from spool.domain.text.plain_text import quoted

CHECKS_HEADING = "## How it is checked"
_FIELDS_RULE = "In the format with fields, set its Status to `[x] complete`."
CONTEXT_HEADING = "## Additional Context (added by user mid-loop)"


class RalphPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of an iteration's prompt."""

    iteration: int
    run_iteration: int
    min_iterations: int
    max_iterations: int | None
    promise: str
    change: Change
    user_prompt: str
    context: str = ""
    refusal: str = ""
    """Why the agent's last promise did not count."""
    uncommitted: str = ""
    """The hook's output if it refused the last commit."""
    idle: int = 0
    """Iterations without progress, if one more ends the loop."""
    checks: str = ""
    """The checks that Spool runs at a claim."""
    question_tool: str = ""


class ChangeTexts(msgspec.Struct, frozen=True, kw_only=True):
    """The texts of a change in each story's prompt."""

    id: str
    directory: str
    proposal: str
    task_file: str
    plan_file: str = ""
    scenarios: tuple[str, ...] = ()
    module_text: str = ""
    context: str = ""
    """The documents beside the plan."""


class StoryPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of the prompt for one attempt at a story."""

    iteration: int
    attempt: int
    max_attempts: int
    story: Story
    change: ChangeTexts
    learnings: str
    """Path of the file in which earlier stories wrote down what later ones should know."""
    context: str = ""
    last_failure: str = ""
    refusal: str = ""
    """Why the agent's last COMPLETE did not count."""
    uncommitted: str = ""
    """The hook's output if it refused the last commit."""
    checks: str = ""
    """The checks that Spool runs at a claim."""
    question_tool: str = ""


def build_story_prompt(parts: StoryPrompt) -> str:
    """Return the whole prompt of one attempt at a story."""
    sections = [
        _story_preamble(parts),
        _section(CONTEXT_HEADING, parts.context),
        _failure_section(parts.last_failure),
        _refusal_section(parts.refusal),
        _uncommitted_section(parts.uncommitted),
        _story_section(parts),
        _section("## Scenarios that must hold", "\n\n".join(parts.change.scenarios)),
        _section(f"## The change: {parts.change.id}", parts.change.proposal),
        _section("## Beside the plan", parts.change.context),
        _section("## Its module", parts.change.module_text),
        _section(CHECKS_HEADING, parts.checks),
        _promise_section(DEFAULT_PROMISE, _when_done(parts.story)),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _has_no_box(tasks: Sequence[Task | StoryTask]) -> bool:
    return bool(tasks) and all(task.boxless for task in tasks)


def _when_done(story: Story) -> str:
    boxes = "" if _has_no_box(story.open) else ", its boxes are ticked"
    return f"this story is complete{boxes} and its checks pass"


def _how_to_report(parts: StoryPrompt) -> str:
    """Return the rule for reporting progress: by boxes, or by the promise alone where there are none."""
    where = parts.change.task_file
    if _has_no_box(parts.story.open):
        return f"- The items of `{where}` have no boxes: leave that file as it is. Your promise reports the story."
    other = "In a table, set its status to `done`." if parts.change.plan_file else _FIELDS_RULE
    return f"- When a task is done and checked, tick its box in `{where}`: `- [ ]` becomes `- [x]`. {other}"


def _where_it_is(change: ChangeTexts) -> str:
    if change.plan_file:
        return f"- The whole plan is in `{change.plan_file}`. Do not reword, reorder or remove what it says."
    return f"- The change is in `{change.directory}/`: proposal.md, tasks.md, and specs where there are any."


def _story_preamble(parts: StoryPrompt) -> str:
    lines = [
        f"# Spool: story {parts.story.id}, {parts.story.title}",
        "",
        f"You work on one story of the change `{parts.change.id}`, alone, in attempt {parts.attempt} of at most "
        f"{parts.max_attempts} (iteration {parts.iteration} of the loop). Do this story and no other.",
        "",
        "## How to work",
        "",
        _where_it_is(parts.change),
        f"- Read `{parts.learnings}` first if it is there: earlier stories wrote down what you should know. "
        "Add what the next story should know.",
        _how_to_report(parts),
        "- Verify with the project's own checks, and with each task's Verify line where it has one. "
        "Never weaken a test to make it pass.",
        "- If this attempt fails, all that it changed is taken back, so finish what you begin.",
        *_autonomy(parts.question_tool, but=" (but for the learnings)"),
    ]
    return "\n".join(lines)


def _failure_section(reason: str) -> str:
    if not reason:
        return ""
    return _section("## Why the last attempt failed, in its own words", quoted(reason))


def _refusal_section(refusal: str) -> str:
    """Say why a promise was refused; the end of the prompt says how to write one."""
    if not refusal:
        return ""
    how = "If the work is complete and checked, write the promise as the end of this prompt says. If not, complete it."
    return _section("## Your last promise was refused", f"{refusal}\n\n{how}")


def _uncommitted_section(said: str) -> str:
    """Quote the hook that refused the last commit."""
    if not said:
        return ""
    how = "The work is still in the tree. Correct what the hook complains about; Spool commits again afterwards."
    return _section("## A git hook refused to commit your last work", f"{quoted(said)}\n\n{how}")


def _stall_section(idle: int) -> str:
    """Ask for another approach before the loop ends for lack of progress."""
    if not idle:
        return ""
    last = "The last iteration" if idle == 1 else f"The last {idle} iterations"
    return _section(
        "## Take another approach",
        f"{last} made no progress: no new commit, no lasting change to the files, no box ticked. If this one makes "
        "none either, the loop ends. Do not repeat what was tried. Find out what is in the way, then take a different "
        "or smaller step and leave its result in the files.",
    )


def _story_section(parts: StoryPrompt) -> str:
    lines = []
    for task in parts.story.tasks:
        box = "x" if task.done else task.mark
        lines.append(f"- {task.id} {task.text}" if task.boxless else f"- [{box}] {task.id} {task.text}")
        lines += [f"  - {name}: {value}".replace("\n", "\n    ") for name, value in task.details]
    if any(task.mark == "?" for task in parts.story.tasks):
        lines += ["", "Boxes with a question mark are for a person; leave them alone."]
    if parts.story.criteria:
        lines += ["", "It is accepted when this holds:", "", *(f"- {one}" for one in parts.story.criteria)]
    return _section(f"## Story {parts.story.id}: {parts.story.title}", "\n".join(lines))


def build_ralph_prompt(parts: RalphPrompt, *, ending: str = "") -> str:
    """Return the whole prompt of one iteration; `ending` says what ends the loop, where it is not a promise."""
    sections = [
        preamble(parts),
        _section(CONTEXT_HEADING, parts.context),
        _refusal_section(parts.refusal),
        _uncommitted_section(parts.uncommitted),
        _stall_section(parts.idle),
        _section(f"## The change: {parts.change.id}", parts.change.proposal),
        _section("## Beside the plan", parts.change.context),
        _tasks_section(parts.change),
        _section(f"## Module {parts.change.module}", parts.change.module_text),
        _section("## Your task", parts.user_prompt),
        _section(CHECKS_HEADING, parts.checks),
        ending or _promise_section(parts.promise, "the whole task is complete and checked"),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def preamble(parts: RalphPrompt) -> str:
    """Return the opening: where in the loop this is, and how to work without a person."""
    rules = [
        "- Begin afresh: the files, git and the task list say what is done; do not rely on memory.",
        "- Look at the current state first, then do the most important piece of work that is left.",
        "- Run the project's own checks before you call anything done. Never weaken a test to make it pass.",
        "- Tick a box in the task list only when its work is done and checked.",
        "- When a useful piece of work is done, stop; leave the tree in a state from which the next iteration goes on.",
        *_autonomy(parts.question_tool),
    ]
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


def _autonomy(question_tool: str, *, but: str = "") -> list[str]:
    """Return the rules for working without a person; a question tool is named only where the agent has one."""
    asking = f" Do not use the {question_tool} tool." if question_tool else ""
    return [
        f"- Nobody is there to answer: do not ask, decide for yourself and write down why.{asking}",
        f"- Leave Spool's own files under `.spool/.state/` alone{but}, and start no process that outlives your work.",
    ]


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
    where = f"The task list is `{change.task_file}`."
    if not tasks.tasks:
        return _section("## Tasks", f"{where}\n\n{change.tasks.strip()}" if change.tasks.strip() else "")
    if _has_no_box(tasks.open):
        done = "Its items have no boxes: leave that file as it is, and look at the tree to see what is done."
        return _section("## Tasks", f"{where} {done}\n\n{_listed(tasks)}")
    done = f"{tasks.done_count} of {len(tasks.tasks)} boxes are ticked."
    if not tasks.open:
        return _section("## Tasks", f"{where} {done} None is open.")
    return _section("## Tasks", f"{where} {done} Still open:\n\n{_listed(tasks)}")


def _listed(tasks: TaskList) -> str:
    """Return the open tasks under the headings of their groups."""
    lines, group = [], ""
    for task in tasks.open:
        if task.group != group:
            group = task.group
            lines += ["", f"### {group}", ""] if group else [""]
        lines.append(f"- {task.text}" if task.boxless else f"- [ ] {task.text}")
    return "\n".join(lines).strip()


def _promise_section(promise: str, when: str) -> str:
    return "\n".join(
        [
            "## When you are done",
            "",
            f"Only when {when}, end your last message with `<promise>{promise}</promise>` on a line of its own.",
            "If you cannot go on, end it with `<promise>FAILED: reason</promise>` instead and say what is in the way.",
            "Otherwise write neither.",
        ]
    )


def _section(heading: str, body: str) -> str:
    body = body.strip()
    return f"{heading}\n\n{body}" if body else ""
