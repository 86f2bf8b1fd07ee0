"""Finds what an agent would stumble over in a written change. Advice, not a verdict on the work."""

import re
from collections.abc import Iterator

import msgspec

from spool.domain.change.change import Change
from spool.domain.change.plan_file.task_choice import untaken, untasked
from spool.domain.change.story import Story, StoryList
from spool.domain.text.plain_text import counted
from spool.errors import Hint

MANY_TASKS = 15
"""A story with more tasks is hard to finish in one attempt, and a revert loses all of it."""
_UNGROUPED = 5
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_HEADING = re.compile(r"^#{1,6}[ \t].*$", re.MULTILINE)
_NO_GROUPS = "All tasks"


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is missing or too large in a change."""

    serious: bool
    """Whether the change cannot be run as it is."""
    what: str
    hint: str = ""


def findings(change: Change, stories: StoryList, *, gates: int) -> tuple[Advice, ...]:
    """Return what an agent would stumble over, the serious things first."""
    found = [*_proposal(change), *_tasks(change, stories)]
    if not gates:
        found.append(
            Advice(serious=False, what="no check is configured: the agent's word ends the loop", hint=Hint.ADD_GATE)
        )
    return tuple(sorted(found, key=lambda one: not one.serious))


def _proposal(change: Change) -> Iterator[Advice]:
    if change.plan_file:
        return
    text = _HEADING.sub("", _COMMENT.sub("", change.proposal))
    if not text.strip():
        what = "proposal.md says nothing beyond its headings: the agent has to guess what you want"
        yield Advice(serious=True, what=what, hint="say why, and what is different when it is done")


def _tasks(change: Change, stories: StoryList) -> Iterator[Advice]:
    tasks = [task for story in stories.stories for task in story.tasks]
    if not tasks:
        what = "no tasks.md" if change.tasks is None else "no tasks in tasks.md"
        yield Advice(serious=True, what=what, hint="write `- [ ] 1.1 …` tasks under `## 1. …` headings")
        return
    if len(stories.stories) == 1 and stories.stories[0].title == _NO_GROUPS and len(tasks) >= _UNGROUPED:
        what = f"no groups: {counted(len(tasks), 'task')} are one story, which is one attempt"
        yield Advice(serious=False, what=what, hint="group them under headings, two to eight tasks each")
    for story in stories.stories:
        yield from _story(story)
    markdown = change.plan_file if not change.plan_file.lower().endswith(".json") else ""
    for title in untasked(change.proposal) if markdown else ():
        what = f"the section {title!r} has no list: it is not worked on"
        yield Advice(serious=False, what=what, hint="write what is to be done in it as list items")
    for rest in untaken(change.proposal) if markdown else ():
        yield Advice(serious=False, what=f"line {rest.line}: {rest.words}")
    if not any(task.open for task in tasks):
        yield Advice(serious=False, what="no task is open: there is nothing to run")
    ids = [task.id for task in tasks]
    if twice := sorted({one for one in ids if ids.count(one) > 1}):
        yield Advice(serious=False, what=f"two tasks have the same number: {', '.join(twice)}")


def _story(story: Story) -> Iterator[Advice]:
    if len(story.tasks) > MANY_TASKS:
        what = f"story {story.id} has {len(story.tasks)} tasks: a failed attempt takes all of them back"
        yield Advice(serious=False, what=what, hint="split it into stories that leave the tests green")
    if empty := [task.id for task in story.tasks if not task.text.strip()]:
        yield Advice(serious=False, what=f"tasks without a text: {', '.join(empty)}")
