"""What the agent gets to read."""

from spool.domain.change.change import Change
from spool.domain.change.story import parse_stories
from spool.domain.judging.promise.reader import PromiseReader
from spool.domain.loop.prompt import (
    CONTEXT_HEADING,
    ChangeTexts,
    RalphPrompt,
    StoryPrompt,
    build_ralph_prompt,
    build_story_prompt,
)

CHANGE = Change(
    id="002-01_x",
    source=".spool",
    directory=".spool/changes/002-01_x",
    proposal="# X\n\nMake X.",
    tasks="## 1. One\n- [x] 1.1 done\n- [ ] 1.2 open\n## 2. Two\n- [ ] 2.1 open too\n",
    module="002",
    module_text="About modules.",
)


def ralph_prompt(**changed: object) -> str:
    parts = {
        "iteration": 7,
        "run_iteration": 2,
        "min_iterations": 1,
        "max_iterations": 5,
        "promise": "COMPLETE",
        "change": CHANGE,
        "user_prompt": "Implement it.",
    }
    return build_ralph_prompt(RalphPrompt(**{**parts, **changed}))  # type: ignore[arg-type]


def test_the_prompt_has_all_its_parts_in_order() -> None:
    prompt = ralph_prompt(context="Mind the gap.")
    headings = [
        "# Spool loop: iteration 7", "## How to work", CONTEXT_HEADING, "## The change: 002-01_x", "## Tasks",
        "## Module 002", "## Your task", "## When you are done",
    ]  # fmt: skip
    places = [prompt.index(heading) for heading in headings]
    assert places == sorted(places)
    assert "iteration 2 of at most 5" in prompt
    assert "1 of 3 boxes are ticked" in prompt
    assert "- [ ] 1.2 open" in prompt
    assert "1.1 done" not in prompt


def test_what_there_is_not_has_no_section() -> None:
    bare = Change(id="x", source="openspec", directory="openspec/changes/x", proposal="P")
    prompt = ralph_prompt(change=bare)
    assert CONTEXT_HEADING not in prompt
    assert "## Tasks" not in prompt
    assert "## Module" not in prompt


def test_a_question_tool_is_named_only_where_there_is_one() -> None:
    assert "question" not in ralph_prompt().lower()
    assert "Do not use the AskUserQuestion tool." in ralph_prompt(question_tool="AskUserQuestion")


def test_limits_are_told() -> None:
    assert "no upper limit" in ralph_prompt(max_iterations=None)
    assert "at least iteration 3 of this run" in ralph_prompt(min_iterations=3)


def test_a_prompt_that_is_printed_back_promises_nothing() -> None:
    for prompt in (ralph_prompt(), story_prompt()):
        reader = PromiseReader("COMPLETE")  # without knowing the prompt, as in the worst case
        reader.feed(prompt)
        assert reader.finish().kept is None


def story_prompt(**changed: object) -> str:
    parts = {
        "iteration": 4,
        "attempt": 2,
        "max_attempts": 4,
        "story": parse_stories(CHANGE.tasks or "").stories[0],
        "change": ChangeTexts(
            id=CHANGE.id,
            directory=CHANGE.directory,
            task_file=CHANGE.task_file,
            proposal=CHANGE.proposal,
            scenarios=("#### Scenario: It works",),
        ),
        "learnings": ".spool/.state/run/002-01_x/learnings.md",
    }
    return build_story_prompt(StoryPrompt(**{**parts, **changed}))  # type: ignore[arg-type]


def test_a_story_prompt_speaks_of_this_story_only() -> None:
    prompt = story_prompt()
    assert "attempt 2 of at most 4" in prompt
    assert "## Story 1: One\n\n- [x] 1.1 done\n- [ ] 1.2 open" in prompt
    assert "2.1 open too" not in prompt
    assert "#### Scenario: It works" in prompt
    assert "learnings.md" in prompt
    assert "last attempt failed" not in prompt


def test_the_last_failure_is_quoted() -> None:
    prompt = story_prompt(last_failure="tests are red\n# Not a heading")
    assert "> tests are red\n> # Not a heading" in prompt
