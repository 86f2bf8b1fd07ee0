"""`spool.api` starts loops from Python, follows and stops them."""

from __future__ import annotations

from pathlib import Path

import pytest

from spool import api
from spool.errors import UsageError
from tests.support import CHANGE, Scratch

DONE = {"promise": "COMPLETE"}


@pytest.fixture
def here(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> Scratch:
    """This process, as if it ran in the scratch project of the scratch user."""
    for name, value in scratch.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(scratch.root)
    return scratch


def test_a_plan_runs_and_its_events_end_with_the_run(here: Scratch) -> None:
    (here.root / "PLAN.md").write_text("# Greet\n\n- [ ] say hello\n")
    here.script([{"write": "hello.txt", "text": "hello\n"}, {"tick": 1}, DONE])
    spec = api.loop_spec("PLAN.md", harness="scripted", gates=[{"run": "test -e hello.txt"}])
    with api.start(spec) as loop:
        seen = list(loop.events())
    assert isinstance(seen[-1], api.events.RunEnded)
    assert [event.proof for event in seen if isinstance(event, api.events.StoryDone)] == ["proved"]
    assert loop.wait() is api.ExitCode.COMPLETE
    assert (loop.running, loop.summary.status) == (False, api.Status.DONE)
    assert list(loop.events(follow=False)) == seen


def test_a_loop_can_be_stopped_and_continued(here: Scratch) -> None:
    here.script([{"say": "Working"}, {"sleep": 600}])
    loop = api.start(api.loop_spec(CHANGE, prompt="Go", harness="scripted"))
    for event in loop.events():
        if isinstance(event, api.events.AgentEvent) and isinstance(event.event, api.stream.Message):
            assert loop.stop()
    assert loop.wait() is api.ExitCode.INTERRUPTED
    assert "stopped by the Python interface" in loop.summary.reason
    here.script([{"write": "x", "text": ""}, DONE])
    assert api.start(api.loop_spec(CHANGE, prompt="Go", harness="scripted")).wait() is api.ExitCode.COMPLETE


def test_the_end_of_the_block_stops_it(here: Scratch) -> None:
    here.script([{"say": "Working"}, {"sleep": 600}])
    with api.start(api.loop_spec(CHANGE, harness="scripted")) as loop:
        next(loop.events())
    assert not loop.running


def test_what_cannot_start_raises(here: Scratch, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no_such_setting"):
        api.loop_spec(CHANGE, no_such_setting=1)
    with pytest.raises(UsageError):
        api.loop_spec("nothing-like-it")
    (here.root / ".spool/config.toml").write_text("allow_all = true\n")
    with pytest.raises(api.SpoolError, match="not trusted"):
        api.loop_spec(CHANGE)
    (here.root / ".spool/config.toml").unlink()
    with pytest.raises(api.SpoolError, match="codex"):
        api.start(api.loop_spec(CHANGE, harness="codex", fresh=True))


def test_it_can_work_in_a_clone(here: Scratch) -> None:
    here.script([{"write": "made.txt", "text": ""}, {"tick": 2}, DONE])
    with api.start(api.loop_spec(CHANGE, harness="scripted"), workspace="clone") as loop:
        assert loop.wait() is api.ExitCode.COMPLETE
    assert "made.txt" in here.git("ls-tree", "--name-only", f"change/{CHANGE}")
    assert not (here.root / "made.txt").exists()
