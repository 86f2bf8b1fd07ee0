"""Several changes at once, in worktrees and clones, until main has them all."""

from __future__ import annotations

from tests.journeys.person import Person
from tests.support.sandboxed import needs_a_sandbox

CHANGES = {"add-tax": "Tax", "add-coupons": "Coupons"}


def write_changes(person: Person) -> None:
    for name, title in CHANGES.items():
        folder = person.shop.root / ".spool/changes" / name
        folder.mkdir(parents=True)
        (folder / "proposal.md").write_text(f"# {title}\n\nThe shop knows {title.lower()}.\n")
        (folder / "tasks.md").write_text(f"## 1. {title}\n\n- [ ] 1.1 Write it\n")
    person.shop.git("add", "--all")
    person.shop.git("commit", "--quiet", "--message", "changes")


def test_two_changes_at_once_reach_main(person: Person) -> None:
    person.does("spool init", Which_command="Enter")
    write_changes(person)
    person.does("spool run --all --parallel 2 --allow-all", "add-tax", "add-coupons", "done")
    person.does("spool land", "add-tax")
    person.does("make test")
    assert "discounted" in person.shop.git("show", "main:shop.py")


def test_a_day_with_a_worktree_loop(person: Person) -> None:
    write_changes(person)
    person.hires("sleeps")
    options = "--harness claude --allow-all --terminal none"
    person.does(f"wt-loop start add-tax 'Write the tax' --create --max 3 {options}")
    person.does("wt-loop list", "add-tax", "running")
    person.does("wt-loop status add-tax", "running")
    person.does("wt-loop stop add-tax")
    person.does("wt-loop status add-tax", "stopped")
    person.does("wt-loop resume add-tax --terminal none")
    person.terminal.until(lambda: "done" in person.does("wt-loop status add-tax"), "the end")
    person.does("wt-loop history add-tax", "1", "2")


@needs_a_sandbox
def test_work_in_the_sandbox_comes_back_as_a_branch(person: Person) -> None:
    write_changes(person)
    (person.shop.root / "secret.txt").write_text("untracked\n")
    person.does("spool run add-tax --sandbox --allow-all --verify 'make test'")
    person.does("spool run add-tax --status", "sandboxed: bwrap")
    assert "discounted" in person.shop.git("show", "change/add-tax:shop.py")
    assert (person.shop.root / "secret.txt").exists()
    person.does("spool land add-tax")
