"""Plans on the doubles: a change whose tasks are a string, and a tree whose content is one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from spool.domain.change.change import Change
from spool.domain.change.story import Story, StoryList, parse_stories
from spool.domain.loop.prompt import ChangeTexts
from spool.domain.loop.verdict import Limits
from spool.engine.plans.prompt_plan import PromptPlan
from spool.engine.plans.story_plan import StoryPlan
from spool.engine.plans.story_world import OnResume
from spool.testing.doubles import FakeBeginnings, FakeCheckpoints, FakeTree, MemoryLedger, Said, says
from spool.testing.play import Stage

TWO = "## 1. Form\n\n- [ ] 1.1 Write\n\n## 2. Login\n\n- [ ] 2.1 Check\n"
COMPLETE = "<promise>COMPLETE</promise>"


class TasksTree(FakeTree):
    """A tree whose content is a tasks.md."""

    def tick(self, task: str) -> None:
        self.content = self.content.replace(f"- [ ] {task}", f"- [x] {task}")

    def ticks(self, task: str, output: str = COMPLETE) -> Said:
        """Return an agent that ticks a box and says something."""
        return says(output, work=lambda: self.tick(task))

    def writes(self, text: str, output: str) -> Said:
        """Return an agent that adds a line to the tree and says something."""
        return says(output, work=lambda: setattr(self, "content", f"{self.content}{text}\n"))


class Source:
    """The stories of a tree."""

    def __init__(self, tree: FakeTree) -> None:
        self._tree = tree

    async def refresh(self) -> StoryList:
        return parse_stories(self._tree.content)

    async def stories(self) -> StoryList:
        return parse_stories(self._tree.content)

    async def record(self, story: Story, stories: StoryList, evidence: str) -> list[str]:
        return []

    def concerns(self) -> list[str]:
        return []

    async def prompt_parts(self) -> ChangeTexts:
        return ChangeTexts(
            id="change", directory="changes/change", task_file="changes/change/tasks.md", proposal="Do it."
        )


@dataclass
class Stories:
    """A change with stories, and what is around it."""

    tasks: str = TWO
    max_retries: int = 3
    on_resume: OnResume = OnResume.REVERT
    answer: OnResume | None = None
    commits: bool = False
    tree: TasksTree = field(init=False)
    stage: Stage = field(init=False)
    checkpoints: FakeCheckpoints = field(init=False)
    beginnings: FakeBeginnings = field(default_factory=FakeBeginnings)
    ledger: MemoryLedger = field(default_factory=MemoryLedger)

    async def _commit(self, message: str, leaving: tuple[str, ...]) -> str | None:
        return await self.tree.commit(message, leaving=leaving)

    def __post_init__(self) -> None:
        self.tree = TasksTree(self.tasks)
        self.stage = Stage(tree=self.tree)
        self.checkpoints = FakeCheckpoints(self.tree)

    def plan(self) -> StoryPlan:
        """Return the plan, as each run makes it anew."""
        return StoryPlan(
            limits=Limits(max_iterations=None, error_threshold=0),
            max_retries=self.max_retries,
            on_resume=self.on_resume,
            answer=self.answer,
            question_tool="",
            learnings="learnings.md",
            source=Source(self.tree),
            checkpoints=self.checkpoints,
            beginnings=self.beginnings,
            read_context=lambda: "",
            commit=self._commit if self.commits else None,
            book=self.ledger.book(),
            emit=self.stage.emit,
            jitter=lambda: 0.0,
        )


def prompt_plan(
    stage: Stage,
    limits: Limits,
    *,
    tasks: str | None = None,
    marked_done: bool = False,
    exit_code: int | None = 0,
    **options: Any,
) -> PromptPlan:
    """Return a plan that repeats one prompt over a change."""

    async def read_change() -> Change:
        content = stage.tree.content if isinstance(stage.tree, TasksTree) else tasks
        return Change(id="change", source="", directory="changes/change", proposal="Do it.", tasks=content)

    async def run_command() -> int | None:
        return exit_code

    return PromptPlan(
        task="Go",
        promise="COMPLETE",
        limits=limits,
        read_change=read_change,
        read_context=lambda: "",
        run_command=run_command,
        book=MemoryLedger().book(),
        marked_done=lambda: marked_done,
        emit=stage.emit,
        jitter=lambda: 0.0,
        **options,
    )
