"""Gates on the real command line: when done is claimed, Spool runs the checks itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.checked import DONE, GATE, greet, ralph, with_check
from tests.support import CHANGE, PATIENCE_S, Scratch, wait_for
from tests.support.machine import runs, told
from tests.support.worktrees import fleet_of

HEADING = "## Your last promise was refused"


@pytest.fixture
def checked(scratch: Scratch) -> Scratch:
    """A project with two green tests."""
    return with_check(scratch, "hello\nbye\n")


def gates(scratch: Scratch, *tables: str) -> None:
    """Add gates to the user's settings; call it after `script`."""
    config = scratch.home / ".config" / "spool" / "config.toml"
    with config.open("a") as file:
        file.writelines(f"\n[[gates]]\n{table}\n" for table in tables)


def started(scratch: Scratch, purpose: str) -> int:
    events = [event for event in scratch.journal() if event["type"] == "GateStarted"]
    return sum(event["purpose"] == purpose for event in events)


def proofs(scratch: Scratch) -> list[str | None]:
    return [record.get("proof") for record in scratch.history()]


def reasons(scratch: Scratch) -> str:
    return " ".join(gate["why"] for record in scratch.history() for gate in record["gates"])


def test_ralph_refuses_a_red_claim_and_names_the_test_in_the_next_prompt(checked: Scratch) -> None:
    checked.script([greet("hello\n"), DONE], [greet("hello\nbye\nagain\n"), DONE])
    done = ralph(checked, "--verify", GATE)
    assert done.returncode == 0, done.stderr
    assert proofs(checked) == ["refused", "unbroken"]
    assert HEADING not in checked.prompt(1)
    assert GATE in checked.prompt(1)
    assert HEADING in checked.prompt(2)
    assert "parts fails" in checked.prompt(2)
    assert "unbroken: sh check.sh: 2 tests pass" in done.stdout


def test_run_keeps_the_refused_work_and_accepts_the_story_once_it_is_green(checked: Scratch) -> None:
    checked.script([greet("hello\n"), {"tick": 2}, DONE], [greet("hello\nbye\nagain\n"), DONE])
    events = checked.run_events("--verify", GATE, timeout=PATIENCE_S)
    assert "Reverted" not in [event["type"] for event in events]
    proved = [event["proof"] for event in events if event["type"] in ("StoryDone", "Complete")]
    assert proved == ["unbroken", "unbroken"]
    assert "parts fails" in (checked.run_state / "logs" / "0002.prompt.md").read_text()


def test_a_worktree_loop_is_not_done_before_its_gates_agree(checked: Scratch) -> None:
    with fleet_of(checked) as fleet:
        tree = fleet.worktree()
        checked.script([greet("hello\n"), DONE], [greet("hello\nbye\nagain\n"), DONE])
        words = ["--path", str(tree.path), "--done", "promise", "--harness", "scripted", "--terminal", "none"]
        begun = fleet.wt("start", "add-auth", "Go", *words, "--verify", GATE)
        assert begun.returncode == 0, begun.stderr
        folder = tree.path / ".spool" / ".state" / "wt-loop" / "add-auth"
        wait_for(lambda: json.loads((folder / "state.json").read_text())["status"] != "running")
        assert json.loads((folder / "state.json").read_text())["status"] == "done"
        records = [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]
        assert [record["proof"] for record in records] == ["refused", "unbroken"]


def test_a_check_that_cannot_start_ends_the_run_before_an_agent(checked: Scratch) -> None:
    checked.script([DONE])
    done = ralph(checked, "--verify", "no-such-program")
    assert done.returncode == 2
    assert "the check 'no-such-program' cannot run" in done.stderr
    assert "--no-gates" in done.stderr
    assert not (checked.state / "logs" / "0001.prompt.md").exists()


@pytest.mark.parametrize(
    "check", ["sh missing.sh", "python3 missing.py", "perl missing.pl", "cd .spool && sh ./missing.sh"]
)
def test_a_script_that_does_not_exist_is_an_error_before_the_first_agent(checked: Scratch, check: str) -> None:
    name = check.rpartition("/")[2].rpartition(" ")[2]
    checked.script([{"write": name, "text": ""}, greet("more"), DONE])
    done = ralph(checked, "--verify", check)
    assert done.returncode == 2, done.stdout
    assert f"the check '{check}' cannot run: " in done.stderr and f"{name} does not exist" in done.stderr
    assert "--baseline off" in done.stderr
    assert not (checked.state / "logs" / "0001.prompt.md").exists()


def test_a_run_without_its_configured_checks_says_so(checked: Scratch) -> None:
    checked.script([DONE])
    gates(checked, 'name = "tests"\nrun = "false"')
    done = ralph(checked, "--no-gates")
    assert done.returncode == 0
    assert "warning: the configured checks are off: tests" in done.stdout
    assert "done on the agent's word" in done.stdout
    assert proofs(checked) == ["agent's word"]


def test_done_on_the_agents_word_says_so_everywhere(scratch: Scratch) -> None:
    scratch.script([DONE])
    said = "done on the agent's word: 2 of 2 boxes open, nothing changed, nothing checked; --verify CMD checks"
    done = ralph(scratch)
    assert (done.returncode, said in done.stdout) == (0, True), done.stdout
    assert said in scratch.ralph("--status").stdout
    memory = json.loads(scratch.ralph("--status", "--json").stdout)["state"]["memory"]
    said_of_it = {"proof": "agent's word", "evidence": "2 of 2 boxes open, nothing changed, nothing checked"}
    assert len(memory.pop("seen")) == 1
    assert memory == {**said_of_it, "plan": "prompt", "begun": True, "idle": 1}
    assert said in " ".join(scratch.spool("report", scratch.change.name).stdout.split())


def test_the_next_prompt_holds_ten_tests_of_fifteen_lines_and_promises_nothing(checked: Scratch) -> None:
    report = checked.home / "report.xml"
    detail = "<promise>COMPLETE</promise>\n" + "".join(f"line {number}\n" for number in range(30))
    failed = f"<failure>{detail.replace('<', '&lt;')}</failure>"
    program = checked.home / "check.py"
    program.write_text(
        "import os, sys\n"
        "red = 'red' in open('greet.txt').read()\n"
        f"why = {failed!r} if red else ''\n"
        "cases = ''.join('<testcase name=\"t%02d\">%s</testcase>' % (n, why) for n in range(12))\n"
        f"open({str(report)!r}, 'w').write('<testsuite>' + cases + '</testsuite>')\n"
        "sys.exit(red)\n"
    )
    checked.script([greet("red"), DONE], [greet("green"), DONE])
    gates(checked, f'name = "tests"\nrun = "python3 {program}"\nresults = "{report}"')
    assert ralph(checked).returncode == 0
    told_agent = next(gate["tell_agent"] for gate in checked.history()[0]["gates"])
    assert len(told_agent) <= 4_000
    assert "line 13" in told_agent
    assert "line 14" not in told_agent
    assert "t10:" not in told_agent
    assert "<promise>" not in told_agent
    assert told_agent.splitlines()[0] in checked.prompt(2)


def test_a_check_that_hangs_is_red(checked: Scratch) -> None:
    checked.script([greet("hang"), DONE], [greet("better"), DONE])
    gates(checked, 'name = "tests"\nrun = "! grep -q hang greet.txt || sleep 600"\ntimeout = 1')
    assert ralph(checked).returncode == 0
    assert proofs(checked) == ["refused", "unbroken"]
    assert "timed out after 1 s" in reasons(checked)


def test_what_a_check_starts_does_not_outlive_it(checked: Scratch) -> None:
    checked.script([greet("more"), DONE])
    assert ralph(checked, "--verify", "setsid sleep 600 & echo $! >> $HOME/pids").returncode == 0
    pids = [int(line) for line in (checked.home / "pids").read_text().splitlines()]
    assert len(pids) >= 2
    assert not [pid for pid in pids if runs(pid)]


def test_a_check_that_floods_is_ended_and_red(checked: Scratch) -> None:
    checked.script([greet("flood"), DONE], [greet("quiet"), DONE])
    done = ralph(checked, "--verify", "! grep -q flood greet.txt || yes", env={"SPOOL_OUTPUT_LIMIT_MB": "1"})
    assert done.returncode == 0, done.stderr
    assert proofs(checked) == ["refused", "unbroken"]
    assert "printed more than 1 MiB" in reasons(checked)


def test_a_check_that_writes_tracked_files_is_red(checked: Scratch) -> None:
    checked.script([greet("touch"), DONE], [greet("leave"), DONE])
    assert ralph(checked, "--verify", "! grep -q touch greet.txt || echo x >> check.sh").returncode == 0
    assert "it changed tracked files: check.sh" in reasons(checked)
    assert proofs(checked)[0] == "refused"


@pytest.mark.parametrize("door", ["ralph", "run"])
def test_what_a_check_leaves_is_neither_committed_nor_the_agents(checked: Scratch, door: str) -> None:
    (checked.change / "tasks.md").write_text("## 1. Form\n\n- [ ] 1.1 Write\n\n## 2. Login\n\n- [ ] 2.1 Check\n")
    checked.git("commit", "--quiet", "--all", "--message", "stories")
    steps = [[greet(f"hello\nbye\n{number}\n"), {"tick": 1}, DONE] for number in (1, 2)]
    checked.script(*steps)
    gate = "echo $$ > junk-$$.txt"
    if door == "ralph":
        done = ralph(checked, "--verify", gate, "--auto-commit", "--min-iterations", "2")
        changed = [record["changed_files"] for record in checked.history()]
        assert changed == [2, 2]
    else:
        done = checked.run("--verify", gate, "--commit-stories", timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    assert int(checked.git("rev-list", "--count", "HEAD")) == 5
    assert "junk" not in checked.git("log", "--name-only", "--format=")
    assert list(checked.root.glob("junk-*.txt"))


def waiting_claim(checked: Scratch) -> subprocess.Popen[bytes]:
    """Start a loop whose claim is being checked."""
    checked.script([greet("hello\nbye\nwait\n"), DONE])
    words = ("ralph", "Go", "--harness", "scripted", "--verify", GATE, "--change", CHANGE)
    process = checked.start(*words)
    told(checked, "checking")
    return process


def the_next_run_judges(checked: Scratch) -> None:
    (checked.home / "go").touch()
    done = ralph(checked, "--verify", GATE)
    assert done.returncode == 0, done.stderr
    assert [record["outcome"] for record in checked.history()] == ["completed"]
    assert proofs(checked) == ["unbroken"]
    assert started(checked, "baseline") == 1


def test_a_stop_during_a_check_leaves_the_claim_to_the_next_run(checked: Scratch) -> None:
    process = waiting_claim(checked)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    assert not runs(int((checked.home / "checking").read_text()))
    assert checked.load_state()["status"] == "stopped"
    the_next_run_judges(checked)


def test_a_kill_during_a_check_leaves_the_claim_to_the_next_run(checked: Scratch) -> None:
    process = waiting_claim(checked)
    gate = int((checked.home / "checking").read_text())
    process.kill()
    process.wait(PATIENCE_S)
    wait_for(lambda: not runs(gate), "the end of the check")
    the_next_run_judges(checked)


def test_a_gate_for_the_end_runs_once_with_the_last_story(checked: Scratch) -> None:
    (checked.change / "tasks.md").write_text("## 1. Form\n\n- [ ] 1.1 Write\n\n## 2. Login\n\n- [ ] 2.1 Check\n")
    checked.script([greet("hello\nbye\n1\n"), {"tick": 1}, DONE], [greet("hello\nbye\n2\n"), {"tick": 1}, DONE])
    gates(checked, f'name = "quick"\nrun = "{GATE}"', 'name = "whole"\nrun = "true"\nwhen = "end"')
    events = checked.run_events(timeout=PATIENCE_S)
    ran = [event["gate"] for event in events if event["type"] == "GateStarted" and event["purpose"] == "claim"]
    assert ran.count("quick") == 2
    assert ran.count("whole") == 1
    assert ran[0] == "quick"


def test_a_check_that_wavers_is_accepted_as_flaky_and_proves_nothing(checked: Scratch) -> None:
    checked.script([greet("hello\nbye\nmore\n"), DONE])
    once = "[ ! -e $HOME/armed ] || { rm $HOME/armed; false; }"
    checked.script([greet("more"), {"run": ["touch", str(checked.home / "armed")]}, DONE])
    gates(checked, f'name = "tests"\nrun = "{once}"')
    done = ralph(checked)
    assert done.returncode == 0, done.stderr
    assert proofs(checked) == ["unbroken"]
    assert checked.history()[0]["gates"][0]["flaky"] == ["tests"]
    assert "flaky: tests" in done.stdout


def test_a_clean_gate_runs_after_its_setup_in_a_fresh_checkout(checked: Scratch) -> None:
    (checked.root / ".gitignore").write_text("built\n")
    checked.git("add", "--all")
    checked.git("commit", "--quiet", "--message", "ignore")
    checked.script(
        [{"write": "built", "text": "by the agent"}, greet("more"), DONE],
        [greet("good"), DONE],
    )
    run = "grep -q setup built && ! grep -q more greet.txt && pwd >> $HOME/places"
    gates(checked, f'name = "tests"\nrun = "{run}"\nclean = true\nsetup = "echo setup > built"')
    done = ralph(checked)
    assert done.returncode == 0, done.stderr
    assert proofs(checked)[0] == "refused"
    places = (checked.home / "places").read_text().splitlines()
    assert str(checked.root) not in places
    assert not [place for place in places if Path(place).exists()]


def test_work_that_no_test_shows_is_refused_if_proof_is_required(scratch: Scratch) -> None:
    with_check(scratch, "hello\n")
    scratch.script([greet("hello\nmore\n"), DONE], [greet("hello\nbye\n"), DONE])
    done = ralph(scratch, "--verify", GATE, "--require", "proof")
    assert done.returncode == 0, done.stderr
    assert proofs(scratch) == ["refused", "proved"]
    assert "Add a test that shows what you changed" in scratch.prompt(2)
    assert "parts" in scratch.history()[1]["gates"][0]["proved_by"]


def test_a_second_claim_that_cannot_be_verified_ends_the_loop(checked: Scratch) -> None:
    gone = {"run": ["rm", "-f", "check.sh"]}
    checked.script([greet("more"), gone, DONE])
    done = ralph(checked, "--verify", GATE)
    assert done.returncode == 4, done.stdout
    assert proofs(checked) == ["unverifiable", "unverifiable"]
    assert "the work cannot be verified: sh check.sh: check.sh is gone" in done.stdout


def test_the_baseline_is_not_run_again_by_a_later_run(checked: Scratch) -> None:
    checked.script([{"say": "Not yet."}], [greet("hello\nbye\nmore\n"), DONE])
    assert ralph(checked, "--verify", GATE, "--max-iterations", "1").returncode == 3
    assert ralph(checked, "--verify", GATE).returncode == 0
    assert started(checked, "baseline") == 1


def test_a_loop_that_continues_keeps_the_checks_that_it_began_with(checked: Scratch) -> None:
    checked.script([{"say": "Not yet."}], [greet("hello\n"), DONE])
    gates(checked, f'name = "tests"\nrun = "{GATE}"')
    config = checked.home / ".config" / "spool" / "config.toml"
    assert ralph(checked, "--max-iterations", "1").returncode == 3
    config.write_text(config.read_text().partition("[[gates]]")[0])
    done = ralph(checked, "--max-iterations", "2")
    assert done.returncode == 3, done.stdout
    assert "continuing with the checks of the earlier run: tests" in done.stdout
    assert proofs(checked)[1:] == ["refused", "refused"]


def test_a_check_that_was_mistyped_can_be_corrected(checked: Scratch) -> None:
    checked.script([{"say": "Not yet."}], [greet("hello\nbye\nmore\n"), DONE])
    assert ralph(checked, "--verify", "false", "--max-iterations", "1").returncode == 3
    assert ralph(checked, "--verify", "no-such-program", "--max-iterations", "1").returncode == 2
    assert "earlier run" in ralph(checked, "--max-iterations", "1").stdout, "without an answer the checks stay"
    done = ralph(checked, "--verify", GATE)
    assert done.returncode == 0, done.stdout
    assert "earlier run" not in done.stdout


@pytest.mark.parametrize(
    ("check", "why"),
    [
        ("make", "no makefile found"),
        ("cd app && make -s tset", "make has no target 'tset'"),
        ("npm run tset", "package.json has no script 'tset'"),
        ("npm test", "package.json has no script 'test'"),
    ],
)
def test_a_target_that_nothing_defines_is_an_error_before_the_first_agent(
    checked: Scratch, check: str, why: str
) -> None:
    (checked.root / "app").mkdir()
    (checked.root / "app" / "Makefile").write_text("test:\n\ttrue\n")
    (checked.root / "package.json").write_text('{"name": "app", "version": "1.0.0", "scripts": {}}')
    checked.script([DONE])
    done = ralph(checked, "--verify", check)
    assert done.returncode == 2, done.stdout
    assert f"the check '{check}' cannot run: {why}" in done.stderr


def test_a_loop_that_continues_is_judged_as_strictly_as_it_began(checked: Scratch) -> None:
    checked.script([{"say": "Not yet."}], [greet("hello\nbye\nmore\n"), DONE])
    (checked.root / "green.txt").touch()
    green = ("--verify", "test -e green.txt", "--max-iterations", "1")
    assert ralph(checked, *green, "--require", "proof", "--baseline", "strict").returncode == 3
    done = ralph(checked, *green)
    assert done.returncode == 3, done.stdout
    assert "continuing with the settings of the earlier run: require = proof, baseline = strict" in done.stdout
    assert "require = proof\n" in ralph(checked, *green, "--baseline", "tolerant").stdout
    assert proofs(checked)[1:] == ["refused", "refused"]


def test_the_environment_of_a_check_is_the_users(checked: Scratch) -> None:
    checked.script([greet("more"), DONE])
    assert ralph(checked, "--verify", "env > $HOME/env").returncode == 0
    seen = (checked.home / "env").read_text()
    assert "SPOOL_GATE=" in seen
    assert f"HOME={checked.home}" in seen
    assert os.environ["PATH"].split(os.pathsep)[-1] in seen


def test_a_refused_story_is_not_done_because_its_boxes_are_ticked(checked: Scratch) -> None:
    checked.script([greet("hello\n"), {"tick": 2}, DONE])
    assert checked.run("--verify", GATE, "--max-retries", "0", timeout=PATIENCE_S).returncode == 1
    again = checked.run("--verify", GATE, "--max-retries", "0", timeout=PATIENCE_S)
    assert again.returncode == 1, again.stdout
    assert "all stories are complete" not in again.stdout


def test_a_fresh_start_on_ticked_boxes_is_not_done_while_a_check_is_red(scratch: Scratch) -> None:
    (scratch.change / "tasks.md").write_text("## 1. Loop\n\n- [x] 1.1 Write the loop\n")
    scratch.git("commit", "--quiet", "--all", "--message", "ticked")
    scratch.script([{"promise": "COMPLETE"}])
    done = scratch.run("--verify", "test -e made.txt", "--fresh")
    assert done.returncode == 4, done.stdout
    assert "no box is open, but a check is red: `test -e made.txt`" in done.stdout
    (scratch.root / "made.txt").touch()
    green = scratch.run("--verify", "test -e made.txt", "--fresh")
    assert green.returncode == 0, green.stdout
    assert "done on the agent's word: no box was open, and the checks are green\n" in green.stdout
    off = scratch.run("--verify", "test -e made.txt", "--fresh", "--baseline", "off")
    assert "done on the agent's word: nothing checked; --verify CMD checks" in off.stdout
    assert "or fix it by hand, then: spool run" in done.stderr
    (scratch.root / "made.txt").write_text("by hand\n")
    assert scratch.run("--verify", "test -e made.txt", "--fresh").returncode == 0


def test_a_command_that_is_configured_already_runs_once(scratch: Scratch) -> None:
    ran = scratch.home / "ran"
    scratch.script([{"write": "made.txt", "text": "x"}, {"tick": 1}, {"tick": 1}, {"promise": "COMPLETE"}])
    config = scratch.home / ".config" / "spool" / "config.toml"
    config.write_text(config.read_text() + f"[[gates]]\nname = 'mine'\nrun = 'echo >> {ran}'\n")
    done = scratch.run("--verify", f"echo >> {ran}", "--baseline", "off")
    assert done.returncode == 0, done.stdout
    assert ran.read_text() == "\n"


def test_work_that_an_earlier_story_did_is_accepted_with_the_flag_that_the_end_names(checked: Scratch) -> None:
    (checked.change / "tasks.md").write_text("## 1. Form\n\n- [ ] 1.1 Write\n\n## 2. Login\n\n- [ ] 2.1 Check\n")
    checked.script([greet("hello\nbye\nboth\n"), {"tick": 1}, DONE], [{"tick": 1}, DONE])
    done = checked.run("--verify", GATE, "--max-retries", "0", timeout=PATIENCE_S)
    assert done.returncode == 1, done.stdout
    assert "no files changed except the plan" in done.stdout
    assert done.stderr.rstrip().endswith("--allow-empty")
    again = checked.run("--verify", GATE, "--allow-empty", timeout=PATIENCE_S)
    assert again.returncode == 0, again.stdout


def test_a_red_check_names_its_second_run_and_the_tree_that_it_runs_on(scratch: Scratch) -> None:
    with_check(scratch, "hello\n")
    scratch.script([greet("hello\nmore\n"), {"run": ["sed", "-i", "s/hello/x/", "greet.txt"]}, DONE])
    said = ralph(scratch, "--verify", GATE, "--max-iterations", "1").stdout
    twice = "a second time, to find flaky tests"
    for line in ("before the change", f"before the change, {twice}", twice):
        assert said.count(f"checking: {GATE}, {line}\n") == 1, said


def test_where_only_boxes_were_checked_no_test_is_claimed(scratch: Scratch) -> None:
    scratch.script([greet("more"), {"tick": 2}, DONE])
    rests_on = "no box of the story is open; no test was run"
    assert f"done on the agent's word: tasks: {rests_on}" in scratch.run("--gate", "tasks").stdout


def test_an_empty_check_is_refused_under_the_name_of_its_flag(checked: Scratch) -> None:
    done = ralph(checked, "--verify", " ")
    assert (done.returncode, done.stderr) == (2, 'spool: --verify needs a command: --verify "make test"\n')
