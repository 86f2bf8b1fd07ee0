"""Somebody at a terminal, the shop they work on, and the agent that they hired."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from tests.docs.stage import TESTS
from tests.support import PYTHON, Scratch, make_scratch
from tests.support.terminal import Terminal

PLAN = """# A better shop

## 1. Discounts
- [ ] Orders of 100 or more cost 10% less

## 2. Receipts
- [ ] Print a receipt
"""
# What it does next stands in a file of the home directory, one word a line; without it, it works honestly.
AGENT = r"""
import json, os, pathlib, re, sys, time

if "auth" in sys.argv or "--version" in sys.argv:
    sys.exit(print("2.1.197 (Claude Code)"))
prompt = sys.stdin.read()
mood = pathlib.Path.home() / "mood"
moods = mood.read_text().split() if mood.exists() else []
if moods:
    mood.write_text(" ".join(moods[1:]))
doing = moods[0] if moods else "works"

def say(text):
    message = {"id": "1", "role": "assistant", "content": [{"type": "text", "text": text}]}
    print(json.dumps({"type": "assistant", "message": message}), flush=True)

def end(text):
    say(text)
    print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": text, "session_id": "s",
                      "total_cost_usd": 0.01, "num_turns": 1, "usage": {"input_tokens": 100, "output_tokens": 20}}))
    sys.exit()

def work():
    names = re.findall(r"[\w./-]*tasks\.md|PLAN\.md", prompt)
    plans = [path for name in names if (path := pathlib.Path(name)).is_file()]
    for plan in plans[:1]:
        stories = re.split(r"(?m)^(?=## )", plan.read_text())
        place = next((number for number, story in enumerate(stories) if "[ ]" in story), None)
        if place is not None:
            stories[place] = stories[place].replace("[ ]", "[x]")
            plan.write_text("".join(stories))
    shop = pathlib.Path("shop.py").read_text()
    if "discounted" not in shop:
        shop += "\n\ndef discounted(amount):\n    return amount * 0.9 if amount >= 100 else amount\n"
    else:
        pathlib.Path("receipt.py").write_text("def receipt(total):\n    return f'Total: {total}'\n")
        pathlib.Path("test_receipt.py").write_text(
            "import unittest\n\nfrom receipt import receipt\n\n\nclass Receipt(unittest.TestCase):\n"
            "    def test_receipt(self):\n        self.assertEqual(receipt(3), 'Total: 3')\n")
    pathlib.Path("shop.py").write_text(shop)

match doing:
    case "works":
        work()
        end("Done.\n\n<promise>COMPLETE</promise>")
    case "sleeps":
        say("Thinking.")
        time.sleep(3600)
    case "lies":
        end("All done, all tests pass.\n\n<promise>COMPLETE</promise>")
    case "deletes":
        pathlib.Path("notes.txt").unlink(missing_ok=True)
        end("I tidied up.\n\n<promise>COMPLETE</promise>")
    case "guts":
        pathlib.Path("test_shop.py").write_text("import unittest\n")
        work()
        end("All green.\n\n<promise>COMPLETE</promise>")
    case "fails":
        pathlib.Path("shop.py").write_text("broken(\n")
        end("<promise>FAILED: nobody says how to round</promise>")
    case "crashes":
        pathlib.Path("shop.py").write_text("half a")
        os.kill(os.getpid(), 9)
    case other:
        raise SystemExit(f"no such mood: {other}")
"""


def make_shop(base: Path, commands: Path) -> Scratch:
    """Return a committed project with tests, in which `spool` and `claude` are programs on PATH."""
    made = make_scratch(base)
    made.env["PATH"] = f"{commands}:{made.env['PATH']}"
    made.env["SPOOL_CLAUDE_AS_ROOT"] = "pretend-sandbox"
    made.git("rm", "-rq", ".spool")
    files = {
        "shop.py": "def total(prices):\n    return sum(prices)\n",
        "test_shop.py": TESTS,
        "Makefile": f"test:\n\t{PYTHON} -B -m unittest -v\n",
        "PLAN.md": PLAN,
    }
    for name, text in files.items():
        (made.root / name).write_text(text)
    made.git("add", "--all")
    made.git("commit", "--quiet", "--message", "a shop")
    made.agent(AGENT, "claude")
    made.env["SPOOL_HARNESS"] = "claude"
    return made


@dataclass
class Person:
    """Types commands and reads what the terminal shows."""

    shop: Scratch
    terminal: Terminal
    _typed: int = 0

    def types(self, line: str, **answers: str) -> tuple[int, str]:
        """Type a command line, wait for its end, and return its exit code and all that the terminal shows of it."""
        self._typed += 1
        self.starts(f'{line}; echo "[{self._typed}:$?]"')
        ended = re.compile(rf"\[{self._typed}:(\d+)\]")
        for question, key in answers.items():
            self.sees(question.replace("_", " "))
            self.presses(key)
        self.terminal.until(lambda: ended.search(self.terminal.text("-J", "-S", "-")), f"the end of {line}")
        text = self.terminal.text("-J", "-S", "-")
        found = ended.search(text)
        assert found is not None
        return int(found[1]), text

    def does(self, line: str, *seen: str, **answers: str) -> str:
        """Type a command that succeeds, answer its questions, and see these words."""
        code, text = self.types(line, **answers)
        assert code == 0, text
        for word in seen:
            assert word in text, f"{word!r} is missing in:\n{text}"
        return text

    def starts(self, line: str) -> None:
        """Type a command line at the shell's prompt and do not wait."""
        shown = "#{alternate_on} #{pane_current_command}"
        at_prompt = ("display-message", "-p", "-t", "spool", shown)
        self.terminal.until(lambda: self.terminal.tmux(*at_prompt).split() == ["0", "sh"], "the shell's prompt")
        self.terminal.tmux("send-keys", "-R", "-t", "spool")
        self.terminal.tmux("clear-history", "-t", "spool")
        self.terminal.tmux("send-keys", "-t", "spool", "-l", line)
        self.terminal.keys("Enter")

    def sees(self, *words: str) -> None:
        """Wait until the terminal shows all of these."""
        self.terminal.until_shown(*words)

    def presses(self, *keys: str) -> None:
        """Press keys."""
        self.terminal.keys(*keys)

    def hires(self, *moods: str) -> None:
        """Say what the agent does next."""
        (self.shop.home / "mood").write_text(shlex.join(moods))
