"""Stories, the steps of a change, parsed from either format of tasks.md."""

import re

import msgspec

from spool.domain.change.tasks import BOXLESS, Boxes, GroupNotes, Task, TaskList, parse_tasks

_NUMBERED = re.compile(r"(\d+)[.)]?\s+(.*)")
_TASK_ID = re.compile(r"(\d+(?:\.\d+)+)[.):]?\s+(.*)")
_WAVE = re.compile(r"wave\s+(\d+)\b[\s:.–—-]*(.*)", re.IGNORECASE)  # noqa: RUF001 - dashes that people type
_LAST_NUMBER = re.compile(r"\w+\s+(\d+)")
_SCENARIO = re.compile(r"^####\s+Scenario:\s*(.*)$")


class StoryTask(msgspec.Struct, frozen=True):
    """One task of a story: its box, and the fields of the enhanced format."""

    id: str
    text: str
    mark: str
    line: int
    details: tuple[tuple[str, str], ...] = ()

    @property
    def open(self) -> bool:
        """Whether it is left for the agent."""
        return self.mark in (" ", BOXLESS)

    @property
    def boxless(self) -> bool:
        """Whether it is open and has no box to tick."""
        return self.mark == BOXLESS

    @property
    def done(self) -> bool:
        """Whether its box is ticked."""
        return self.mark in "xX"


class Story(msgspec.Struct, frozen=True):
    """One step of a change."""

    id: str
    title: str
    tasks: tuple[StoryTask, ...]
    depends_on: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    """What must hold for it to be accepted, beside its tasks."""
    errand: bool = False
    """Whether Spool asks for it: it is in no task list, so it has no boxes to count."""

    @property
    def complete(self) -> bool:
        """Whether it has no open task."""
        return not any(task.open for task in self.tasks)

    @property
    def boxless(self) -> bool:
        """Whether it has tasks that no box can report: its promise does."""
        return any(task.boxless for task in self.tasks)

    @property
    def text(self) -> str:
        """Its tasks' text, with their fields, and its acceptance criteria."""
        tasks = (said for task in self.tasks for said in (task.text, *(value for _, value in task.details)))
        return "\n".join((*tasks, *self.criteria))

    @property
    def open(self) -> tuple[StoryTask, ...]:
        """The tasks left for the agent."""
        return tuple(task for task in self.tasks if task.open)


class RepairStory(msgspec.Struct, frozen=True, kw_only=True):
    """A story that is in no task list: Spool asks for it, so that a change can land."""

    title: str
    text: str
    details: tuple[tuple[str, str], ...] = ()
    onto: str
    """The commit that is merged into the working tree before the agent starts."""
    tree: str
    """Its tree, with which the checks compare."""

    @property
    def story(self) -> Story:
        """The errand as a story without a box: the promise reports it."""
        task = StoryTask("land.1", self.text, BOXLESS, 0, self.details)
        return Story("land", self.title, (task,), errand=True)


class StoryList(msgspec.Struct, frozen=True):
    """All stories of a change, in order."""

    stories: tuple[Story, ...] = ()

    @property
    def completed(self) -> int:
        """The number of complete stories."""
        return sum(story.complete for story in self.stories)

    @property
    def boxes(self) -> Boxes:
        """The count of all their boxes; an errand has none."""
        marks = [task.done for story in self.stories if not story.errand for task in story.tasks]
        return Boxes(done=sum(marks), total=len(marks))

    @property
    def next(self) -> Story | None:
        """The first incomplete story whose dependencies are met; if they are circular, the first."""
        waiting = [story for story in self.stories if not story.complete]
        unmet = {story.id for story in waiting}
        ready = (story for story in waiting if unmet.isdisjoint(story.depends_on))
        return next(ready, waiting[0] if waiting else None)

    def find(self, story_id: str) -> Story | None:
        """Return the story with this id, or None."""
        return next((story for story in self.stories if story.id == story_id), None)

    def position(self, story: Story) -> int:
        """Return its position, counted from 1."""
        return next(number for number, other in enumerate(self.stories, 1) if other.id == story.id)


def parse_stories(text: str) -> StoryList:
    """Parse the stories of a tasks.md: its `## Wave N` sections, else its `##` groups, else all of it as one."""
    return stories_of(parse_tasks(text))


def stories_of(tasks: TaskList) -> StoryList:
    """Return the stories of a task list, one for each group."""
    headed = any(task.heading for task in tasks.tasks)
    groups: dict[str, list[Task]] = {}
    for task in tasks.tasks:
        if task.heading or not headed:
            groups.setdefault(task.group, []).append(task)
    taken: set[str] = set()
    stories = [
        _story(number, group, members, tasks.notes.get(group, GroupNotes()), taken)
        for number, (group, members) in enumerate(groups.items(), 1)
    ]
    names = {
        name.casefold(): story.id for group, story in zip(groups, stories, strict=True) for name in (group, story.title)
    }
    names |= {story.id.casefold(): story.id for story in stories}
    return StoryList(tuple(_with_needs(story, names) for story in stories))


def _story(number: int, group: str, members: list[Task], notes: GroupNotes, taken: set[str]) -> Story:
    named = (_WAVE if members[0].heading else _NUMBERED).fullmatch(group)
    story_id = _free(notes.id or (named[1] if named else str(number)), taken)
    title = notes.title or (named[2] if named else "") or group or "All tasks"
    tasks = (
        _headed_task(task) if task.heading else _plain_task(story_id, at, task) for at, task in enumerate(members, 1)
    )
    return Story(story_id, title, tuple(tasks), notes.needs, notes.criteria)


def _with_needs(story: Story, names: dict[str, str]) -> Story:
    """Return a story that depends on others by their ids; what names none of them is not a dependency."""
    found = []
    for need in story.depends_on:
        numbered = _LAST_NUMBER.fullmatch(need.strip())  # Wave 1
        found.append(names.get(need.strip().casefold()) or names.get(numbered[1] if numbered else ""))
    needs = dict.fromkeys(one for one in found if one and one != story.id)
    return msgspec.structs.replace(story, depends_on=tuple(needs))


def _free(wanted: str, taken: set[str]) -> str:
    """Return an unused story id; people give two groups the same number."""
    story_id, number = wanted, 2
    while story_id in taken:
        story_id, number = f"{wanted}-{number}", number + 1
    taken.add(story_id)
    return story_id


def _plain_task(story_id: str, at: int, task: Task) -> StoryTask:
    numbered = _TASK_ID.fullmatch(task.text)
    if numbered:
        return StoryTask(numbered[1], numbered[2], task.mark, task.line, task.details)
    return StoryTask(f"{story_id}.{at}", task.text, task.mark, task.line, task.details)


def _headed_task(task: Task) -> StoryTask:
    numbered = _TASK_ID.fullmatch(task.heading)
    name, title = (numbered[1], numbered[2]) if numbered else (task.heading, task.heading)
    return StoryTask(name, title, task.mark, task.line, task.details)


def parse_scenarios(spec: str) -> list[str]:
    """Return the scenarios of a spec.md, each with its steps, for the prompt of every story."""
    found: list[list[str]] = []
    for line in spec.splitlines():
        if _SCENARIO.match(line):
            found.append([line.strip()])
        elif line.startswith("#"):
            found.append([])
        elif found and found[-1]:
            found[-1].append(line)
    return ["\n".join(lines).strip() for lines in found if lines]
