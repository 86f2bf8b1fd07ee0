"""What gates ask of a recorded tree, and what they do not believe beside it."""

from spool.host.gates.recorded_trees import RecordedTrees
from tests.integration.checkpoints.recording import recorder_of
from tests.integration.checkpoints.world import World, run


def trees_of(world: World) -> RecordedTrees:
    return RecordedTrees(world.repository(), recorder_of(world), owner="test", timeout_s=30)


def write(world: World, name: str, text: str) -> None:
    path = world.top / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_words_are_found_where_they_stand_by_themselves(world: World) -> None:
    write(world, "Makefile", "test:\n\tsh scripts/check.sh\n")
    write(world, "scripts/ü.sh", "./check.sh\n")
    write(world, "notes.md", "recheck.shy, check.sh2\n")
    write(world, "pytest.ini", "[pytest]\naddopts = -p plugins.marks\n")
    trees = trees_of(world)
    tree = run(trees.record())
    write(world, "later.mk", "check.sh\n")
    found = run(trees.mentions(tree, ["check.sh", "-p plugins.marks", "nowhere", "two\nlines"]))
    assert found == {
        "check.sh": frozenset({"Makefile", "scripts/ü.sh"}),
        "-p plugins.marks": frozenset({"pytest.ini"}),
    }
    assert run(trees.mentions(tree, ["nowhere"])) == {}
    assert run(trees.mentions("not a tree", ["check.sh"])) == {}


def test_what_python_compiled_is_removed_where_git_ignores_it(world: World) -> None:
    write(world, ".gitignore", "__pycache__/\n.venv/\n*.pyc\n!kept/\n")
    for name in ("__pycache__/a.pyc", "pkg/__pycache__/b.pyc", "old.pyc", ".venv/lib/__pycache__/c.pyc"):
        write(world, name, "")
    write(world, "pkg/__pycache__.py", "")
    trees = trees_of(world)
    run(trees.record())
    run(trees.drop_compiled())
    left = {path.name for path in world.top.rglob("*") if path.is_file() and ".git" not in path.parts}
    assert left >= {"c.pyc", "__pycache__.py"}
    assert not left & {"a.pyc", "b.pyc", "old.pyc"}


def test_a_file_that_is_new_in_an_ignored_folder_shows_unless_it_is_a_cache(world: World) -> None:
    write(world, ".gitignore", "out/\n__pycache__/\n")
    write(world, "out/old.txt", "")
    write(world, "__pycache__/a.pyc", "")
    trees = trees_of(world)
    run(trees.record())
    before = trees.ignored()
    write(world, "__pycache__/b.pyc", "")
    write(world, "out/__pycache__/c.pyc", "")
    assert trees.ignored() == before
    write(world, "out/new.txt", "")
    run(trees.record())
    assert {name for name, stamp in trees.ignored().items() if before.get(name) != stamp} == {"out/"}
