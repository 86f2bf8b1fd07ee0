"""Ignored files: never deleted, the small ones saved, whatever an agent does to the ignore rules."""

import pytest

from spool.host.git.checkpoints.record import ignored
from tests.integration.checkpoints.world import World, differences, entries, remove, run


def test_a_deleted_or_edited_env_file_comes_back(world: World) -> None:
    (world.top / ".env").chmod(0o600)
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    remove(world.top / ".env")
    run(checkpoints.revert(saved))
    assert (world.top / ".env").read_text() == "SECRET=1\n"
    assert (world.top / ".env").stat().st_mode & 0o777 == 0o600
    world.write(".env", "SECRET=2\n")
    discarded = run(checkpoints.revert(saved))
    assert (world.top / ".env").read_text() == "SECRET=1\n"
    assert discarded is not None
    run(checkpoints.restore(discarded.name))
    assert (world.top / ".env").read_text() == "SECRET=2\n"


def test_ignored_folders_are_neither_saved_nor_touched(world: World) -> None:
    world.write("node_modules/lib/index.js", "1\n")
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    world.write("node_modules/lib/index.js", "2\n")
    world.write("node_modules/new/index.js", "new\n")
    world.write("built.log", "new\n")
    run(checkpoints.revert(saved))
    assert (world.top / "node_modules/lib/index.js").read_text() == "2\n"
    assert (world.top / "node_modules/new/index.js").exists()
    assert not (world.top / "built.log").exists()


def test_an_emptied_gitignore_exposes_nothing(world: World) -> None:
    world.write("node_modules/lib/index.js", "1\n")
    world.write("old.log", "1\n")
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    world.write(".gitignore", "")
    world.git("add", "-A")
    world.git("commit", "-qm", "agent commits it all")
    discarded = run(checkpoints.revert(saved))
    assert world.picture() == before
    assert discarded is not None
    assert discarded.files == 1  # what was ignored at the checkpoint is no part of the attempt


@pytest.mark.parametrize("there", [False, True])
def test_new_folders_hidden_by_new_rules_are_taken_away_but_nothing_ignored(world: World, there: bool) -> None:
    if there:
        (world.top / "d").mkdir()
    checkpoints, before = world.checkpoints(), entries(world.top)
    saved = run(checkpoints.save("story 1"))
    for name in ("d/empty/inner", "d/full/empty", "d/full/node_modules/empty"):
        (world.top / name).mkdir(parents=True)
    world.write("d/full/x.log", "ignored by the old rules too\n")
    world.write("d/.gitignore", "*\n!d/\n")
    discarded = run(checkpoints.revert(saved))
    kept = {"d", "d/full", "d/full/node_modules", "d/full/node_modules/empty", "d/full/x.log"}
    assert entries(world.top).keys() == before.keys() | kept
    assert discarded is not None
    run(checkpoints.restore(discarded.name))
    assert (world.top / "d/empty/inner").is_dir()
    assert (world.top / "d/full/empty").is_dir()


def test_new_files_hidden_by_new_rules_are_taken_away_and_kept(world: World) -> None:
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    world.write(".gitignore", "*.log\n.env\nnode_modules/\nhidden/\n*.tmp\n")
    world.write("hidden/many", "x\n")
    world.write("x.tmp", "x\n")
    discarded = run(checkpoints.revert(saved))
    assert world.picture() == before
    assert discarded is not None
    run(checkpoints.restore(discarded.name))
    assert (world.top / "hidden/many").read_text() == "x\n"
    assert (world.top / "x.tmp").read_text() == "x\n"


def test_new_files_that_old_rules_ignore_again_are_taken_away_and_kept(world: World) -> None:
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    world.write(".gitignore", "")
    world.write("fresh.log", "made while nothing was ignored\n")
    discarded = run(checkpoints.revert(saved))
    assert not (world.top / "fresh.log").exists()
    assert discarded is not None
    run(checkpoints.restore(discarded.name))
    assert (world.top / "fresh.log").read_text() == "made while nothing was ignored\n"


def test_tracked_files_that_rules_ignore_are_saved(world: World) -> None:
    world.write("dist/app.js", "1\n")
    world.write("forced.log", "1\n")
    world.git("add", "-f", "dist/app.js", "forced.log")
    world.git("commit", "-qm", "forced")
    world.write(".gitignore", "*.log\n.env\nnode_modules/\ndist/\n")
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    world.write("dist/app.js", "2\n")
    world.write("dist/other.js", "2\n")
    remove(world.top / "forced.log")
    run(checkpoints.revert(saved))
    assert (world.top / "dist/app.js").read_text() == "1\n"
    assert (world.top / "dist/other.js").exists()
    remove(world.top / "dist/other.js")
    assert world.picture() == before


def test_rules_of_the_repositorys_configuration_and_exclude_file_hold(world: World) -> None:
    (world.base / "mine").write_text("*.secret\n")
    world.git("config", "core.excludesFile", str(world.base / "mine"))
    (world.top / ".git/info/exclude").write_text("private/\n")
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    world.write("private/notes", "new\n")
    world.write("a.secret", "new\n")
    run(checkpoints.revert(saved))
    assert (world.top / "private/notes").exists()
    assert not (world.top / "a.secret").exists()


def test_an_agent_that_empties_the_exclude_file_exposes_nothing(world: World) -> None:
    exclude = world.top / ".git/info/exclude"
    exclude.write_text("private/\n")
    world.write("private/notes", "mine\n")
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    exclude.write_text("")
    world.write("committed", "agent\n")
    run(checkpoints.revert(saved))
    assert (world.top / "private/notes").read_text() == "mine\n"


def test_there_are_limits_and_a_warning(world: World) -> None:
    for number in range(ignored.MOST_FILES + 5):
        world.write(f"{number}.log", "x\n")
    world.write("big.log", b"x" * (ignored.MOST_BYTES_EACH + 1))
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    assert "ignored files that are not saved" in saved.warnings[0]
    world.write("committed", "agent\n")
    run(checkpoints.revert(saved))
    assert (world.top / "big.log").exists()


def test_an_ignored_file_that_grew_is_not_lost(world: World) -> None:
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    world.write(".env", b"x" * (ignored.MOST_BYTES_EACH + 1))
    world.write("committed", "agent\n")
    discarded = run(checkpoints.revert(saved))
    assert (world.top / ".env").read_text() == "SECRET=1\n"
    assert discarded is not None
    remove(world.top / ".env")
    run(checkpoints.restore(discarded.name))
    assert (world.top / ".env").stat().st_size > ignored.MOST_BYTES_EACH


def test_secrets_are_gone_once_the_checkpoint_is(world: World) -> None:
    checkpoints = world.checkpoints()
    run(checkpoints.save("story 1"))
    run(checkpoints.drop())
    run(checkpoints.cleanup())
    kept = [path for path in (world.top / ".git/spool").rglob("*") if path.is_file()]
    assert kept
    assert not [path for path in kept if b"SECRET=1" in path.read_bytes()]


def test_spools_own_state_is_no_part_of_it(world: World) -> None:
    world.write(".spool/.state/ralph/x/state.json", "1\n")
    world.write("deep/.spool/.state/ralph/x/state.json", "1\n")
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    world.write(".spool/.state/ralph/x/state.json", "2\n")
    world.write("deep/.spool/.state/ralph/x/journal", "2\n")
    assert run(checkpoints.revert(saved)) is None
    assert (world.top / ".spool/.state/ralph/x/state.json").read_text() == "2\n"
    assert (world.top / "deep/.spool/.state/ralph/x/journal").exists()


def test_an_ignored_file_that_the_agent_forced_into_the_index_stays(world: World) -> None:
    for name in ("node_modules/.gitignore", "node_modules/index.js", "alone.log"):
        world.write(name, "mine\n")
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    world.git("add", "-f", "node_modules", "alone.log")
    world.git("commit", "-qm", "agent")
    run(checkpoints.revert(saved))
    assert world.picture() == before


@pytest.mark.parametrize("where", ["exclude", "excludesFile", "default excludesFile", ".gitignore", "ignoreCase"])
def test_new_files_that_an_agent_hides_by_a_rule_are_gone_and_kept(
    world: World, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setenv("HOME", world.env["HOME"])
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    world.write("visible", "mine\n")
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    world.write("hidden/deep/file", "agent\n")
    world.write("agent.tmp", "agent\n")
    world.write("AGENT.LOG", "agent\n")
    rules = "hidden/\n*.tmp\nvisible\n"
    if where == "exclude":
        (world.top / ".git/info/exclude").write_text(rules)
    elif where == "excludesFile":
        (world.base / "rules").write_text(rules)
        world.git("config", "core.excludesFile", str(world.base / "rules"))
    elif where == "default excludesFile":
        (world.base / "home/.config/git").mkdir(parents=True)
        (world.base / "home/.config/git/ignore").write_text(rules)
    elif where == ".gitignore":
        world.write(".gitignore", rules)
    else:
        world.git("config", "core.ignoreCase", "true")
    discarded = run(world.checkpoints().revert(saved))
    after = world.picture()
    assert after.entries == before.entries
    assert discarded is not None
    run(checkpoints.restore(discarded.name))
    for name in ("hidden/deep/file", "agent.tmp", "AGENT.LOG"):
        assert (world.top / name).read_text() == "agent\n"


def test_a_changed_exclude_file_comes_back(world: World) -> None:
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    (world.top / ".git/info/exclude").write_text("*\n")
    run(checkpoints.revert(saved))
    assert world.picture() == before
    assert world.git("status", "--porcelain", "untracked") == "?? untracked\n"


def test_case_variants_are_files_of_their_own(world: World) -> None:
    world.write("README", "upper\n")
    world.write("readme", "lower\n")
    world.git("config", "core.ignoreCase", "true")
    checkpoints, before = world.checkpoints(), entries(world.top)
    saved = run(checkpoints.save("story 1"))
    world.write("README", "agent\n")
    remove(world.top / "readme")
    world.write("ReadMe", "agent\n")
    (world.top / "SRC").mkdir()
    world.write("SRC/code.py", "agent\n")
    discarded = run(checkpoints.revert(saved))
    assert entries(world.top) == before
    assert discarded is not None
    run(checkpoints.restore(discarded.name))
    assert (world.top / "SRC/code.py").read_text() == "agent\n"


def test_new_single_ignored_files_go_with_the_attempt_and_come_back_with_it(world: World) -> None:
    world.write("old.log", "mine\n")
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    world.write("new.log", "agent\n")
    world.write("src/.env", "AGENT=1\n", 0o600)
    attempt = world.picture()
    discarded = run(checkpoints.revert(saved))
    assert differences(world.picture(), before) == []
    assert discarded is not None
    run(checkpoints.restore(discarded.name))
    assert differences(world.picture(), attempt) == []


def test_new_ignored_files_that_cannot_be_kept_stay_and_are_named(world: World) -> None:
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    world.write("big.log", b"x" * (ignored.MOST_BYTES_EACH + 1))
    world.write("committed", "agent\n")
    discarded = run(checkpoints.revert(saved))
    assert (world.top / "big.log").exists()
    assert discarded is not None
    assert discarded.warnings == ("big.log is new, ignored and not kept: it stays",)
