"""Compares a task list with the last one that a person left.

An agent may tick boxes and add some. A box that it rewords, removes, sets aside or fences counts as open. Items without
a box are noted here, once their story is accepted; what an agent marks as done there is not believed.

A box is identified by its words. Its number may be its place in the list, which changes when one is added before it, so
it counts only where it is another one. Of boxes with the same words, as many must be there as the person left.
"""

import re
from collections.abc import Iterable, Mapping

import msgspec

from spool.domain.change.story import Story, StoryList, StoryTask
from spool.domain.change.tasks import BOXLESS

_OPEN = (" ", BOXLESS)
_DONE = "x"
_Noted = tuple[str, str]
_Key = tuple[str, str, int]


class Box(msgspec.Struct, frozen=True, array_like=True):
    """One box, and the story it belongs to."""

    story: str
    title: str
    id: str
    text: str
    mark: str


class BoxLedger(msgspec.Struct, frozen=True, kw_only=True):
    """The boxes as a person left them, and as they were when Spool looked last."""

    persons: tuple[Box, ...] = ()
    seen: tuple[Box, ...] = ()
    texts: str = ""
    """The proposal and the task list before the first agent."""
    accepted: tuple[_Noted, ...] = ()
    """The tasks without a box whose story was accepted, each by its story's title and its words."""


def boxes_of(stories: StoryList) -> tuple[Box, ...]:
    """Return the boxes of a task list."""
    return tuple(
        Box(story.id, story.title, task.id, task.text, task.mark.lower())
        for story in stories.stories
        for task in story.tasks
    )


def after_person(ledger: BoxLedger, stories: StoryList) -> BoxLedger:
    """Return the ledger before an agent starts: what changed since Spool looked last is a person's work."""
    now = boxes_of(stories)
    if now == ledger.seen:
        return ledger
    if not ledger.seen:
        return msgspec.structs.replace(ledger, persons=now, seen=now)
    seen, current = _by_key(ledger.seen), _by_key(now)
    persons = _by_key(ledger.persons)
    kept = {key: _as_left(key, box, seen, current) for key, box in persons.items() if key not in seen or key in current}
    added = {key: box for key, box in current.items() if key not in seen and key not in kept}
    return msgspec.structs.replace(ledger, persons=(*kept.values(), *added.values()), seen=now)


def after_agent(ledger: BoxLedger, stories: StoryList) -> BoxLedger:
    """Return the ledger after an agent has exited, or after Spool has restored the tree."""
    now = boxes_of(stories)
    return ledger if now == ledger.seen else msgspec.structs.replace(ledger, seen=now)


def after_acceptance(ledger: BoxLedger, story: Story) -> BoxLedger:
    """Return the ledger with the tasks of an accepted story that have no box."""
    noted = [_noted(story.title, task.text) for task in story.tasks if task.boxless]
    return msgspec.structs.replace(ledger, accepted=tuple(dict.fromkeys((*ledger.accepted, *noted))))


def _noted(title: str, text: str) -> _Noted:
    return title, " ".join(text.split())


def _as_left(key: _Key, box: Box, seen: Mapping[_Key, Box], current: Mapping[_Key, Box]) -> Box:
    """Return a person's box with the mark that they gave it since, if they did."""
    now = current.get(key, box)
    return now if key in seen and seen[key].mark != now.mark else box


def _by_key(boxes: Iterable[Box]) -> dict[_Key, Box]:
    """Return boxes, in their order, by what identifies them: their words and, of equal ones, a count."""
    listed = list(boxes)
    keys: dict[int, _Key] = {}
    times: dict[_Noted, int] = {}
    for at in sorted(range(len(listed)), key=lambda at: listed[at].mark != _DONE):
        box = listed[at]
        place = re.fullmatch(rf"{re.escape(box.story)}\.\d+", box.id)
        name = "" if place else box.id, " ".join(box.text.split())
        times[name] = times.get(name, 0) + 1
        keys[at] = (*name, times[name])
    return {keys[at]: box for at, box in enumerate(listed)}


def closed_by_person(ledger: BoxLedger, stories: StoryList, story_id: str) -> bool:
    """Whether a person closed every box of a story; what an agent ticks is a claim, and waits for its acceptance."""
    persons = _by_key(ledger.persons)
    own = [persons.get(key) for key, box in _by_key(boxes_of(stories)).items() if box.story == story_id]
    return bool(own) and all(box is not None and box.mark not in _OPEN for box in own)


def honest(ledger: BoxLedger, stories: StoryList) -> StoryList:
    """Return the stories with every box that only a person may close still open, and with what was accepted done."""
    accepted = set(ledger.accepted)
    stories = StoryList(tuple(_with_accepted(story, accepted) for story in stories.stories))
    owed = {
        key: box
        for key, box in _by_key(ledger.persons).items()
        if box.mark in _OPEN and (box.mark != BOXLESS or _noted(box.title, box.text) not in accepted)
    }
    keys = _by_key(boxes_of(stories))
    missing: dict[str, list[Box]] = {}
    for key, box in owed.items():
        if key not in keys:
            missing.setdefault(box.story, []).append(box)
    upcoming = iter(keys)
    found = [_reopened(story, [next(upcoming) for _ in story.tasks], owed) for story in stories.stories]
    found = [_with(story, missing.pop(story.id, [])) for story in found]
    # stories that an agent has removed
    return StoryList((*found, *(_with(Story(name, boxes[0].title, ()), boxes) for name, boxes in missing.items())))


def _with_accepted(story: Story, accepted: set[_Noted]) -> Story:
    done = [task.boxless and _noted(story.title, task.text) in accepted for task in story.tasks]
    tasks = (
        msgspec.structs.replace(task, mark=_DONE) if noted else task
        for task, noted in zip(story.tasks, done, strict=True)
    )
    return msgspec.structs.replace(story, tasks=tuple(tasks)) if any(done) else story


def _reopened(story: Story, keys: list[_Key], owed: Mapping[_Key, Box]) -> Story:
    tasks = (
        msgspec.structs.replace(task, mark=owed[key].mark)
        if key in owed and (not task.done or owed[key].mark == BOXLESS)
        else task
        for task, key in zip(story.tasks, keys, strict=True)
    )
    return msgspec.structs.replace(story, tasks=tuple(tasks))


def _with(story: Story, missing: list[Box]) -> Story:
    more = (StoryTask(box.id, box.text, box.mark, 0) for box in missing)
    return msgspec.structs.replace(story, tasks=(*story.tasks, *more))
