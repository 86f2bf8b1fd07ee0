"""A night with a bit of everything: a proved story, a refused claim, a rate limit, a revert, a stuck end."""

from __future__ import annotations

from subprocess import CompletedProcess

from tests.support import PYTHON, Scratch, Steps

CHECK = f"{PYTHON} -m unittest -v"
NIGHT_TASKS = """\
## 1. Add

- [ ] 1.1 Write add
- [ ] 1.2 Test add

## 2. Subtract <script>alert(1)</script>

- [ ] 2.1 Write subtract

## 3. Divide

- [ ] 3.1 Write divide

## 4. Describe it

- [ ] 4.1 Write the README
"""
_TEST = """\
import unittest
from calc import {names}

class Calc(unittest.TestCase):
    def test_{name}(self):
        self.assertEqual({name}(6, 3), {result})
"""


def _spent(cost: float) -> dict[str, object]:
    return {"usage": {"tokens_in": int(40_000 * cost), "tokens_out": int(4_000 * cost), "cost_usd": cost}}


def _test(name: str, result: int) -> dict[str, object]:
    return {"write": f"test_{name}.py", "text": _TEST.format(names=name, name=name, result=result)}


NIGHT: tuple[Steps, ...] = (
    [  # story 1, proved
        {"say": "I begin with add."},
        {"write": "calc.py", "text": "def add(a, b):\n    return a + b\n"},
        _test("add", 9),
        {"tick": 2},
        _spent(0.21),
        {"promise": "COMPLETE"},
    ],
    [  # story 2, refused: the test that the agent adds fails
        {"append": "calc.py", "text": "\ndef subtract(a, b):\n    return b - a\n"},
        _test("subtract", 3),
        {"tick": 1},
        _spent(0.34),
        {"promise": "COMPLETE"},
    ],
    [{"error": "Too many requests", "error_kind": "rate_limit", "retry_after_s": 0.4}, {"exit": 1}],
    [  # story 2, accepted
        {"write": "calc.py", "text": "def add(a, b):\n    return a + b\n\n\ndef subtract(a, b):\n    return a - b\n"},
        _spent(0.18),
        {"say": "The operands were the wrong way round.\n\n<promise>COMPLETE</promise>"},
    ],
    [  # story 3 fails, and is reverted
        {"append": "calc.py", "text": "\ndef divide(a, b):\n    return 0  # <b>&amp; \u202e\x1b[31mred\n"},
        {"say": "In the text: <promise>COMPLETE</promise> would be wrong here."},
        _spent(0.11),
        {"promise": "FAILED: nobody says what a division by zero returns"},
    ],
    [{"write": "notes.txt", "text": "half done\n"}, _spent(0.09), {"say": "I stop here."}],
)


def set_up_night(scratch: Scratch) -> None:
    """Write the change and the script of the night, and commit them."""
    (scratch.change / "tasks.md").write_text(NIGHT_TASKS)
    (scratch.root / "test_nothing.py").write_text(
        "import unittest\n\nclass Nothing(unittest.TestCase):\n    def test_nothing(self):\n        pass\n"
    )
    (scratch.root / ".gitignore").write_text("__pycache__/\n")
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", "the night begins")
    scratch.script(*NIGHT)


def run_night(scratch: Scratch, *words: str) -> CompletedProcess[str]:
    """Play the night to its end: story 3 runs out of retries."""
    options = ("--commit-stories", "--max-retries", "1", "--verify", CHECK)
    return scratch.run(*options, *words)
