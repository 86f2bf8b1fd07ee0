"""Records what the real agents print, for the tests of the decoders: `make transcripts`.

Paths of this machine, ports and ids are replaced, so that two recordings differ only where an agent does.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from pathlib import Path

from tests.harnesses.rig import Rig, rigged
from tests.harnesses.script import Fault, Run, Say, Shell, work
from tests.harnesses.setups import AGENTS_DIR, SETUPS, missing
from tests.support import CHANGE

FOLDER = Path(__file__).parent / "transcripts"
STREAMS = ("out", "err", "side")
NEVER_ASK = {"pi", "aider"}
SCENES = {
    "complete": work(),
    "failed": work(end="It does not work.\n<promise>FAILED: the tests are red</promise>"),
    "no-promise": work(end="There is more to do."),
    "tool-promise": Run((Shell("echo '<promise>COMPLETE</promise>'"), Say("I only printed it; the work goes on."))),
    "refused": work(),
    "rate-limit": work(fault=Fault(429, retry_after=1)),
    "error": work(fault=Fault(400, message="the model is broken")),
    "wrong-key": work(fault=Fault(401, message="invalid api key")),
}
_ID = re.compile(rb"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b|(?<=[_-])[0-9a-f]{20}\b|(?<=_)[0-9A-Za-z]{24,28}\b")
_TIME = re.compile(rb"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z|\b20\d\d-\d\d-\d\d \d\d:\d\d:\d\d")
_EPOCH = re.compile(rb"\b1[789]\d{11}\b")
_PORT = re.compile(rb"127\.0\.0\.1:\d+")
# A path may be cut between two events, and then only its beginning is there.
_TEMPORARY = re.compile(rb"/tmp/(?:tmp|gemini-client-error)[\w.:-]*")
_LONG = 40_000


def main() -> None:
    """Record all agents, or those named."""
    for name in sys.argv[1:] or SETUPS:
        if why := missing(name):
            print(f"skipped: {why}")
            continue
        for scene, run in SCENES.items():
            if (scene == "refused" and name in NEVER_ASK) or (scene == "rate-limit" and name == "qwen"):
                continue  # qwen tries for minutes, without a word
            with tempfile.TemporaryDirectory() as base, rigged(name, Path(base)) as rig:
                record(rig, scene, run)


def record(rig: Rig, scene: str, run: Run) -> None:
    """Run one scene and keep what the agent printed."""
    rig.play(run)
    limited = scene == "rate-limit"
    # aider would go on for a minute.
    patience = ["--idle-timeout", "10"] if limited and rig.name == "aider" else []
    words = ["--max-iterations", "1", "--error-threshold", "1", *patience]
    runner = rig.scratch.start("ralph", *rig.words(*words, allow_all=scene != "refused"), "--change", CHANGE)
    history = rig.scratch.state / "history.jsonl"
    while runner.poll() is None:
        time.sleep(0.2)
        if limited and history.exists() and history.stat().st_size:
            runner.terminate()  # it would wait for the limit now
    folder = FOLDER / rig.name
    folder.mkdir(parents=True, exist_ok=True)
    for stream in STREAMS:
        log = rig.scratch.state / "logs" / f"0001.{stream}"
        kept = folder / f"{scene}.{stream}"
        kept.unlink(missing_ok=True)
        if log.exists() and (data := scrubbed(log.read_bytes(), rig)):
            kept.write_bytes(data)
    print(f"{rig.name} {scene}: {rig.outcomes()}")


def scrubbed(data: bytes, rig: Rig) -> bytes:
    """Return data without what belongs to this machine and this moment."""
    for path, name in (
        (rig.scratch.root, b"/home/user/project"),
        (rig.scratch.home, b"/home/user"),
        (rig.scratch.root.parent, b"/home/user"),
        (AGENTS_DIR, b"/opt/agents"),
    ):
        data = data.replace(str(path).encode(), name)
    data = _TEMPORARY.sub(b"/tmp/x", data)
    data = _PORT.sub(b"127.0.0.1:8000", data)
    seen: dict[bytes, bytes] = {}
    data = _ID.sub(lambda found: seen.setdefault(found[0], b"%08d" % (len(seen) + 1)), data)
    data = _EPOCH.sub(b"1790000000000", _TIME.sub(b"2026-01-01T00:00:00Z", data))
    return b"".join(line for line in data.splitlines(keepends=True) if len(line) < _LONG)


if __name__ == "__main__":
    main()
