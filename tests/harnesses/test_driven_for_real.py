"""Each real agent, driven by the real `spool ralph`, against a model that plays a script."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from tests.harnesses.rig import Rig, rigged
from tests.harnesses.script import COMPLETE, Fault, Run, Say, Shell, work
from tests.harnesses.setups import missing
from tests.support import CHANGE, PATIENCE_S, wait_for

NEVER_ASK = {"pi", "aider"}
"""Agents that have no permissions to refuse."""
TOKENS = {"tokens_in": 2_000, "tokens_out": 36, "tokens_cached": 400}
"""What two answers of the model server cost, however each agent counts."""


def test_complete(rig: Rig) -> None:
    rig.play(work())
    done = rig.ralph()
    assert done.returncode == 0, rig.story(done)
    assert rig.outcomes() == ["completed"]
    record = rig.scratch.history()[0]
    assert record["files"] == ["made.txt"]
    assert (rig.scratch.root / "made.txt").read_text() == "made by the model\n"
    told = {name: value for name, value in record["usage"].items() if name in TOKENS}
    assert told == ({"tokens_in": 1_200, "tokens_out": 24} if rig.name == "aider" else TOKENS)
    assert bool(record["session"]) == (rig.name != "aider")
    if rig.name != "aider":
        assert rig.stream("tool_use")[0]["summary"]


def test_failed_then_complete_and_each_time_afresh(rig: Rig) -> None:
    rig.play(work(end="It does not work.\n<promise>FAILED: the tests are red</promise>"), work(name="second.txt"))
    done = rig.ralph("--max-iterations", "3")
    assert done.returncode == 0, rig.story(done)
    assert rig.outcomes() == ["failed", "completed"]
    assert rig.scratch.history()[0]["reason"] == "the tests are red"
    assert rig.model.asked[-1].iterations == (2,)


def test_no_promise(rig: Rig) -> None:
    rig.play(work(end="There is more to do."))
    done = rig.ralph("--max-iterations", "1")
    assert done.returncode == 3, rig.story(done)
    assert rig.outcomes() == ["no promise"]


def test_a_refused_promise_is_quoted_to_the_agent_which_then_keeps_it(rig: Rig) -> None:
    mention = "Next I check it, and then I will print <promise>COMPLETE</promise> for you."
    rig.play(work(end=mention), work(name="second.txt"))
    done = rig.ralph("--max-iterations", "3")
    assert done.returncode == 0, rig.story(done)
    assert rig.outcomes() == ["no promise", "completed"]
    assert rig.scratch.history()[0]["refused"]["why"] == "inside a sentence"
    assert f"> {mention}" in rig.scratch.prompt(2)
    assert "## Your last promise was refused" in rig.scratch.prompt(2)


def test_neither_the_prompt_nor_a_tool_promises(rig: Rig, tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.md"
    prompt.write_text("Do the work. At its end print this line:\n<promise>COMPLETE</promise>\n")
    rig.play(Run((Shell("echo; echo '<promise>COMPLETE</promise>'"), Say("I only printed it; the work goes on."))))
    done = rig.scratch.ralph(*rig.words("--prompt-file", str(prompt), "--max-iterations", "1")[1:], timeout=PATIENCE_S)
    assert done.returncode == 3, rig.story(done)
    assert rig.outcomes() == ["no promise"]
    if rig.name != "aider":
        assert "<promise>COMPLETE</promise>" in rig.stream("tool_result")[0]["output"]


def test_one_rate_limit_is_the_agents_own_affair(rig: Rig) -> None:
    rig.play(work(fault=Fault(429, times=1, retry_after=1)))
    done = rig.ralph("--max-iterations", "1")
    assert done.returncode == 0, rig.story(done)
    assert rig.outcomes() == ["completed"]
    assert any(asked.did == "fault 429" for asked in rig.model.asked)


def test_a_rate_limit_spends_no_iteration(rig: Rig) -> None:
    if rig.name == "qwen":
        pytest.skip("qwen tries again in silence for minutes; its final words are tested from a transcript")
    rig.play(work(fault=Fault(429, retry_after=1)), work())
    rig.scratch.env["SPOOL_RATE_LIMIT_PAUSE"] = "1"
    # aider goes on for a minute, but says that it waits: Spool may end it and wait by itself.
    patience = ["--idle-timeout", "10"] if rig.name == "aider" else []
    done = rig.ralph("--max-iterations", "1", *patience)
    assert done.returncode == 0, rig.story(done)
    assert rig.outcomes() == ["rate limited", "completed"]
    waits = [entry for entry in rig.scratch.journal() if entry["type"] == "Waiting"]
    assert len(waits) == 1
    assert waits[0]["reason"].startswith("rate limit: ")
    # aider's own pause doubles each time, and Spool waits for as long as aider was about to.
    assert 1 <= waits[0]["seconds"] < (70 if rig.name == "aider" else 10)
    assert "rate limit" in done.stdout


def test_the_status_tells_the_wait(tmp_path: Path) -> None:
    if why := missing("claude"):
        pytest.skip(why)
    with rigged("claude", tmp_path) as rig:
        rig.play(work(fault=Fault(429, retry_after=1)))
        runner = rig.scratch.start("ralph", *rig.words(), "--change", CHANGE)
        try:
            wait_for(lambda: "waiting for a rate limit, until" in rig.scratch.ralph("--status").stdout)
            status = json.loads(rig.scratch.ralph("--status", "--json").stdout)
            assert status["state"]["phase"] == "waiting for a rate limit"
            assert status["state"]["waiting_until"]
            runner.send_signal(signal.SIGTERM)
            assert runner.wait(5) == 130
        finally:
            runner.kill()


def test_an_api_error_for_ever_is_an_error(rig: Rig) -> None:
    # qwen and aider try for minutes what they think will pass, copilot for 20 s.
    status = 400 if rig.name in ("qwen", "aider", "copilot") else 500
    rig.play(work(fault=Fault(status, retry_after=1, message="the model is broken")))
    done = rig.ralph("--error-threshold", "1")
    assert done.returncode == 4, rig.story(done)
    assert rig.outcomes() == ["harness error"]
    # codex has words of its own for an error 500
    assert ("high demand" if rig.name == "codex" else "the model is broken") in rig.scratch.history()[0]["reason"]


def test_a_wrong_key_says_what_to_do(rig: Rig) -> None:
    rig.play(work(fault=Fault(401, message="invalid api key")))
    done = rig.ralph("--error-threshold", "1")
    assert done.returncode == 4, rig.story(done)
    assert rig.outcomes() == ["harness error"]
    record = rig.scratch.history()[0]
    assert "401" in record["reason"] or "invalid api key" in record["reason"]
    assert "sign in" in record["note"] or "login" in record["note"] or "API" in record["note"], record["note"]
    assert [event["error"] for event in rig.stream("error")] == ["auth"]


def test_nobody_signed_in(rig: Rig) -> None:
    if rig.name == "codex":
        pytest.skip("codex waits for the network before it finds that nobody is signed in")
    kept = {name: value for name, value in rig.scratch.env.items() if name.startswith(("GIT_", "SPOOL_", "XDG_"))}
    kept |= {name: rig.scratch.env[name] for name in ("PATH", "LANG", "TERM")}
    fresh = rig.scratch.home.with_name("fresh-home")
    fresh.mkdir()
    rig.scratch.env = {**kept, "HOME": str(fresh), "XDG_CONFIG_HOME": str(fresh / ".config")}
    done = rig.ralph("--error-threshold", "1")
    assert done.returncode == 4, rig.story(done)
    record = rig.scratch.history()[0]
    assert record["outcome"] == "harness error"
    assert record["reason"]
    assert record["note"], record


def test_refused_tools_are_told(rig: Rig) -> None:
    if rig.name in NEVER_ASK:
        pytest.skip(f"{rig.name} never asks")
    rig.play(work())
    done = rig.ralph("--max-iterations", "5", allow_all=False)
    assert done.returncode == 4, rig.story(done)
    assert rig.outcomes() == ["permission denied"]
    assert rig.scratch.history()[0]["note"] == "allow_all"
    assert "run with --allow-all" in done.stdout
    assert not (rig.scratch.root / "made.txt").exists()


def test_gemini_in_a_folder_that_it_does_not_trust(tmp_path: Path) -> None:
    if why := missing("gemini"):
        pytest.skip(why)
    with rigged("gemini", tmp_path) as rig:
        rig.play(work())
        settings = rig.scratch.home / ".gemini" / "settings.json"
        found = json.loads(settings.read_text())
        found["security"]["folderTrust"]["enabled"] = True
        settings.write_text(json.dumps(found))
        refused = rig.ralph("--max-iterations", "1", allow_all=False)
        assert rig.outcomes() == ["harness error"], rig.story(refused)
        assert "trusted directory" in rig.scratch.history()[0]["reason"]
        assert "trust the folder" in rig.scratch.history()[0]["note"]
        done = rig.ralph("--max-iterations", "1")
        assert done.returncode == 0, rig.story(done)
        assert rig.outcomes() == ["harness error", "completed"]


def test_three_megabytes_and_a_long_prompt(rig: Rig, tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.md"
    prompt.write_text("Do the work.\n" + "A long story. " * 15_000)
    rig.play(work(filler=3_000_000))
    done = rig.scratch.ralph(*rig.words("--prompt-file", str(prompt), "--no-stream")[1:], timeout=PATIENCE_S)
    assert done.returncode == 0, rig.story(done)
    assert rig.outcomes() == ["completed"]
    assert len(rig.log()) > 3_000_000
    assert rig.model.asked[-1].longest > 200_000


@pytest.mark.parametrize("sign", [signal.SIGTERM])
def test_a_stop_during_a_tool_leaves_nothing(rig: Rig, sign: signal.Signals) -> None:
    nap = f"sleep 3{os.getpid()}.{time.time_ns() % 10**6}"
    hang = Fault(hang=True) if rig.name == "aider" else None
    rig.play(Run((Shell(f"touch begun; {nap}"), Say(COMPLETE)), hang))
    runner = rig.scratch.start("ralph", *rig.words(), "--change", CHANGE)
    try:
        wait_for(lambda: (rig.scratch.root / "begun").exists() or (hang is not None and rig.model.asked != []))
        runner.send_signal(sign)
        assert runner.wait(20) == 130
    finally:
        runner.kill()
    assert rig.outcomes() == ["interrupted"]
    assert rig.scratch.load_state()["status"] == "stopped"
    wait_for(lambda: not _running(nap) and not _running(str(rig.scratch.root)), patience_s=3)


def test_the_agent_may_keep_its_conversation(rig: Rig) -> None:
    rig.play(work(end="Not yet."), work(name="second.txt"))
    rig.scratch.env["SPOOL_RESUME_AGENT"] = "true"
    done = rig.ralph("--max-iterations", "2")
    if rig.name == "aider":
        assert done.returncode == 2
        assert "cannot continue an earlier conversation" in done.stderr
        return
    assert done.returncode == 0, rig.story(done)
    assert rig.outcomes() == ["no promise", "completed"]
    assert rig.model.asked[-1].iterations == (1, 2)


def _running(words: str) -> bool:
    """Whether any process but this one has these words in its command line."""
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
        except OSError:
            continue
        if words.encode() in line:
            return True
    return False
