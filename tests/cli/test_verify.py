"""`spool verify`: the gates by hand, and as an agent's stop hook."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import Any

import pytest

from tests.cli.checked import CHECK, DONE, GATE, greet, ralph, with_check
from tests.support import CHANGE, PATIENCE_S, Scratch, wait_for
from tests.support.machine import Terminal, runs, told


@pytest.fixture
def checked(scratch: Scratch) -> Scratch:
    """A project with two green tests at HEAD."""
    return with_check(scratch, "hello\nbye\n")


def verify(scratch: Scratch, *words: str, **kwargs: Any) -> subprocess.CompletedProcess[str]:
    return scratch.spool("verify", "--verify", GATE, *words, **kwargs)


def found(scratch: Scratch, *words: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(verify(scratch, "--json", *words).stdout)
    return answer


def hook(scratch: Scratch, *words: str, event: str = "Stop", gate: str = GATE, **call: Any) -> dict[str, Any]:
    """Call the hook as an agent does; it never exits with 2, which would block."""
    sent = {"session_id": "one", "cwd": str(scratch.root), "hook_event_name": event, **call}
    done = subprocess.run(
        scratch.argv("verify", "--hook", *(["--verify", gate] if gate else []), *words),
        cwd=scratch.home,
        env=scratch.env,
        input=json.dumps(sent),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {**(json.loads(done.stdout) if done.stdout else {}), "stderr": done.stderr}


def test_green_checks_exit_with_0_even_if_nothing_differs(checked: Scratch) -> None:
    done = verify(checked)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "compared with HEAD"
    assert done.stdout.splitlines()[-1] == "unbroken"
    assert "2 tests" in done.stdout
    assert "checking: sh check.sh" in done.stderr


def test_a_red_check_exits_with_1_and_names_the_tests(checked: Scratch) -> None:
    (checked.root / "greet.txt").write_text("hello\n")
    done = verify(checked)
    assert done.returncode == 1
    assert "newly failing: parts" in done.stdout
    assert done.stdout.splitlines()[-1] == "refused: sh check.sh: parts fails"
    assert "\033" not in done.stdout


def test_json_has_every_field_of_every_gate(checked: Scratch) -> None:
    (checked.root / "greet.txt").write_text("bye\n")
    answer = found(checked)
    gate = answer["gates"][0]
    assert (answer["proof"], answer["since"], gate["passed"], gate["tests"]) == ("refused", "HEAD", False, 2)
    assert gate["failing"] == ["greets"]
    assert gate["vanished"] == gate["skipped"] == gate["fixed"] == gate["flaky"] == []


def test_a_test_that_failed_at_head_and_passes_now_proves_the_work(scratch: Scratch) -> None:
    with_check(scratch, "hello\n")
    (scratch.root / "greet.txt").write_text("hello\nbye\n")
    done = verify(scratch)
    assert done.returncode == 0
    assert "fixed: parts" in done.stdout
    assert done.stdout.splitlines()[-1] == "proved"


def test_vanished_and_skipped_tests_are_named(checked: Scratch) -> None:
    (checked.root / "check.sh").write_text("echo TAP version 13; echo 1..1; echo ok 1 - parts '# SKIP'\n")
    done = verify(checked)
    assert done.returncode == 1
    assert "vanished: greets" in done.stdout
    assert "skipped: parts" in done.stdout


def test_the_work_is_compared_with_where_the_loop_began(checked: Scratch) -> None:
    checked.script([greet("hello\nbye\nagain\n"), {"run": ["git", "commit", "-qam", "work"]}, DONE])
    assert ralph(checked, "--verify", GATE).returncode == 0
    answer = found(checked, CHANGE)
    assert (answer["since"], answer["change"]) == ("the start of the loop", CHANGE)
    assert answer["baseline"] == checked.load_state()["memory"]["base"]


@pytest.mark.parametrize("how", ["no commit", "no git"])
def test_without_a_commit_nothing_is_compared(scratch: Scratch, how: str) -> None:
    (scratch.root / "greet.txt").write_text("hello\nbye\n")
    (scratch.root / "check.sh").write_text(CHECK)
    subprocess.run(["rm", "-rf", scratch.root / ".git"], check=True)
    if how == "no commit":
        scratch.git("init", "--quiet")
    done = verify(scratch)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "nothing to compare with"


def test_without_a_check_the_hint_says_how_to_give_one(scratch: Scratch) -> None:
    done = scratch.spool("verify")
    assert done.returncode == 2
    assert "no check is configured" in done.stderr
    assert "--verify" in done.stderr


def test_a_check_that_cannot_start_is_unverifiable(checked: Scratch) -> None:
    done = checked.spool("verify", "--verify", "no-such-program")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("unverifiable: no-such-program: ")


def test_a_running_loop_in_the_tree_is_named(checked: Scratch) -> None:
    checked.script([greet("hello\nbye\nwait\n"), DONE])
    process = checked.start("ralph", "Go", "--harness", "scripted", "--verify", GATE, "--change", CHANGE)
    told(checked, "checking")
    done = verify(checked)
    assert done.returncode == 1
    assert f"a loop on '{CHANGE}' is already running" in done.stderr
    (checked.home / "go").touch()
    assert process.wait(PATIENCE_S) == 0


def test_a_loop_names_the_check_by_hand_and_ctrl_c_ends_it(checked: Scratch) -> None:
    (checked.root / "greet.txt").write_text("hello\nbye\nwait\n")
    process = checked.start("verify", "--verify", GATE)
    gate = int(told(checked, "checking") or 0)
    checked.script([DONE])
    refused = ralph(checked)
    assert refused.returncode == 1
    assert "a check by hand is already running" in refused.stderr
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    wait_for(lambda: not runs(gate), "the end of the check")


@pytest.mark.parametrize("colour", [True, False])
def test_a_narrow_terminal_shows_progress_and_colours_unless_told_not_to(checked: Scratch, colour: bool) -> None:
    (checked.root / "greet.txt").write_text("hello\n")
    checked.env |= {"COLUMNS": "60"} | ({} if colour else {"NO_COLOR": "1"})
    with Terminal(checked.argv("verify", "--verify", GATE), directory=checked.root, env=checked.env) as screen:
        assert screen.wait() == 1
        text = screen.seen.decode()
    assert "checking: sh check.sh, " in text
    assert ("\033[31m\033[1mrefused" in text) is colour
    lines = [line.rpartition("\033[K")[2] for line in text.replace("\r", "").splitlines()]
    assert all(len(line) <= 60 for line in lines if "\033" not in line)


def test_the_hook_blocks_a_red_stop_once_per_tree_and_passes_a_green_one(checked: Scratch) -> None:
    assert hook(checked) == {"stderr": ""}
    (checked.root / "greet.txt").write_text("hello\n")
    blocked = hook(checked, stop_hook_active=False)
    assert blocked["decision"] == "block"
    assert "parts fails" in blocked["reason"]
    (checked.root / "greet.txt").write_text("hello\nbye\nmended\n")
    assert hook(checked, stop_hook_active=True) == {"stderr": ""}


def test_an_agent_that_gives_up_is_released_and_the_next_verify_says_so(checked: Scratch) -> None:
    (checked.root / "greet.txt").write_text("hello\n")
    assert hook(checked, stop_hook_active=False)["decision"] == "block"
    released = hook(checked, stop_hook_active=True)
    assert "decision" not in released
    assert "released unverified, the agent stopped again without a change" in released["systemMessage"]
    assert "released unverified" in verify(checked).stdout
    assert found(checked)["released"]["refused"] == "sh check.sh: parts fails"
    (checked.root / "greet.txt").write_text("hello\nbye\n")
    assert "released unverified" in verify(checked).stdout
    assert "released unverified" not in verify(checked).stdout


def test_the_hook_blocks_five_times_in_a_row_at_most(checked: Scratch) -> None:
    decisions = []
    for number in range(6):
        (checked.root / "greet.txt").write_text(f"hello {number}\n")
        decisions.append(hook(checked, stop_hook_active=number > 0).get("decision"))
    assert decisions == ["block"] * 5 + [None]


def test_the_hook_compares_with_the_start_of_the_session(checked: Scratch) -> None:
    assert hook(checked, event="SessionStart", source="startup") == {"stderr": ""}
    (checked.root / "greet.txt").write_text("hello\n")
    checked.git("commit", "--quiet", "--all", "--message", "broken, and committed")
    assert "parts fails" in hook(checked, stop_hook_active=False)["reason"]


@pytest.mark.parametrize(
    ("gate", "call", "said"),
    [
        ("", {}, "no check is configured"),
        (GATE, {"event": "SubagentStop"}, ""),
        (GATE, {"session_id": 7}, "standard input is not a hook's JSON"),
    ],
    ids=["no check", "another event", "not a call"],
)
def test_the_hook_does_not_block_what_it_cannot_check(
    checked: Scratch, gate: str, call: dict[str, Any], said: str
) -> None:
    (checked.root / "greet.txt").write_text("hello\n")
    answer = hook(checked, gate=gate, **call)
    assert "decision" not in answer
    assert said in answer["stderr"]


def test_the_hook_leaves_a_loop_to_its_own_gates(checked: Scratch) -> None:
    checked.script([greet("hello\nbye\nwait\n"), DONE])
    process = checked.start("ralph", "Go", "--harness", "scripted", "--verify", GATE, "--change", CHANGE)
    told(checked, "checking")
    answer = hook(checked, stop_hook_active=False)
    assert "decision" not in answer
    assert "is already running" in answer["stderr"]
    (checked.home / "go").touch()
    assert process.wait(PATIENCE_S) == 0


def test_the_hook_runs_nothing_that_the_repository_asks_for_untrusted(checked: Scratch) -> None:
    (checked.root / "greet.txt").write_text("hello\n")
    (checked.root / ".spool" / "config.toml").write_text(
        f'[[gates]]\nname = "tests"\nrun = "touch {checked.home}/ran"\n'
    )
    answer = hook(checked, gate="")
    assert "decision" not in answer
    assert "not trusted: gates" in answer["stderr"]
    assert not (checked.home / "ran").exists()
    assert checked.spool("verify").returncode == 2


@pytest.mark.parametrize("others", [0, 1], ids=["the only change", "one of two"])
def test_the_hook_runs_the_tests_whatever_boxes_are_open(checked: Scratch, others: int) -> None:
    for number in range(others):
        (other := checked.change.parent / f"other-{number}").mkdir()
        (other / "proposal.md").write_text("# Other\n")
        (other / "tasks.md").write_text("- [ ] 1.1 Open\n")
    (checked.change / "tasks.md").write_text("- [ ] 1.1 Open\n- [ ] 1.2 Open too\n")
    checked.git("add", "--all")
    checked.git("commit", "--quiet", "--message", "open boxes")
    own = checked.home / ".config" / "spool" / "config.toml"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text('[[gates]]\nname = "tasks"\n')
    (checked.root / "greet.txt").write_text("hello\n")
    assert "parts fails" in hook(checked, stop_hook_active=False)["reason"]
    (checked.root / "greet.txt").write_text("hello\nbye\nmended\n")
    assert hook(checked, stop_hook_active=True) == {"stderr": ""}
    # A session that ticks a box works on that change: its boxes count, and the tests still run first.
    (checked.change / "tasks.md").write_text("- [x] 1.1 Open\n- [ ] 1.2 Open too\n")
    (checked.root / "greet.txt").write_text("hello\n")
    assert "parts fails" in hook(checked, stop_hook_active=False)["reason"]
    (checked.root / "greet.txt").write_text("hello\nbye\n")
    assert "1 of 2 boxes are ticked" in hook(checked, stop_hook_active=True)["reason"]
    (checked.change / "tasks.md").write_text("- [x] 1.1 Open\n- [x] 1.2 Open too\n")
    assert hook(checked, stop_hook_active=True) == {"stderr": ""}


def test_a_tree_that_is_red_at_head_is_red_before_and_now_and_never_green(scratch: Scratch) -> None:
    with_check(scratch, "hello\n")
    done = verify(scratch)
    assert (done.returncode, "green" in done.stdout) == (0, False), done.stdout
    assert "red before and now: 1 test: sh check.sh, 2 tests" in done.stdout
    assert "    red before and now: parts" in done.stdout
    last = "unbroken; red before and now: 1 test, which only --baseline strict refuses"
    assert done.stdout.splitlines()[-1] == last
    assert found(scratch)["gates"][0]["still_failing"] == ["parts"]


def test_a_tree_that_is_red_at_head_is_refused_with_baseline_strict(scratch: Scratch) -> None:
    with_check(scratch, "hello\n")
    done = verify(scratch, "--baseline", "strict")
    assert (done.returncode, "green" in done.stdout) == (1, False), done.stdout
    assert "    red before and now: parts" in done.stdout
    assert "newly failing" not in done.stdout
    assert done.stdout.splitlines()[-1] == "refused: sh check.sh: parts fails"
