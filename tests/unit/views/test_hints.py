"""Every typed hint is worded by the front door, and errors name the next command."""

import pytest

from spool.errors import Hint, LockedError, NotInstalled, NoWorktree, SpoolError, UsageError
from spool.views.hints import next_step, worded


@pytest.mark.parametrize("hint", list(Hint))
def test_every_hint_has_words(hint: Hint) -> None:
    assert worded(hint) != hint.value
    assert next_step(SpoolError("no", hint=hint)) == worded(hint)


def test_words_stay_as_they_are() -> None:
    assert worded("install it: npm install -g opencode-ai") == "install it: npm install -g opencode-ai"
    assert next_step(UsageError("no")) == ""


def test_a_loop_that_is_already_running_names_how_to_watch_it() -> None:
    locked = LockedError("no", door="ralph", change="a", run_id="20260101T000000-abc123")
    assert next_step(locked) == "watch it with: spool attach abc123, stop it with: spool stop abc123"
    assert "wt-loop stop a" in next_step(LockedError("no", door="wt-loop", change="a"))
    assert next_step(LockedError("no")) == ""


def test_a_missing_worktree_can_be_made() -> None:
    missing = NoWorktree("no", hint="git worktree add x")
    assert next_step(missing) == "create it with --create, or run: git worktree add x"


def test_a_missing_agent_names_those_that_are_there() -> None:
    missing = NotInstalled("no", hint="install it: npm install -g opencode-ai")
    assert next_step(missing) == "install it: npm install -g opencode-ai; spool harness list shows the others"
    found = next_step(NotInstalled("no", hint="install it: x", others=("claude", "codex")))
    assert "--harness: claude, codex" in found and "spool init" in found
