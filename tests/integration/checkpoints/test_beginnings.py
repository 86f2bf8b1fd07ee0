"""A beginning is moved by no attempt, outlives `git gc`, and is let go 14 days after its story is accepted."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spool.domain.loop.checkpoint import Beginning, Losses
from spool.host.git.checkpoints.beginnings import Beginnings
from tests.integration.checkpoints.test_killed import agent_works, kill, world_with_files
from tests.integration.checkpoints.world import CHANGE, World, differences, remove, run
from tests.support.scale import SEED, trials


def beginnings(world: World) -> Beginnings:
    return Beginnings(world.checkpoints(), now=lambda: datetime.now(UTC))


def made_by_loop(time: float) -> bool:
    return time > 0


def by_nobody(time: float) -> bool:
    return time < 0


def begin(world: World) -> Beginnings:
    """Begin a run and its first story."""
    begun = beginnings(world)
    run(begun.begin_run(anew=False))
    run(world.checkpoints().save("story 1"))
    run(begun.begin_attempt("story 1"))
    return begun


def test_no_attempt_and_no_other_title_moves_it(world: World) -> None:
    world.write("notes.txt", "mine\n")
    before = world.picture()
    begin(world)
    remove(world.top / "notes.txt")
    for number in range(3):
        world.write("work", f"{number}\n")
        run(world.checkpoints().save("story 1, the agent's own title"))
        run(beginnings(world).begin_attempt("story 1, the agent's own title"))
    world.git("gc", "--quiet", "--prune=now")
    run(beginnings(world).undo(Beginning.STORY, made_by_loop))
    assert differences(world.picture(), before) == []


def test_it_is_let_go_14_days_after_acceptance_and_its_ignored_files_at_once(world: World) -> None:
    world.write(".gitignore", ".env\n")
    world.write(".env", "SECRET=1\n")
    begun = begin(world)
    remove(world.top / ".env")
    run(begun.accept(Beginning.STORY))
    run(begun.undo(Beginning.STORY, made_by_loop))
    assert not (world.top / ".env").exists()
    checkpoints, now = world.checkpoints(), datetime.now(UTC)
    run(checkpoints.expire(now + timedelta(days=13)))
    assert {one.what for one in run(begun.all())} == {Beginning.STORY, Beginning.RUN}
    run(checkpoints.expire(now + timedelta(days=15)))
    assert {one.what for one in run(begun.all())} == {Beginning.RUN}
    assert f"/{CHANGE}.story/" not in world.git("for-each-ref", "refs/spool")


def test_the_one_before_is_set_aside_when_the_next_story_begins(world: World) -> None:
    world.write("notes.txt", "mine\n")
    begun = begin(world)
    remove(world.top / "notes.txt")
    run(begun.accept(Beginning.STORY))
    run(world.checkpoints().save("story 2"))
    run(begun.begin_attempt("story 2"))
    kept = run(world.checkpoints().discarded(accepted=True))
    assert [one.label for one in kept] == ["the beginning of story 1"]
    assert run(world.checkpoints().discarded()) == []
    run(world.checkpoints().restore(kept[0].name))
    assert (world.top / "notes.txt").read_text() == "mine\n"


def test_a_run_that_begins_in_the_same_tree_sets_nothing_aside(world: World) -> None:
    for _ in range(3):
        begun = beginnings(world)
        run(begun.begin_run(anew=False))
        run(begun.begin_attempt())
    assert run(world.checkpoints().discarded()) == []


def test_a_run_that_starts_no_agent_leaves_the_beginning_of_the_run_before(world: World) -> None:
    world.write("notes.txt", "mine\n")
    before = world.picture()
    begin(world)
    remove(world.top / "notes.txt")
    run(beginnings(world).begin_run(anew=True))
    run(beginnings(world).undo(Beginning.RUN, made_by_loop))
    assert differences(world.picture(), before) == []


def test_commits_that_an_agent_dropped_come_back(world: World) -> None:
    world.write("mine", "mine\n")
    world.commit("mine, not pushed")
    before = world.picture()
    begun = begin(world)
    world.git("reset", "--quiet", "--hard", "HEAD~1")
    world.write("work", "work\n")
    world.commit("agent")
    run(begun.undo(Beginning.STORY, made_by_loop))
    assert differences(world.picture(), before) == []


def test_head_returns_from_a_branch_that_the_agent_made_and_the_branch_stays(world: World) -> None:
    before = world.picture()
    begun = begin(world)
    world.git("checkout", "--quiet", "-b", "agent")
    world.write("work", "work\n")
    world.commit("agent")
    run(begun.undo(Beginning.STORY, made_by_loop))
    now = world.picture()
    assert (now.head, now.entries, now.index) == (before.head, before.entries, before.index)
    assert "agent" in world.git("branch", "--list", "agent")


@pytest.mark.parametrize("how", ["another's commit", "an old branch", "a detached tree"])
def test_head_stays_and_the_files_return(world: World, how: str) -> None:
    world.git("branch", "old")
    begun, before = begin(world), world.picture()
    own = made_by_loop
    if how == "an old branch":
        world.git("checkout", "--quiet", "old")
    world.write("work", "work\n")
    world.commit("agent")
    if how == "another's commit":
        own = by_nobody
    if how == "a detached tree":
        world.git("worktree", "add", "--quiet", "--detach", str(world.base / "other"))
    head = world.git("rev-parse", "HEAD")
    plan = run(begun.preview(Beginning.STORY, own))
    assert len(plan.staying) == 1
    run(begun.undo(Beginning.STORY, own))
    assert world.git("rev-parse", "HEAD") == head
    assert world.picture().entries == before.entries


def test_before_the_first_commit_head_has_none_again(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write("notes.txt", "mine\n")
    before = world.picture()
    begun = begin(world)
    world.commit("agent")
    run(begun.undo(Beginning.STORY, made_by_loop))
    assert differences(world.picture(), before) == []


def test_only_files_of_a_persons_that_no_commit_holds_count_as_lost(world: World) -> None:
    world.write(".gitattributes", "*.crlf text eol=crlf\n")
    world.write("lines.crlf", "one\r\ntwo\r\n")
    world.write("committed", "committed\n")
    world.commit("second")
    world.write("notes.txt", "mine\n")
    begun = begin(world)
    for name in ("lines.crlf", "committed", "notes.txt"):
        remove(world.top / name)
    world.write("agents", "agent\n")
    assert run(begun.losses()) == Losses(deleted=("notes.txt",))


def test_what_an_earlier_story_made_is_not_a_persons(world: World) -> None:
    begun = begin(world)
    world.write("work", "story 1\n")
    run(begun.accept(Beginning.STORY))
    run(world.checkpoints().save("story 2"))
    run(begun.begin_attempt("story 2"))
    world.write("work", "story 2\n")
    assert run(begun.losses()) == Losses()


def test_killed_in_an_undo(tmp_path: Path) -> None:
    world = world_with_files(tmp_path)
    before = world.picture()
    begin(world)
    chance = random.Random(SEED)
    for number in range(trials(60, least=4)):
        agent_works(world, number)
        attempt = world.picture()
        for _ in range(chance.randint(1, 2)):
            kill(world, "undo", chance.uniform(0, 0.45))
        again = beginnings(world)
        run(again.finish_cut_short())  # what a loop that starts now does first
        now = world.picture()
        assert now.entries in (attempt.entries, before.entries)
        run(again.undo(Beginning.STORY, made_by_loop))
        now = world.picture()
        assert (now.entries, now.index, now.head) == (before.entries, before.index, before.head)
        assert before.refs in now.refs
        world.git(
            "branch", "--quiet", "-D", *world.git("branch", "--format=%(refname:short)", "--list", "agent*").split()
        )


def test_what_cannot_be_saved_is_named_before_the_agent_starts_and_not_again_until_it_changes(world: World) -> None:
    world.write(".gitignore", "node_modules/\ndist/\n")
    world.write("node_modules/left/index.js", "1\n")
    for number in range(12):
        world.write(f"video{number}", b"x" * 2_000)

    def begin_again() -> tuple[tuple[str, ...], tuple[str, ...]]:
        checkpoints = world.checkpoints(large_file_bytes=1_000)
        begun = Beginnings(checkpoints, now=lambda: datetime.now(UTC))
        named = run(begun.begin_run(anew=False))
        saved = run(checkpoints.save("story 1"))
        run(begun.begin_attempt("story 1"))
        return named, saved.warnings

    large = "12 are larger than 1000 bytes, video0, video1, video10 among them: they are neither saved nor touched"
    folder = "not saved, and lost if an agent deletes them: 1 ignored folder (node_modules/)"
    assert begin_again() == ((large, folder), ())
    assert begin_again() == ((), ())
    world.write("dist/bundle.js", "1\n")
    new = "not saved, and lost if an agent deletes them: 2 ignored folders (dist/, node_modules/)"
    assert begin_again() == ((new,), ())
