"""Compares a task list with the last one that a person left.

An agent may tick boxes and add some. A box that it rewords, removes, sets aside or fences counts as open. Items without
a box are noted here, once their story is accepted.
"""

from collections.abc import Mapping

import msgspec

from spool.domain.story import Story, StoryList, StoryTask
from spool.domain.tasks import BOXLESS

_OPEN = (" ", BOXLESS)
_DONE = "x"
_Key = tuple[str, str]


class Box(msgspec.Struct, frozen=True, array_like=True):
    """One box, and the story it belongs to."""

    story: str
    title: str
    id: str
    text: str
    mark: str

    @property
    def key(self) -> _Key:
        """What identifies the task: its id and its words."""
        return self.id, " ".join(self.text.split())


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """The boxes as a person left them, and as they were when Spool looked last."""

    persons: tuple[Box, ...] = ()
    seen: tuple[Box, ...] = ()
    texts: str = ""
    """The proposal and the task list before the first agent."""
    accepted: tuple[_Key, ...] = ()
    """The tasks without a box whose story was accepted, each by its story's title and its words."""


def boxes_of(stories: StoryList) -> tuple[Box, ...]:
    """Return the boxes of a task list."""
    return tuple(
        Box(story.id, story.title, task.id, task.text, task.mark.lower())
        for story in stories.stories
        for task in story.tasks
    )


def after_person(ledger: Ledger, stories: StoryList) -> Ledger:
    """Return the ledger before an agent starts: what changed since Spool looked last is a person's work."""
    now = boxes_of(stories)
    if now == ledger.seen:
        return ledger
    if not ledger.seen:
        return msgspec.structs.replace(ledger, persons=now, seen=now)
    seen, current = _by_key(ledger.seen), _by_key(now)
    kept = [_as_left(box, seen, current) for box in ledger.persons if box.key not in seen or box.key in current]
    known = {box.key for box in kept}
    added = [box for box in now if box.key not in seen and box.key not in known]
    return msgspec.structs.replace(ledger, persons=(*kept, *added), seen=now)


def after_agent(ledger: Ledger, stories: StoryList) -> Ledger:
    """Return the ledger after an agent has exited, or after Spool has restored the tree."""
    now = boxes_of(stories)
    return ledger if now == ledger.seen else msgspec.structs.replace(ledger, seen=now)


def after_acceptance(ledger: Ledger, story: Story) -> Ledger:
    """Return the ledger with the tasks of an accepted story that have no box."""
    noted = [_noted(story.title, task.text) for task in story.tasks if task.boxless]
    return msgspec.structs.replace(ledger, accepted=tuple(dict.fromkeys((*ledger.accepted, *noted))))


def _noted(title: str, text: str) -> _Key:
    return title, " ".join(text.split())


def _as_left(box: Box, seen: Mapping[_Key, Box], current: Mapping[_Key, Box]) -> Box:
    """Return a person's box with the mark that they gave it since, if they did."""
    now = current.get(box.key, box)
    return now if box.key in seen and seen[box.key].mark != now.mark else box


def _by_key(boxes: tuple[Box, ...]) -> dict[_Key, Box]:
    return {box.key: box for box in boxes}


def honest(ledger: Ledger, stories: StoryList) -> StoryList:
    """Return the stories with every box that only a person may close still open, and with what was accepted done."""
    accepted = set(ledger.accepted)
    stories = StoryList(tuple(_with_accepted(story, accepted) for story in stories.stories))
    owed: dict[str, dict[_Key, Box]] = {}
    for box in ledger.persons:
        if box.mark in _OPEN and (box.mark != BOXLESS or _noted(box.title, box.text) not in accepted):
            owed.setdefault(box.story, {})[box.key] = box
    there = {box.key for box in boxes_of(stories)}
    found = [_reopened(story, owed.pop(story.id, {}), there) for story in stories.stories]
    for story_id, boxes in owed.items():  # stories that an agent has removed
        if missing := [_task(box) for box in boxes.values() if box.key not in there]:
            title = next(iter(boxes.values())).title
            found.append(Story(story_id, title, tuple(missing)))
    return StoryList(tuple(found))


def _with_accepted(story: Story, accepted: set[_Key]) -> Story:
    done = [task.boxless and _noted(story.title, task.text) in accepted for task in story.tasks]
    tasks = (
        msgspec.structs.replace(task, mark=_DONE) if noted else task
        for task, noted in zip(story.tasks, done, strict=True)
    )
    return msgspec.structs.replace(story, tasks=tuple(tasks)) if any(done) else story


def _reopened(story: Story, owed: Mapping[_Key, Box], there: set[_Key]) -> Story:
    tasks = tuple(
        msgspec.structs.replace(task, mark=owed[key].mark) if not task.done and key in owed else task
        for task in story.tasks
        for key in [(task.id, " ".join(task.text.split()))]
    )
    missing = tuple(_task(box) for key, box in owed.items() if key not in there)
    return msgspec.structs.replace(story, tasks=(*tasks, *missing))


def _task(box: Box) -> StoryTask:
    return StoryTask(box.id, box.text, box.mark, 0)
