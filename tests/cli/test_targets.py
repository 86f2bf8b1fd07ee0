"""Which change and which agent is meant: the picker, modules, completion, harnesses of other packages."""

from pathlib import Path

from tests.seeds.test_000_ralph_loop import on_a_terminal
from tests.support import CHANGE, Scratch

COMPLETE = "print('<promise>COMPLETE</promise>')"


def add_change(scratch: Scratch, change_id: str) -> None:
    folder = scratch.root / ".spool" / "changes" / change_id
    folder.mkdir(parents=True)
    (folder / "proposal.md").write_text(f"# {change_id}\n")


def test_a_module_offers_its_changes_and_the_first_is_preselected(scratch: Scratch) -> None:
    for change_id in ("003-01_other", "003-02_more"):
        add_change(scratch, change_id)
    scratch.agent(COMPLETE)
    screen, exit_code = on_a_terminal(scratch, ["ralph", "Go", "--module", "3"], answers=[(b"Which change", b"\r")])
    assert exit_code == 0, screen
    assert CHANGE not in screen
    assert (scratch.root / ".spool/.state/ralph/003-01_other/state.json").exists()


def test_a_change_is_found_by_typing_part_of_its_name(scratch: Scratch) -> None:
    add_change(scratch, "003-01_other")
    scratch.agent(COMPLETE)
    screen, exit_code = on_a_terminal(scratch, ["ralph", "Go"], answers=[(b"Which change", b"oth\r")])
    assert exit_code == 0, screen
    assert (scratch.root / ".spool/.state/ralph/003-01_other/state.json").exists()


def test_ctrl_c_in_the_picker_starts_nothing(scratch: Scratch) -> None:
    add_change(scratch, "003-01_other")
    scratch.agent(COMPLETE)
    screen, exit_code = on_a_terminal(scratch, ["ralph", "Go"], answers=[(b"Which change", b"\x03")])
    assert exit_code == 130, screen
    assert not (scratch.root / ".spool" / ".state").exists()


def test_a_shell_completes_changes(scratch: Scratch) -> None:
    add_change(scratch, "003-01_other")
    words = {"_SPOOL_COMPLETE": "bash_complete", "COMP_WORDS": "spool ralph --change 00", "COMP_CWORD": "3"}
    done = scratch.spool(env=words)
    assert done.stdout.split() == [f"plain,{CHANGE}", "plain,003-01_other"]


def test_another_package_offers_a_harness_by_an_entry_point(scratch: Scratch) -> None:
    make_package(scratch.home / "site")
    done = scratch.ralph("Go", "--harness", "echoing", env={"PYTHONPATH": str(scratch.home / "site")})
    assert done.returncode == 0, done.stderr
    assert scratch.history()[0]["harness"] == "echoing"


def make_package(site: Path) -> None:
    """Lay a package with a harness into a folder, as an installer would."""
    info = site / "echoing-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: echoing\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[spool.harnesses]\nechoing = echoing:Echoing\n")
    (site / "echoing.py").write_text(
        "from spool.domain.agent.invocation import Invocation, Traits\n"
        "from spool.harness.decoding import LineDecoder, PlainText\n"
        "class Echoing:\n"
        "    name = 'echoing'\n"
        "    traits = Traits(program='echo', install='it is everywhere')\n"
        "    def invoke(self, request):\n"
        "        return Invocation(argv=('echo', '<promise>COMPLETE</promise>'))\n"
        "    def decoder(self):\n"
        "        return LineDecoder(PlainText())\n"
    )


def test_stories_takes_the_only_change_and_names_its_argument_when_there_are_more(scratch: Scratch) -> None:
    assert scratch.spool("stories").stdout.startswith(f"{CHANGE}: ")
    (scratch.change.with_name("003-01_other")).mkdir()
    done = scratch.spool("stories")
    assert (done.returncode, "CHANGE is required" in done.stderr) == (2, True)


def test_a_folder_whose_name_is_not_an_id_is_not_offered(scratch: Scratch) -> None:
    (scratch.change.with_name("füge hinzu")).mkdir()
    assert "füge" not in scratch.spool("ralph", "Go").stderr


def test_a_mistyped_command_is_suggested(scratch: Scratch) -> None:
    done = scratch.spool("rlaph")
    assert (done.returncode, done.stderr) == (2, "spool: no such command: 'rlaph'\n  did you mean: ralph?\n")
    assert "No such command 'xyzzy'" in scratch.spool("xyzzy").stderr


def test_a_plan_without_a_command_names_run(scratch: Scratch) -> None:
    done = scratch.spool("My Plan.md")
    assert done.returncode == 2
    assert done.stderr == "spool: no such command: 'My Plan.md'\n  to run a plan: spool run 'My Plan.md'\n"
