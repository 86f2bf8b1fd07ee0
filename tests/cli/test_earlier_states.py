"""Loops that an earlier version wrote, with no plan named in their memory: they are read, and continued.

Real loops with the scripted agent wrote `tests/data/earlier_states`: a `ralph` out of iterations, one with a gate
(`checked`), a `run` out of retries, a `run` that was killed while its agent worked, a `wt-loop` out of iterations.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spool.decoders import decoded
from spool.domain.loop.plan_memory import PromptMemory, StoryMemory, loop_in
from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.summary import LoopSummary
from spool.host.state.journal import JournalReader
from spool.host.state.loop_store import StateFolder
from spool.host.state.places import path_key
from tests.support import TASKS, Scratch, make_scratch, wait_for
from tests.support.worktrees import Fleet

WRITTEN = Path(__file__).parents[1] / "data" / "earlier_states"
TWO = "## 1. Form\n\n- [ ] 1.1 Write\n\n## 2. Login\n\n- [ ] 2.1 Check\n"
COMPLETE: list[dict[str, Any]] = [{"write": "more.txt", "text": "more"}, {"tick": 1}, {"promise": "COMPLETE"}]


def put(case: str, folder: Path, base: Path) -> None:
    """Put the files of an earlier loop where it would have left them."""
    folder.mkdir(parents=True)
    for name in ("state.json", "history.jsonl", "journal.jsonl"):
        (folder / name).write_text((WRITTEN / case / name).read_text().replace("@BASE@", str(base)))


def project(base: Path, case: str, tasks: str) -> Scratch:
    scratch = make_scratch(base)
    (scratch.change / "tasks.md").write_text(tasks)
    scratch.git("commit", "--quiet", "--all", "--allow-empty", "--message", "the plan as the loop left it")
    put(case, scratch.run_state if case != "ralph" else scratch.state, base)
    return scratch


def saved(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "state.json").read_text())
    return found


@pytest.mark.parametrize(
    ("case", "memory"),
    [
        (
            "checked",
            PromptMemory(
                base="53afb050a298b7c8406c4d2bb33b8d01dff61462",
                left="c1f0eb64d99ce5e67a235cbc404d59075d087bcd",
                changed=True,
            ),
        ),
        ("ralph", PromptMemory(changed=True)),
        ("wt-loop", PromptMemory(seen=("733b1d49fcc06832", "22670fadf32a2117", "5ac3d5dc53a2569c"), changed=True)),
    ],
)
def test_the_memory_of_one_prompt_is_read(tmp_path: Path, case: str, memory: PromptMemory) -> None:
    put(case, tmp_path / "state", tmp_path)
    state = StateFolder(tmp_path / "state").load()
    assert state is not None
    assert (state.memory, state.story) == (memory, None)


@pytest.mark.parametrize(("case", "story", "words"), [("run", "2", ""), ("killed", "1", "the form is red")])
def test_the_memory_of_stories_is_read(tmp_path: Path, case: str, story: str, words: str) -> None:
    put(case, tmp_path / "state", tmp_path)
    state = StateFolder(tmp_path / "state").load()
    assert state is not None
    assert isinstance(state.memory, StoryMemory)
    assert state.story is not None
    assert (state.story.id, state.story.attempt, state.memory.retries) == (story, 2, 1)
    assert state.memory.own_words == words


@pytest.mark.parametrize("case", ["checked", "ralph", "run", "killed", "wt-loop"])
def test_summaries_specs_histories_and_journals_are_read(tmp_path: Path, case: str) -> None:
    put(case, tmp_path / "state", tmp_path)
    folder = StateFolder(tmp_path / "state")
    state = folder.load()
    assert state is not None
    listed = loop_in((WRITTEN / case / "listed.json").read_bytes(), LoopSummary)
    assert type(listed.memory) is type(state.memory)
    assert decoded((WRITTEN / case / "spec.json").read_bytes(), LoopSpec).door is state.door
    assert [one.iteration for one in folder.history()] == list(range(1, len(folder.history()) + 1))
    lines = folder.journal.read_text().splitlines()
    assert len(lines) == len(list(JournalReader(folder.journal).read()))


def test_a_prompt_is_repeated_where_the_earlier_run_ended(tmp_path: Path) -> None:
    scratch = project(tmp_path, "ralph", TASKS)
    scratch.script(COMPLETE)
    done = scratch.ralph("Build it", "--harness", "scripted", "--max-iterations", "2")
    assert done.returncode == 0, done.stderr
    state = saved(scratch.state)
    assert (state["iteration"], state["status"], state["memory"]["plan"]) == (3, "done", "prompt")
    assert [one["iteration"] for one in scratch.history()] == [1, 2, 3]


def test_stories_continue_where_the_earlier_run_ended(tmp_path: Path) -> None:
    scratch = project(tmp_path, "run", TWO.replace("[ ] 1.1", "[x] 1.1"))
    scratch.script(COMPLETE)
    done = scratch.run()
    assert done.returncode == 0, done.stderr
    state = saved(scratch.run_state)
    assert (state["status"], state["memory"]["plan"]) == ("done", "stories")
    prompt = next(iter(sorted((scratch.run_state / "logs").glob("*.prompt.md")))).read_text()
    assert "these tasks are open: 2.1" in prompt


def test_a_killed_run_continues_with_its_attempt_and_its_reason(tmp_path: Path) -> None:
    scratch = project(tmp_path, "killed", TWO)
    scratch.script(COMPLETE)
    done = scratch.run()
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in (scratch.run_state / "history.jsonl").read_text().splitlines()]
    told = [(one["iteration"], one["story_id"], one["attempt"], one["outcome"]) for one in records]
    assert told == [
        (1, "1", 1, "failed"),
        (2, "1", 2, "interrupted"),
        (3, "1", 2, "completed"),
        (4, "2", 1, "completed"),
    ]
    assert records[1]["usage"]["cost_usd"] == 0.25
    prompt = (scratch.run_state / "logs" / "0003.prompt.md").read_text()
    assert "the form is red" in prompt


def test_a_worktree_loop_continues_where_the_earlier_run_ended(tmp_path: Path) -> None:
    fleet = Fleet(make_scratch(tmp_path))
    worktree = fleet.worktree()
    worktree.tasks.write_text(worktree.tasks.read_text().replace("[ ] 1.1", "[x] 1.1"))
    folder = worktree.path / ".spool" / ".state" / "wt-loop" / worktree.change
    put("wt-loop", folder, tmp_path)
    for name, path in (
        ("loop-state.json", worktree.path / ".claude" / "loop-state.json"),
        ("spec.json", fleet.scratch.home / ".local/state/spool/specs" / f"{path_key(folder)}.json"),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((WRITTEN / "wt-loop" / name).read_text().replace("@BASE@", str(tmp_path)))
    fleet.scratch.script([{"tick": 1}, {"say": "Done."}])
    done = fleet.wt("resume", worktree.change)
    assert done.returncode == 0, done.stderr
    wait_for(lambda: saved(folder)["status"] == "done")
    assert (saved(folder)["iteration"], saved(folder)["memory"]["plan"]) == (3, "prompt")
