"""Budgets on `spool ralph` and `spool run`: used up between iterations and within one, per loop, run and day."""

import json
import os
import re
import shlex
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support import Scratch, Steps, midday, wait_for

COMPLETE = {"promise": "COMPLETE"}
USED: dict[str, Any] = {"usage": {"tokens_in": 100, "tokens_out": 20, "cost_usd": 0.4}}
ENDLESS: Steps = [{"say": "Working"}, {"write": "half.txt", "text": "half"}, USED, {"sleep": 600}]
SCRIPTED = ("Go", "--harness", "scripted")


def own_settings(scratch: Scratch, text: str) -> None:
    """Put settings before the tables of the user's own file."""
    path = scratch.home / ".config" / "spool" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n" + (path.read_text() if path.exists() else ""))


def spending(scratch: Scratch) -> list[dict[str, Any]]:
    folder = scratch.home / ".local" / "state" / "spool" / "spending"
    return [json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_text().splitlines()]


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (("--max-cost", "0.3"), "the budget of $0.30 is used up"),
        (("--max-tokens", "100"), "the budget of 100 tokens is used up"),
    ],
)
@pytest.mark.parametrize("door", ["ralph", "run"])
def test_an_agent_is_ended_in_the_middle_and_its_work_stays(
    scratch: Scratch, door: str, flags: tuple[str, str], reason: str
) -> None:
    scratch.script(ENDLESS)
    done = scratch.ralph(*SCRIPTED, *flags) if door == "ralph" else scratch.run(*flags)
    assert (done.returncode, f"stuck: {reason}" in done.stdout) == (4, True)
    assert (scratch.root / "half.txt").read_text() == "half"
    assert "over budget" in done.stdout
    assert f"Raise {flags[0]} to continue:\n  spool {door}" in done.stderr


def test_the_hinted_command_continues_the_loop(scratch: Scratch) -> None:
    scratch.script(ENDLESS, [{"usage": {"cost_usd": 0.1}}, COMPLETE])
    stuck = scratch.ralph(*SCRIPTED, "--max-cost", "0.3")
    command = stuck.stderr.splitlines()[-1].strip()
    assert command.endswith("--max-cost 0.70")
    assert scratch.spool(*shlex.split(command)[1:]).returncode == 0
    assert [record["outcome"] for record in scratch.history()] == ["over budget", "completed"]


def test_a_story_out_of_budget_continues_with_its_attempt_and_its_work(scratch: Scratch) -> None:
    scratch.script(ENDLESS, [{"run": ["test", "-e", "half.txt"]}, {"tick": 2}, COMPLETE])
    stuck = scratch.run("--max-tokens", "100")
    command = stuck.stderr.splitlines()[-1].strip()
    assert command.endswith("--max-tokens 220 --on-resume keep")
    done = scratch.spool(*shlex.split(command)[1:])
    assert (done.returncode, "attempt 2" in done.stdout) == (0, False)
    assert (scratch.root / "half.txt").exists()


def test_the_settings_hold_for_both_commands(scratch: Scratch) -> None:
    scratch.script(ENDLESS)
    (scratch.root / ".spool" / "config.toml").write_text("max_cost_usd = 0.3\n")
    assert "max_cost_usd" in scratch.spool("config").stdout
    assert scratch.ralph(*SCRIPTED).returncode == 4
    assert scratch.run().returncode == 4


def test_a_budget_counts_over_the_runs_of_a_loop_and_is_checked_between_iterations(scratch: Scratch) -> None:
    scratch.script([{"print": json.dumps({"kind": "done", "usage": USED["usage"]}) + "\n"}, {"exit": 0}])
    first = scratch.ralph(*SCRIPTED, "--max-iterations", "1", "--max-cost", "0.8")
    second = scratch.ralph(*SCRIPTED, "--max-cost", "0.8")
    third = scratch.ralph(*SCRIPTED, "--max-cost", "0.8")
    assert (first.returncode, second.returncode, third.returncode) == (3, 4, 4)
    assert [record["outcome"] for record in scratch.history()] == ["no promise", "no promise"]


def test_a_promise_with_the_last_token_is_kept(scratch: Scratch) -> None:
    """The agent that promises as the budget ends is not ended for it."""
    end = json.dumps({"kind": "message", "text": "<promise>COMPLETE</promise>"}) + "\n"
    used = json.dumps({"kind": "usage", "usage": USED["usage"]}) + "\n"
    scratch.script([{"print": end + used}, {"sleep": 1}])
    assert scratch.ralph(*SCRIPTED, "--max-cost", "0.1").returncode == 0


@pytest.mark.long
def test_the_time_of_a_run_includes_its_waits_and_starts_over(scratch: Scratch) -> None:
    scratch.script([{"error": "slow down", "error_kind": "rate_limit", "retry_after_s": 3600}, {"exit": 1}], [COMPLETE])
    stuck = scratch.ralph(*SCRIPTED, "--max-duration", "20s")  # time for an agent to start
    assert (stuck.returncode, "stuck: the time limit of 20 s is reached" in stuck.stdout) == (4, True)
    assert "Run it again to continue; the time starts over:\n  spool ralph" in stuck.stderr
    receipt = json.loads(scratch.ralph("--status", "--json").stdout)["receipt"]
    assert receipt["waits_s"] > 0
    assert scratch.ralph(*SCRIPTED, "--max-duration", "1h").returncode == 0


def test_an_agent_is_ended_when_the_time_is_up(scratch: Scratch) -> None:
    scratch.script([{"say": "Working"}, {"sleep": 600}])
    assert scratch.run("--max-duration", "2s").returncode == 4


def test_the_budget_of_a_day_counts_over_all_loops(scratch: Scratch) -> None:
    scratch.env["TZ"] = midday()
    scratch.script([USED, COMPLETE])
    own_settings(scratch, "max_cost_per_day = 0.7")
    assert scratch.ralph(*SCRIPTED).returncode == 0
    scratch.script([USED, {"sleep": 600}])
    own_settings(scratch, "max_cost_per_day = 0.7")
    stuck = scratch.run()
    assert (stuck.returncode, "stuck: today's budget of $0.70 is used up" in stuck.stdout) == (4, True)
    assert "raise max_cost_per_day in your own config.toml" in stuck.stderr
    assert [line["usage"]["cost_usd"] for line in spending(scratch)] == [0.4, 0.4]
    again = scratch.ralph(*SCRIPTED)
    assert (again.returncode, len(spending(scratch))) == (4, 2)
    own_settings(scratch, "max_tokens_per_day = 1\n")


@pytest.mark.parametrize("setting", ["max_cost_per_day = 9", "max_tokens_per_day = 9", "[prices.m]\ninput=1\noutput=1"])
def test_a_repository_cannot_set_what_holds_for_all_loops(scratch: Scratch, setting: str) -> None:
    (scratch.root / ".spool" / "config.toml").write_text(setting + "\n")
    refused = scratch.ralph(*SCRIPTED)
    assert refused.returncode == 2
    assert "cannot set" in refused.stderr
    assert "set it in your own config.toml; spool config shows its path" in refused.stderr


def test_an_agent_killed_with_its_runner_is_counted_once_the_loop_continues(scratch: Scratch) -> None:
    scratch.script(ENDLESS, [COMPLETE])
    process = scratch.start("ralph", *SCRIPTED, "-c", "2-1")
    journal = scratch.state / "journal.jsonl"
    wait_for(lambda: journal.exists() and '"kind":"usage"' in journal.read_text())
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert spending(scratch) == []
    assert scratch.ralph(*SCRIPTED).returncode == 0
    assert [(line["iteration"], line["usage"].get("cost_usd")) for line in spending(scratch)] == [(1, 0.4), (2, None)]
    assert scratch.load_state()["receipt"]["usage"]["cost_usd"] == 0.4


def test_an_unwritable_state_directory_costs_a_warning(scratch: Scratch) -> None:
    scratch.script([USED, COMPLETE])
    folder = scratch.home / ".local" / "state" / "spool"
    folder.mkdir(parents=True)
    (folder / "spending").write_text("in the way")
    done = scratch.ralph(*SCRIPTED)
    assert (done.returncode, "warning: cannot write" in done.stdout) == (0, True)


FAKE_CODEX = """
import json, sys
sys.stdin.read()
print(json.dumps({"type": "thread.started", "thread_id": "1"}))
item = {"id": "1", "type": "agent_message", "text": "Not yet."}
print(json.dumps({"type": "item.completed", "item": item}))
usage = {"input_tokens": 1000000, "cached_input_tokens": 0, "output_tokens": 100000}
print(json.dumps({"type": "turn.completed", "usage": usage}))
"""


def test_an_agent_without_cost_is_warned_about_and_its_cost_is_unknown(scratch: Scratch) -> None:
    scratch.agent(FAKE_CODEX, "codex")
    done = scratch.ralph("Go", "--harness", "codex", "--max-cost", "1", "--max-iterations", "2", "--allow-all")
    assert done.returncode == 3
    warned = [line for line in done.stdout.splitlines() if "codex reports no cost, so the cost limit cannot" in line]
    assert len(warned) == 1
    assert "add the model to [prices] in your own config.toml" in warned[0]
    assert "2.2M tokens, cost unknown" in done.stdout
    assert "$0" not in done.stdout


@pytest.mark.parametrize(("name", "flags"), [("gpt", ("--model", "gpt")), ("codex", ())])
def test_the_users_prices_price_it(scratch: Scratch, name: str, flags: tuple[str, ...]) -> None:
    scratch.agent(FAKE_CODEX, "codex")
    own_settings(scratch, f"[prices.{name}]\ninput = 1.0\noutput = 10.0\n")
    done = scratch.ralph("Go", "--harness", "codex", "--allow-all", "--max-cost", "3", *flags)
    assert (done.returncode, "warning" in done.stdout) == (4, False)
    assert "2 iterations in" in done.stdout
    assert "$4.00" in done.stdout
    assert f'[prices.{name}]  {{"input":1.0,"output":10.0}}' in scratch.spool("config").stdout


@pytest.mark.parametrize("value", ["nan", "inf", "-1"])
def test_a_budget_is_a_number(scratch: Scratch, value: str) -> None:
    refused = scratch.ralph(*SCRIPTED, "--max-cost", value)
    assert (refused.returncode, refused.stderr.startswith("spool: --max-cost ")) == (2, True)


@pytest.mark.parametrize("committed", [False, True], ids=["in the tree", "committed"])
def test_back_and_forth_is_no_progress(scratch: Scratch, committed: bool) -> None:
    commit: Steps = [{"run": ["git", "add", "a.txt"]}, {"run": ["git", "commit", "--quiet", "-m", "x"]}]
    one, two = ([{"write": "a.txt", "text": text}, *(commit if committed else [])] for text in ("x", "y"))
    scratch.script(one, two, one, two, one)
    stuck = scratch.ralph(*SCRIPTED, "--stall", "2")
    assert (stuck.returncode, "stuck: no progress in 2 iterations in a row" in stuck.stdout) == (4, True)
    assert [record["progress"] for record in scratch.history()] == [True, True, False, False]
    asked = ["## Take another approach" in scratch.prompt(number) for number in (1, 2, 3, 4)]
    assert asked == [False, False, False, True]
    assert "Add a note with --add-context or choose another --model, then run it again:" in stuck.stderr


def test_a_wait_for_a_rate_limit_is_no_lack_of_progress(scratch: Scratch) -> None:
    limited: Steps = [{"error": "slow down", "error_kind": "rate_limit", "retry_after_s": 1}, {"exit": 1}]
    scratch.script([{"say": "Hm"}], limited, limited, [{"say": "Hm"}])
    assert scratch.ralph(*SCRIPTED, "--stall", "2").returncode == 4
    assert [record["outcome"] for record in scratch.history()] == [
        "no promise", "rate limited", "rate limited", "no promise",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("flags", "code", "iterations"),
    [
        ((), 4, 5),
        (("--no-max-iterations",), 4, 5),
        (("--min-iterations", "7"), 4, 7),
        (("--max-iterations", "6"), 3, 6),
        (("--stall", "0", "--max-duration", "2s"), 4, None),
    ],
    ids=["by default", "without a limit", "never before the minimum", "the letter of a limit", "the letter"],
)
def test_ralph_without_progress_ends_after_five_iterations(
    scratch: Scratch, flags: tuple[str, ...], code: int, iterations: int | None
) -> None:
    scratch.script(*([[{"say": "Hm"}]] * 5), [{"say": "Hm"}, {"sleep": 0.2}])
    done = scratch.ralph(*SCRIPTED, *flags)
    assert (done.returncode, len(scratch.history())) == (code, iterations or len(scratch.history()))
    assert len(scratch.history()) >= 5
    assert ("no progress in" in done.stdout) == (code == 4 and iterations is not None)


def test_the_hint_after_five_refused_claims_says_what_to_try_and_not_allow_empty(scratch: Scratch) -> None:
    scratch.script([{"say": "<promise>COMPLETE</promise>"}])
    done = scratch.ralph(*SCRIPTED, "--verify", "true")
    assert (done.returncode, len(scratch.history())) == (4, 5)
    assert re.search(r"stuck: changes: no files changed[^\n]*; no progress in 5 iterations in a row", done.stdout)
    assert "Add a note with --add-context or choose another --model, then run it again:" in done.stderr
    assert "--allow-empty" not in done.stderr
    limited = scratch.ralph(*SCRIPTED, "--verify", "true", "--max-iterations", "1", "--fresh")
    assert "Next: say what is missing with --add-context, then: " in limited.stderr


def test_failed_iterations_have_a_limit_of_their_own_and_are_no_lack_of_progress(scratch: Scratch) -> None:
    scratch.script([{"exit": 7}])
    done = scratch.ralph(*SCRIPTED)
    assert (done.returncode, len(scratch.history())) == (4, 10)
    assert "10 failed iterations in a row" in done.stdout


@pytest.mark.parametrize(
    ("flags", "word", "code"),
    [(("--stall", "1"), "stuck", 4), (("--max-iterations", "1"), "unfinished", 3), (("--fail-fast",), "failed", 1)],
)
def test_stuck_and_the_exit_code_agree(scratch: Scratch, flags: tuple[str, ...], word: str, code: int) -> None:
    scratch.script([{"exit": 7}] if word == "failed" else [{"say": "Hm"}])
    done = scratch.ralph(*SCRIPTED, *flags)
    assert (done.returncode, done.stdout.splitlines()[-1].startswith(f"--- {word}: ")) == (code, True), done.stdout


def test_the_receipt_of_a_run_is_the_same_everywhere(scratch: Scratch) -> None:
    tasks = "## 1. One\n\n- [ ] 1.1 a\n\n## 2. Two\n\n- [ ] 2.1 b\n"
    (scratch.change / "tasks.md").write_text(tasks)
    scratch.git("commit", "--quiet", "-am", "stories")
    scratch.script([USED, {"tick": 1}, COMPLETE])
    events = scratch.run_events()
    receipt = events[-1]["receipt"]
    assert (receipt["iterations"], receipt["usage"]) == (
        2, {"tokens_in": 200, "tokens_out": 40, "cost_usd": 0.8},
    )  # fmt: skip
    assert [(story["id"], story["done"], story["proved"]) for story in receipt["stories"]] == [
        ("1", True, False),
        ("2", True, False),
    ]
    assert receipt["per_story"]["cost_usd"] == pytest.approx(0.4)
    assert receipt["per_proved_story"] is None
    status = json.loads(scratch.run("--status", "--json").stdout)
    state = json.loads((Path(scratch.run_state) / "state.json").read_text())
    assert status["receipt"] == state["receipt"] == receipt
    assert "Receipt   2 iterations in" in scratch.run("--status").stdout
