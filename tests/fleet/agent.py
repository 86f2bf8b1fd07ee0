"""An agent for the tests of the fleet: does the first open story, and notes when it started and ended.

`python agent.py NOTES`: waits while NOTES/hold-CHANGE exists.
"""

import json
import os
import re
import sys
import time
from pathlib import Path

NOTES = Path(sys.argv[1])


def note(what: str) -> None:
    about = {"what": what, "change": CHANGE, "iteration": int(os.environ["SPOOL_ITERATION"]), "t": time.time()}
    about["secrets"] = sorted(name for name in os.environ if name.startswith(("TEMPORAL", "GITHUB_", "SSH_AUTH")))
    with (NOTES / "agents.jsonl").open("a") as file:
        file.write(json.dumps(about) + "\n")


CHANGE = os.environ["SPOOL_CHANGE"]
note("start")
sys.stdin.read()
hold = NOTES / f"hold-{CHANGE}"
while hold.exists():
    time.sleep(0.02)
tasks = Path(os.environ["SPOOL_TASK_FILE"])
text = tasks.read_text()
story = next(part for part in re.split(r"(?m)^(?=## )", text) if "[ ]" in part)
number = re.match(r"## (\d+)", story)
assert number is not None
folder = Path("out") / CHANGE
folder.mkdir(parents=True, exist_ok=True)
(folder / f"story{number[1]}.txt").write_text("done\n")
tasks.write_text(text.replace(story, story.replace("[ ]", "[x]")))
note("end")
print("<promise>COMPLETE</promise>")
