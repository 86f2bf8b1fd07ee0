"""A project in which the commands of the docs run: a plan, a change, tests that fail, and an agent called claude."""

from __future__ import annotations

import os
from pathlib import Path

from tests.support import PYTHON, Scratch, make_scratch

# It works like a quick, honest agent: does the work, ticks the boxes of the first open story, promises.
CLAUDE = r"""
import json, pathlib, re, sys

if "auth" in sys.argv or "--version" in sys.argv:
    sys.exit(print("2.1.197 (Claude Code)"))
prompt = sys.stdin.read()
plan = pathlib.Path("PLAN.md" if "PLAN.md" in prompt else ".spool/changes/add-auth/tasks.md")
stories = re.split(r"(?m)^(?=## )", plan.read_text())
place = next((number for number, story in enumerate(stories) if "[ ]" in story), None)
if place is not None:
    stories[place] = stories[place].replace("[ ]", "[x]")
    plan.write_text("".join(stories))
with open("shop.py", "a") as file:
    file.write("\n\ndef discounted(amount):\n    return amount * 0.9 if amount >= 100 else amount\n")
said = {"type": "text", "text": "Done.\n\n<promise>COMPLETE</promise>"}
print(json.dumps({"type": "assistant", "message": {"id": "1", "role": "assistant", "content": [said]}}))
print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": "Done.", "session_id": "s",
                  "total_cost_usd": 0.01, "num_turns": 1, "usage": {"input_tokens": 100, "output_tokens": 20}}))
"""
PLAN = "# A shop\n\n## 1. Discounts\n\n- [ ] Orders of 100 cost less\n\n## 2. Receipts\n\n- [ ] Print a receipt\n"
TESTS = """import unittest

import shop


class Shop(unittest.TestCase):
    def test_total(self):
        self.assertEqual(shop.total([1, 2]), 3)

    def test_discount(self):
        self.assertEqual(shop.discounted(100), 90)
"""


def make_stage(folder: Path) -> Scratch:
    """Return the project, with everything committed."""
    scratch = make_scratch(folder)
    scratch.git("rm", "-rq", ".spool")
    files = {
        "shop.py": "def total(prices):\n    return sum(prices)\n",
        "test_shop.py": TESTS,
        "Makefile": f"test:\n\t{PYTHON} -B -m unittest -v\n",
        "PLAN.md": PLAN,
        ".spool/changes/add-auth/proposal.md": "# Add login\n\nPeople sign in with a password.\n",
        ".spool/changes/add-auth/tasks.md": PLAN.partition("\n\n")[2],
    }
    for name, text in files.items():
        (scratch.root / name).parent.mkdir(parents=True, exist_ok=True)
        (scratch.root / name).write_text(text)
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", "a shop")
    scratch.agent(CLAUDE, "claude")
    scratch.agent("from spool.__main__ import main\nmain()\n", "spool")
    scratch.agent("from spool.__main__ import wt_loop\nwt_loop()\n", "wt-loop")
    config = scratch.home / ".config/spool/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('harness = "claude"\n')
    scratch.env |= {"SPOOL_CLAUDE_AS_ROOT": "pretend-sandbox", "TMPDIR": os.environ.get("TMPDIR", "/tmp")}
    return scratch
