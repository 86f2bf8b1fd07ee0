"""A change of several stories, and how its runs are read."""

import signal

from tests.support import CHANGE, Scratch, wait_for

TASKS = "## 1. Form\n\n- [ ] 1.1 Write\n- [ ] 1.2 Test\n\n## 2. Login\n\n- [ ] 2.1 Check\n"
COMPLETE = {"promise": "COMPLETE"}
TICK = {"tick": 1}


def types(events: list[dict[str, object]]) -> list[object]:
    return [event["type"] for event in events]


def stopped_in_story_one(stories: Scratch) -> None:
    stories.script([{"write": "half.txt", "text": "half"}, {"say": "Working"}, {"sleep": 600}])
    process = stories.start("run", CHANGE, "--harness", "scripted")
    log = stories.run_state / "logs" / "0001.out"
    wait_for(lambda: log.exists() and b"Working" in log.read_bytes())
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=120) == 130
    assert (stories.root / "half.txt").exists()
