"""The commands of README and docs that are marked as runnable, run as they stand there.

The mark is a comment before a code block, `<!-- runnable -->`; readers do not see it. The blocks of a page run in
order, in one project. A shell runs them, or Python where the block says so.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from markdown_it import MarkdownIt

from tests.docs.stage import make_stage

TOP = Path(__file__).parents[2]
MARK = "<!-- runnable -->"
PAGES = sorted(str(path.relative_to(TOP)) for path in [TOP / "README.md", *(TOP / "docs").glob("*.md")])
EXPECTED = {
    "README.md",
    *(f"docs/{name}.md" for name in ("index", "install", "plans", "loops", "recipes", "integration")),
}


def runnable(page: str) -> list[tuple[str, str]]:
    """Return the marked blocks of a page: what runs each, and its text."""
    tokens = MarkdownIt().parse((TOP / page).read_text())
    marked = [number for number, token in enumerate(tokens) if token.content.strip() == MARK]
    blocks = [tokens[number + 1] for number in marked]
    assert all(block.type in ("fence", "code_block") for block in blocks), f"{page}: a mark without a block after it"
    return [("python" if block.info == "python" else "sh", block.content) for block in blocks]


MARKED = {page: blocks for page in PAGES if (blocks := runnable(page))}


def test_the_pages_that_a_stranger_reads_first_have_commands_that_run() -> None:
    assert set(MARKED) >= EXPECTED


def _with_marks() -> list[ParameterSet]:
    """Return the pages; those that play the demo, with its pauses, are left to `make long`."""
    plays = {page: any("spool demo" in text for _, text in blocks) for page, blocks in MARKED.items()}
    return [pytest.param(page, marks=pytest.mark.long if plays[page] else ()) for page in MARKED]


@pytest.mark.parametrize("page", _with_marks())
def test_the_commands_run_as_they_stand_there(page: str, tmp_path: Path) -> None:
    stage = make_stage(tmp_path)
    for language, text in MARKED[page]:
        argv = [sys.executable, "-c", text] if language == "python" else ["sh", "-ec", text]
        done = subprocess.run(
            argv, cwd=stage.root, env=stage.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
