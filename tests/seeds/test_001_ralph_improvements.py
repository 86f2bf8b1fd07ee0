"""Specification 001, context, resilience and history: one test per scenario, named after it."""

import json
import re

from tests.support import CHANGE, Scratch

COMPLETE = "print('<promise>COMPLETE</promise>')"
CONTEXT_HEADING = "## Additional Context (added by user mid-loop)"


# Requirement: Context injection commands


def test_add_context_appends_to_per_change_context_file(scratch: Scratch) -> None:
    for text in ("The port is 8080.", "Use tabs."):
        done = scratch.spool("ralph", "--add-context", text, "--change", CHANGE)
        assert done.returncode == 0
        assert "Added" in done.stdout
    assert (scratch.state / "context.md").read_text() == "The port is 8080.\nUse tabs.\n"


def test_clear_context_empties_the_per_change_context_file(scratch: Scratch) -> None:
    scratch.spool("ralph", "--add-context", "The port is 8080.", "--change", CHANGE)
    done = scratch.spool("ralph", "--clear-context", "--change", CHANGE)
    assert done.returncode == 0
    assert "Cleared" in done.stdout
    assert (scratch.state / "context.md").read_text() == ""


# Requirement: Context is reloaded every iteration


def test_mid_loop_context_updates_appear_on_the_next_iteration(scratch: Scratch) -> None:
    # The first iteration's agent adds context while the loop runs, as a person in another terminal would.
    scratch.agent(
        "import os, subprocess, sys\n"
        "if os.environ['SPOOL_ITERATION'] == '1':\n"
        "    subprocess.run([sys.executable, '-m', 'spool', 'ralph', '--add-context', 'Mind the gap.',\n"
        "                    '--change', os.environ['SPOOL_CHANGE']], check=True, stdout=subprocess.DEVNULL)\n"
        "else:\n"
        f"    {COMPLETE}\n"
    )
    assert scratch.ralph("Go", "--max-iterations", "3").returncode == 0
    assert "Mind the gap." not in scratch.prompt(1)
    assert "Mind the gap." in scratch.prompt(2)


# Requirement: Iteration prompt includes structured preamble and labeled context


def test_preamble_is_included_in_iteration_prompt(scratch: Scratch) -> None:
    scratch.agent(COMPLETE)
    scratch.ralph("Go", "--min-iterations", "2")
    for iteration in (1, 2):
        prompt = scratch.prompt(iteration)
        assert prompt.startswith(f"# Spool loop: iteration {iteration}\n")
        assert "## How to work" in prompt
        assert "do not ask, decide for yourself" in prompt


def test_context_section_is_labeled_when_context_exists(scratch: Scratch) -> None:
    scratch.agent(COMPLETE)
    scratch.ralph("Go")
    scratch.spool("ralph", "--add-context", "Mind the gap.", "--change", CHANGE)
    scratch.ralph("Go")
    assert CONTEXT_HEADING not in scratch.prompt(1)
    assert f"{CONTEXT_HEADING}\n\nMind the gap." in scratch.prompt(2)


# Requirement: Robust completion promise detection


def test_completion_promise_detection_ignores_whitespace(scratch: Scratch) -> None:
    scratch.agent("print('<promise>\\nCOMPLETE\\n</promise>')")
    done = scratch.ralph("Go", "--completion-promise", "COMPLETE", "--max-iterations", "1")
    assert done.returncode == 0
    assert scratch.history()[0]["completion_found"] is True


# Requirement: Loop resilience on harness failure


def test_non_zero_harness_exit_does_not_stop_the_loop(scratch: Scratch) -> None:
    scratch.agent(f"import os, sys\nif os.environ['SPOOL_ITERATION'] == '1':\n    sys.exit(7)\n{COMPLETE}")
    assert scratch.ralph("Go").returncode == 0
    first, second = scratch.history()
    assert (first["exit_code"], first["outcome"], first["completion_found"]) == (7, "harness error", False)
    assert (second["exit_code"], second["outcome"], second["completion_found"]) == (0, "completed", True)


def test_fail_fast_stops_the_loop_on_harness_failure(scratch: Scratch) -> None:
    scratch.agent("import sys\nprint('oops', file=sys.stderr)\nsys.exit(7)")
    done = scratch.ralph("Go", "--fail-fast")
    assert done.returncode == 1
    assert [record["exit_code"] for record in scratch.history()] == [7]
    assert "oops" in done.stdout


# Requirement: Rich iteration history and reporting


def test_each_iteration_records_exit_code_and_git_change_summary(scratch: Scratch) -> None:
    scratch.agent(
        "import os, pathlib\n"
        "number = os.environ['SPOOL_ITERATION']\n"
        "for name in range(int(number)):\n"
        "    pathlib.Path(f'file-{number}-{name}.txt').write_text('one\\ntwo\\n')\n"
        "if number == '2':\n"
        f"    {COMPLETE}\n"
    )
    scratch.ralph("Go")
    first, second = scratch.history()
    assert (first["exit_code"], first["changed_files"], first["files"]) == (0, 1, ["file-1-0.txt"])
    assert (second["exit_code"], second["changed_files"], second["insertions"]) == (0, 2, 4)


def test_status_command_reports_recent_iteration_outcomes(scratch: Scratch) -> None:
    scratch.agent(f"import os, sys\nif os.environ['SPOOL_ITERATION'] == '1':\n    sys.exit(7)\n{COMPLETE}")
    scratch.ralph("Go")
    told = scratch.spool("ralph", "--status", "--change", CHANGE).stdout
    assert re.search(r"^Iteration 2 ", told, re.MULTILINE)
    assert re.search(r"^1  harness error +[\d.]+s +7 +no ", told, re.MULTILINE)
    assert re.search(r"^2  completed +[\d.]+s +0 +yes ", told, re.MULTILINE)
    as_json = json.loads(scratch.spool("ralph", "--status", "--json", "--change", CHANGE).stdout)
    assert as_json["state"]["iteration"] == 2
    assert [record["exit_code"] for record in as_json["recent"]] == [7, 0]
    assert all(record["duration_s"] > 0 for record in as_json["recent"])


# Requirement: Prompt file input


def test_prompt_loaded_from_file(scratch: Scratch) -> None:
    scratch.agent(COMPLETE)
    prompt = scratch.home / "a prompt.md"
    prompt.write_text("Do what the file says.\n")
    assert scratch.ralph("--prompt-file", str(prompt)).returncode == 0
    assert "Do what the file says." in scratch.prompt(1)


# Requirement: Streaming control


def test_no_stream_disables_live_output_streaming(scratch: Scratch) -> None:
    scratch.agent(f"print('A very chatty agent.')\n{COMPLETE}")
    streamed = scratch.ralph("Go")
    quiet = scratch.ralph("Go", "--no-stream")
    assert "A very chatty agent." in streamed.stdout
    assert "A very chatty agent." not in quiet.stdout
    assert quiet.returncode == 0
    assert [record["completion_found"] for record in scratch.history()] == [True, True]
    assert "A very chatty agent." in (scratch.state / "logs" / "0002.out").read_text()
