"""Names and ids that mean something else to git or to the server."""

import json

from tests.fleet.support import Fleet

CHANGE = "001-01_work"
WORDS = ("fleet", "submit", "--snapshots", "fleet://snapshots.git")


def test_a_name_that_git_takes_for_no_ref_keeps_no_other_change_from_being_submitted(fleet: Fleet) -> None:
    odd = ("002-01_a..b", "003-01_x.lock")
    fleet.make(CHANGE, *odd)
    done = fleet.spool(*WORDS, "--all", "--json")
    assert done.returncode == 0, done.stderr
    rows = {row["change"]: row["refused"] for row in json.loads(done.stdout)}
    assert rows == {CHANGE: ""} | dict.fromkeys(odd, "git takes no ref of this name; give the change another one")
    alone = fleet.spool(*WORDS, odd[0])
    assert (alone.returncode, "give the change another one" in alone.stderr) == (1, True)


def test_the_workflow_of_an_account_is_no_change(fleet: Fleet) -> None:
    """Stopping it would lose what waits there."""
    fleet.make(CHANGE)
    fleet.submit(CHANGE, "--account", "hostile")
    for command in ("show", "stop", "retry"):
        done = fleet.spool("fleet", command, "account/hostile")
        assert (done.returncode, "account/hostile is not in the fleet" in done.stderr) == (2, True), done.stderr
    standing = json.loads(fleet.spool("fleet", "account", "hostile", "--json").stdout)
    assert len(standing["changes"]) == 1


def test_names_and_urls_that_are_none_are_refused_with_a_reason(fleet: Fleet) -> None:
    fleet.make(CHANGE)
    for account in ("a b", "a/b", "\x1b]0;x\x07", "x" * 61):
        done = fleet.spool(*WORDS, CHANGE, "--account", account)
        assert (done.returncode, "is not the name of an account" in done.stderr) == (2, True), done.stderr
        assert "\x1b" not in done.stderr
    for name in ("\udcff/x", "\x1b]0;x\x07/x", "\udcff"):
        done = fleet.spool("fleet", "show", name)
        assert (done.returncode, "is not in the fleet" in done.stderr, "\x1b" in done.stderr) == (2, True, False)
    done = fleet.spool(*WORDS, CHANGE, "--remote", "https://[localhost:1/x")
    assert done.returncode == 1
    assert "internal error" not in done.stderr
