"""What `spool ralph` prints, records and resumes."""

import json
import signal
import subprocess

from tests.support import CHANGE, PATIENCE_S, Scratch, wait_for

COMPLETE = {"promise": "COMPLETE"}


def test_options_may_stand_before_or_after_the_prompt(scratch: Scratch) -> None:
    scratch.script([COMPLETE])
    before = scratch.spool("ralph", "-c", "2-1", "--harness", "scripted", "Do", "this")
    after = scratch.spool("ralph", "Do", "this", "-c", "2-1", "--harness", "scripted")
    assert (before.returncode, after.returncode) == (0, 0)
    assert "Do this" in scratch.prompt(1)
    assert "Do this" in scratch.prompt(2)


def test_json_prints_every_event_of_the_run(scratch: Scratch) -> None:
    usage = {"tokens_in": 10, "tokens_out": 5, "cost_usd": 0.5, "turns": 2}
    scratch.script([{"say": "Hello"}, {"write": "a.txt", "text": "x"}, {"usage": usage}, COMPLETE])
    done = scratch.ralph("Go", "--harness", "scripted", "--json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert [event["type"] for event in events] == [
        "RunStarted", "IterationStarted", "AgentEvent", "AgentEvent", "AgentEvent", "AgentEvent", "AgentEvent",
        "IterationEnded", "Complete", "RunEnded",
    ]  # fmt: skip
    assert events == scratch.journal()
    record = events[-3]["record"]
    assert record["usage"] == {"tokens_in": 10, "tokens_out": 5, "cost_usd": 0.5, "turns": 2}
    assert record == scratch.history()[0]
    assert len({event["run_id"] for event in events}) == 1


def test_numbers_go_on_over_runs_and_limits_count_per_run(scratch: Scratch) -> None:
    scratch.script([{"say": "Not yet"}])
    first = scratch.ralph("Go", "--harness", "scripted", "--max-iterations", "2")
    second = scratch.ralph("Go", "--harness", "scripted", "--max-iterations", "2")
    assert (first.returncode, second.returncode) == (3, 3)
    assert [record["iteration"] for record in scratch.history()] == [1, 2, 3, 4]
    assert "iteration 3 (1 of 2 in this run)" in second.stdout
    assert scratch.load_state()["status"] == "stuck"


def test_fresh_puts_the_old_history_aside(scratch: Scratch) -> None:
    scratch.script([COMPLETE])
    scratch.ralph("Go", "--harness", "scripted")
    scratch.ralph("Go", "--harness", "scripted", "--fresh")
    assert [record["iteration"] for record in scratch.history()] == [1]
    (aside,) = (scratch.state / "earlier").iterdir()
    assert (aside / "history.jsonl").exists()
    assert (aside / "logs" / "0001.out").exists()


def test_ctrl_c_stops_gracefully_and_the_same_command_goes_on(scratch: Scratch) -> None:
    scratch.script([{"say": "Working"}, {"sleep": 600}], [COMPLETE])
    process = scratch.start(
        "ralph", "Go", "-c", CHANGE, "--harness", "scripted", "--fresh", stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    wait_for(lambda: (scratch.state / "logs" / "0001.out").exists() and b"Working" in output(scratch))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert b"spool ralph Go -c 002-01_add-ralph-loop --harness scripted\n" in err
    assert b"stopping (Ctrl-C)" in out
    assert scratch.load_state()["status"] == "stopped"
    assert scratch.history()[0]["outcome"] == "interrupted"
    assert scratch.ralph("Go", "--harness", "scripted").returncode == 0
    assert [record["iteration"] for record in scratch.history()] == [1, 2]


def output(scratch: Scratch) -> bytes:
    return (scratch.state / "logs" / "0001.out").read_bytes()


def test_status_of_a_running_loop(scratch: Scratch) -> None:
    scratch.script([{"say": "Working"}, {"sleep": 600}])
    assert "no loop has run yet" in scratch.ralph("--status").stdout
    process = scratch.start("ralph", "Go", "-c", CHANGE, "--harness", "scripted", "--max-iterations", "7")
    wait_for(lambda: (scratch.state / "logs" / "0001.out").exists() and b"Working" in output(scratch))
    told = scratch.ralph("--status").stdout
    assert "running" in told
    assert "agent is working" in told
    assert "at most 7" in told
    assert f"alive, pid {process.pid}" in told
    process.kill()
    process.wait()
    told = json.loads(scratch.ralph("--status", "--json").stdout)
    assert (told["status"], told["runner_alive"]) == ("stopped", False)


def test_a_second_loop_on_the_change_is_refused_and_names_the_first(scratch: Scratch) -> None:
    scratch.script([{"say": "Working"}, {"sleep": 600}])
    process = scratch.start("ralph", "Go", "-c", CHANGE, "--harness", "scripted")
    wait_for(lambda: (scratch.state / "logs" / "0001.out").exists())
    done = scratch.ralph("Go", "--harness", "scripted")
    assert done.returncode == 1
    assert f"pid {process.pid}" in done.stderr
    assert CHANGE in done.stderr
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=120) == 130


def test_auto_commit_records_the_hash_and_leaves_state_alone(scratch: Scratch) -> None:
    scratch.script([{"write": "a.txt", "text": "x"}], [{"say": "Nothing to do"}], [COMPLETE])
    assert scratch.ralph("Go", "--harness", "scripted", "--auto-commit").returncode == 0
    commits = [record["commit"] for record in scratch.history()]
    assert commits[0] == scratch.git("rev-parse", "HEAD").strip()
    assert commits[1:] == [None, None]
    assert "a.txt" in scratch.git("show", "--name-only", "--format=%s", "HEAD")
    assert ".state" not in scratch.git("ls-files")
    assert scratch.git("log", "-1", "--format=%s").strip() == f"{CHANGE}: iteration 1"


def test_the_history_has_the_agents_own_commits(scratch: Scratch) -> None:
    commit = {"run": ["git", "commit", "--quiet", "--allow-empty", "--message", "mine"]}
    scratch.script([commit, commit], [COMPLETE])
    assert scratch.ralph("Go", "--harness", "scripted").returncode == 0
    made = scratch.git("log", "--format=%H", "-2").split()[::-1]
    assert [record["commits"] for record in scratch.history()] == [made, []]
    assert made[0][:7] in scratch.spool("report").stdout


def test_the_status_has_a_column_called_duration(scratch: Scratch) -> None:
    scratch.script([COMPLETE])
    scratch.ralph("Go", "--harness", "scripted")
    head = next(line for line in scratch.ralph("--status").stdout.splitlines() if line.startswith("#"))
    assert {"duration", "complete", "exit"} <= set(head.split())


def test_a_plain_text_agent_yields_a_done_event(scratch: Scratch) -> None:
    scratch.agent("print('All done.\\n<promise>COMPLETE</promise>')", name="mine")
    config = scratch.home / ".config" / "spool" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('[harnesses.mine]\nargv = ["mine"]\n')
    done = scratch.ralph("Go", "--harness", "mine", "--json")
    said = [event["event"] for event in map(json.loads, done.stdout.splitlines()) if event["type"] == "AgentEvent"]
    assert said[-1]["kind"] == "done"
    assert said[-1]["content"].startswith("All done.")


def test_without_git_the_summary_says_so(tmp_path_factory: object, scratch: Scratch) -> None:
    import shutil

    shutil.rmtree(scratch.root / ".git")
    scratch.script([COMPLETE])
    done = scratch.ralph("Go", "--harness", "scripted")
    assert done.returncode == 0
    assert "changes are not counted" in done.stdout
    assert scratch.history()[0]["changed_files"] is None


def test_a_command_of_the_users_own(scratch: Scratch) -> None:
    scratch.agent(
        "import sys\nassert open(sys.argv[1]).read().startswith('# Spool loop')\n"
        "assert sys.argv[2:] == ['--model', 'big']\nprint('<promise>DONE AND DONE</promise>')",
        name="my agent",
    )
    (scratch.root / ".spool" / "config.toml").write_text(
        'harness = "mine"\ncompletion_promise = "DONE AND DONE"\n'
        '[harnesses.mine]\nargv = ["my agent", "{prompt_file}"]\nprompt = "file"\nmodel_argv = ["--model", "{model}"]\n'
    )
    scratch.trust()
    done = scratch.ralph("Go", "--model", "big", "--max-iterations", "1")
    assert done.returncode == 0, done.stdout


def test_openspec_changes_are_found_from_a_folder_below(scratch: Scratch) -> None:
    folder = scratch.root / "openspec" / "changes" / "add-auth"
    folder.mkdir(parents=True)
    (folder / "proposal.md").write_text("# Add auth\n")
    deep = scratch.root / "src" / "deep"
    deep.mkdir(parents=True)
    scratch.script([COMPLETE])
    done = scratch.spool("ralph", "Go", "-c", "add-auth", "--harness", "scripted", cwd=deep)
    assert done.returncode == 0, done.stderr
    assert (scratch.root / ".spool/.state/ralph/add-auth/history.jsonl").exists()


def test_config_shows_where_each_value_comes_from(scratch: Scratch) -> None:
    (scratch.root / ".spool" / "config.toml").write_text("max_iterations = 7\nmodel = 'a'\n")
    user = scratch.home / ".config" / "spool"
    user.mkdir(parents=True)
    (user / "config.toml").write_text("model = 'b'\n")
    told = json.loads(scratch.spool("config", "--json", env={"SPOOL_FAIL_FAST": "1"}).stdout)
    assert told["max_iterations"] == {"value": 7, "origin": str(scratch.root / ".spool/config.toml")}
    assert told["model"] == {"value": "b", "origin": str(user / "config.toml")}
    assert told["fail_fast"] == {"value": True, "origin": "SPOOL_FAIL_FAST"}
    assert told["harness"] == {"value": "opencode", "origin": "default"}
    assert "max_iterations" in scratch.spool("config").stdout
