"""`spool report`: what a person reads in the morning."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

from spool.views import words
from tests.support import CHANGE, PATIENCE_S, Scratch
from tests.support.html_page import Page
from tests.support.schemas import schema


def test_the_page_says_what_happened_on_a_failed_night(night: Scratch) -> None:
    done = night.spool("report")
    assert done.returncode == 0, done.stderr
    page = done.stdout
    assert "! failed: story 3: no promise\n  the limit of 1 retry is reached, the last attempt was number 2\n" in page
    assert "2 proved · 1 failed · 1 not started" in page
    rows = [line for line in page.splitlines() if line.startswith(("✓", " " * 12))]
    head, row = rows[0], rows[1]
    for name, figure in {"tries": "1", "tokens": "9.2k", "cost": "$0.21"}.items():  # each ends under its heading
        assert row[: head.index(name) + len(name)].endswith(f" {figure}")
    assert re.search(r"✓ 1 Add +proved +1 ", row)
    assert "test_add.Calc.test_add fails without the change" in page
    assert "iteration 2: refused, test_subtract.Calc.test_subtract fails" in page
    assert "iteration 5: failed, nobody says what a division by zero returns" in page
    assert "reverted; get it back with: spool checkpoint restore 002-01_add-ralph-loop." in page
    assert "its last attempt is in the working tree" in page
    assert re.search(r"Iterations +6 \(2 completed, ", page)
    assert re.search(r"Cost +\$0\.93", page)
    assert re.search(r"Per proved story +\$0\.46", page)
    assert re.search(r"Boxes +3 of 5 ticked, 0 at the start", page)
    assert re.search(r"Waits +1, ", page)
    assert "Review with:" in page
    assert "Land with:" not in page
    assert f"spool run {CHANGE} --harness scripted" in page.partition("Continue with:")[2]


def test_the_time_of_all_runs_is_the_sum_of_those_that_ps_lists(scratch: Scratch) -> None:
    scratch.script([{"write": "a.txt", "text": "x"}], [{"write": "b.txt", "text": "x"}], [{"say": "thinking"}])
    for _ in range(2):
        scratch.ralph("Work", "--max-iterations", "1", "--harness", "scripted")
    listed = json.loads(scratch.spool("ps", "--all", "--json").stdout)
    (loop,) = json.loads(scratch.spool("report", "--json").stdout)["loops"]
    elapsed_s = loop["account"]["elapsed_s"]
    assert len(listed) == 2
    assert sum(run["age_s"] for run in listed) == pytest.approx(elapsed_s, abs=0.002)
    assert max(run["elapsed_s"] for run in listed) == pytest.approx(elapsed_s, abs=0.002)
    for run in listed:
        (of_run,) = json.loads(scratch.spool("report", run["id"], "--json").stdout)["loops"]
        assert of_run["account"]["elapsed_s"] == run["age_s"]
    last = max(listed, key=lambda run: run["started_at"])["age_s"]
    status = scratch.ralph("--status").stdout
    assert f"Elapsed   {words.duration(elapsed_s)} ({words.duration(last)} in this run)" in status


def test_the_commands_of_the_page_work(night: Scratch) -> None:
    page = night.spool("report", CHANGE).stdout
    restore = re.search(r"spool checkpoint restore (\S+)", page)
    assert restore is not None
    assert "calc.py" in night.spool("checkpoint", "show", restore[1]).stdout
    review = re.search(r"Review with:\n  git -C \S+ (log .*)", page)
    assert review is not None
    assert "def add" in night.git(*review[1].replace("'", "").split())


def test_json_fits_its_schema_and_has_every_figure(night: Scratch) -> None:
    report = json.loads(night.spool("report", "--json").stdout)
    jsonschema.validate(report, schema("report"))
    account = report["loops"][0]["account"]
    assert [story["standing"] for story in account["stories"]] == ["proved", "proved", "failed", "not started"]
    assert account["receipt"] == json.loads((night.run_state / "state.json").read_text())["receipt"]
    assert len(account["commits"]) == 2
    assert {one["activity"] for one in account["stretches"]} == {"agent", "gates", "wait"}


def test_markdown_keeps_foreign_text_from_becoming_markup(night: Scratch) -> None:
    text = night.spool("report", "--markdown").stdout
    assert text.startswith(f"## {CHANGE.replace('_', chr(92) + '_')} in project on main\n")
    assert r"2 Subtract \<script\>alert(1)\</script\>" in text
    assert "<script>" not in text


def test_html_is_one_file_that_loads_and_runs_nothing(night: Scratch, tmp_path: Path) -> None:
    file = tmp_path / "night.html"
    done = night.spool("report", CHANGE, "--html", str(file))
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    written = file.read_text()
    page = Page()
    page.feed(written)
    assert page.open == []
    names = {tag for tag, _ in page.tags}
    assert names.isdisjoint({"script", "link", "img", "iframe", "object", "form", "base", "b"})
    assert {"svg", "details", "table", "style"} <= names
    given = {name for _, attributes in page.tags for name in attributes}
    assert not {name for name in given if name.startswith("on") or name in ("href", "src", "style")}
    assert "url(" not in written
    assert "@import" not in written
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", written)
    assert "2 Subtract <script>alert(1)</script>" in page.text
    assert "+def add(a, b):" in page.text  # the diff of a story
    assert "prefers-color-scheme:dark" in written
    assert "@media print" in written


def test_one_run_by_its_id(night: Scratch) -> None:
    run_id = json.loads((night.run_state / "state.json").read_text())["run_id"]
    assert "2 proved" in night.spool("report", run_id.rpartition("-")[2]).stdout


def test_nothing_since_then(night: Scratch) -> None:
    done = night.spool("report", "--since", "0s")
    assert "No loop of this repository was active since" in done.stdout
    later = night.spool("report", CHANGE, "--since", "0s").stdout
    assert "it has not run in this time" in later


def test_a_moment_that_is_none_is_a_usage_error(night: Scratch) -> None:
    done = night.spool("report", "--since", "whenever")
    assert done.returncode == 2
    assert "'whenever' is not a moment like yesterday, 12h or 2026-03-02" in done.stderr


def test_formats_exclude_each_other(night: Scratch) -> None:
    assert night.spool("report", "--json", "--markdown").returncode == 2


def test_a_loop_without_stories_is_reported_as_a_whole(scratch: Scratch, tmp_path: Path) -> None:
    scratch.script([{"write": "a.txt", "text": "<i>\n"}, {"promise": "COMPLETE"}])
    assert scratch.ralph("Go", "--harness", "scripted").returncode == 0
    page = scratch.spool("report").stdout
    assert re.search(r" +verdict +iterations +agent\n~ The whole change +agent's word +1 ", page)
    assert "Land with:" in page
    file = tmp_path / "whole.html"
    scratch.spool("report", "--html", str(file))
    assert "+&lt;i&gt;" in file.read_text()


def test_a_running_loop_is_reported_as_running(scratch: Scratch, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    wait = f"import os, time\nwhile not os.path.exists({str(gate)!r}):\n    time.sleep(0.05)\n"
    waiting = tmp_path / "wait.py"
    waiting.write_text(wait)
    scratch.script([{"say": "hm"}, {"run": ["python3", str(waiting)]}, {"promise": "COMPLETE"}])
    runner = scratch.start("ralph", "Go", "--change", CHANGE, "--harness", "scripted")
    try:
        while True:
            page = scratch.spool("report", CHANGE)
            if "(1 running)" in page.stdout:
                break
            assert runner.poll() is None, page.stderr
        assert "until now, still running" in page.stdout
        assert re.search(r"► The whole change +running", page.stdout)
    finally:
        gate.touch()
        runner.wait(PATIENCE_S)


@pytest.mark.parametrize("field", ["tree", "commit"])
def test_a_forged_journal_gives_git_no_options(scratch: Scratch, tmp_path: Path, field: str) -> None:
    scratch.script([{"write": "a.txt", "text": "a\n"}, {"tick": 9}, {"promise": "COMPLETE"}])
    scratch.run("--commit-stories")
    written = tmp_path / "written"
    journal = scratch.run_state / "journal.jsonl"
    forged = re.sub(rf'("{field}":")[0-9a-f]+', rf"\g<1>--output={written}", journal.read_text())
    if field == "tree":
        forged = re.sub(r'"commits?":("[0-9a-f]+"|\[[^]]*\])', '"commit":null', forged)
    journal.write_text(forged)
    assert scratch.spool("report", "--html", str(tmp_path / "night.html")).returncode == 0
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("written")]
