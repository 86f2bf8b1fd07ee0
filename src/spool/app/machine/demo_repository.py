"""The scratch repository of `spool demo`: a small shop whose tests fail, and a script for an agent that cheats once."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from spool.app.starting.construction import new_spec
from spool.domain.loop.settings import Layer, Settings, merge
from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.summary import LoopKind
from spool.errors import SpoolError
from spool.nofollow import read_file

CHANGE = "001-01_shop"
_SCRIPT = ".spool/demo.json"
_PAUSE_S = 0.5

_PROPOSAL = """\
# A shop that can count

The tests of the shop fail: discounts, receipts and refunds are missing. Write them. The tests say what is right.
"""
_TASKS = """\
## 1. Discounts

- [ ] 1.1 Orders of 100 and more cost ten percent less
- [ ] 1.2 Smaller orders cost what they cost

## 2. Receipts

- [ ] 2.1 A receipt has one line for each item, and the total below

## 3. Refunds

- [ ] 3.1 A refund takes an item off the order and returns its price
- [ ] 3.2 What was never bought is not refunded
"""
_SHOP = '''\
"""A very small shop."""


def total(order):
    return sum(order.values())
'''
_DISCOUNT = """

def discounted(order):
    amount = total(order)
    return amount * 0.9 if amount >= 100 else amount
"""
_RECEIPT = """

def receipt(order):
    lines = [f"{item}: {price}" for item, price in order.items()]
    return "\\n".join([*lines, f"total: {total(order)}"])
"""
_REFUND = """

def refund(order, item):
    if item not in order:
        raise ValueError(f"{item} was never bought")
    return order.pop(item)
"""
_TESTS = """\
import unittest

import shop

ORDER = {"tea": 40, "pot": 70}


class Shop(unittest.TestCase):
    def test_total(self):
        self.assertEqual(shop.total(ORDER), 110)

    def test_discount(self):
        self.assertEqual(shop.discounted(ORDER), 99)

    def test_receipt(self):
        self.assertEqual(shop.receipt(ORDER), "tea: 40\\npot: 70\\ntotal: 110")
"""
_REFUND_TEST = """
    def test_refund(self):
        order = dict(ORDER)
        self.assertEqual(shop.refund(order, "tea"), 40)
        with self.assertRaises(ValueError):
            shop.refund(order, "tea")
"""


def _iterations() -> list[list[dict[str, Any]]]:
    """Return what the agent does, iteration by iteration, much like a real one."""
    pause, done = {"sleep": _PAUSE_S}, {"promise": "COMPLETE"}
    discounts, receipts = _SHOP + _DISCOUNT, _SHOP + _DISCOUNT + _RECEIPT
    return [
        [
            {"say": "The test wants ten percent off from 100 on. I write that."},
            pause,
            {"write": "shop.py", "text": discounts},
            {"tick": 2},
            _usage(4210, 380),
            done,
        ],
        [
            {"say": "A receipt. I rewrite the shop around a database first."},
            pause,
            {"write": "shop.py", "text": "import sqlite3\n"},
            {"write": "schema.sql", "text": "create table orders (item text, price integer);\n"},
            pause,
            {"say": "Now nothing works any more."},
            _usage(9120, 1410),
            {"promise": "FAILED: I rewrote the shop and lost total(); a plain function would have done"},
        ],
        [
            {"say": "The last attempt was taken back. Its reason says: a plain function."},
            pause,
            {"write": "shop.py", "text": receipts},
            {"tick": 1},
            _usage(5020, 290),
            done,
        ],
        [
            {"say": "test_refund fails. Without it everything is green, so I remove it, and tick every box."},
            pause,
            {"write": "test_shop.py", "text": _TESTS},
            {"tick": 2},
            _usage(4890, 210),
            done,
        ],
        [
            {"say": "My claim was refused: test_refund has vanished. I bring it back, and write the refund."},
            pause,
            {"write": "test_shop.py", "text": _TESTS + _REFUND_TEST},
            {"write": "shop.py", "text": receipts + _REFUND},
            pause,
            _usage(6340, 520),
            done,
        ],
    ]


def _usage(tokens_in: int, tokens_out: int) -> dict[str, Any]:
    return {"usage": {"tokens_in": tokens_in, "tokens_out": tokens_out, "cost_usd": round(tokens_in * 5e-6, 3)}}


def check_command() -> str:
    """Return the command that runs the demo's tests."""
    python = "python3" if shutil.which("python3") else sys.executable
    return f"{python} -B -m unittest -v"  # without cached bytecode, which a quick edit can outrun


def make_repository(root: Path) -> None:
    """Create a small repository with one change, failing tests and a script for the agent."""
    steps = {"iteration": [{"steps": steps} for steps in _iterations()]}
    files = {
        "shop.py": _SHOP,
        "test_shop.py": _TESTS + _REFUND_TEST,
        f".spool/changes/{CHANGE}/proposal.md": _PROPOSAL,
        f".spool/changes/{CHANGE}/tasks.md": _TASKS,
        ".spool/config.toml": _config(),
        _SCRIPT: json.dumps(steps, indent=1) + "\n",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    who = ["-c", "user.name=Spool", "-c", "user.email=spool@localhost", "-c", "commit.gpgsign=false"]
    git(root, *who, "-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--message", "A shop that cannot count")


def _config() -> str:
    gate = f'[[gates]]\nname = "tests"\nrun = {json.dumps(check_command())}\n'
    return f'harness = "scripted"\n\n{gate}\n[harnesses.scripted]\nscript = "{_SCRIPT}"\n'


def settings_of(root: Path) -> Settings:
    """Return the demo's own settings; the person's do not count here."""
    import tomllib

    return merge([Layer("", tomllib.loads(read_file(root / ".spool/config.toml").decode()))]).settings


def demo_spec(root: Path, *, kept: bool) -> LoopSpec:
    """Return the loop of the demo; one that is kept is listed, so that it can be reported."""
    return new_spec(LoopKind.RUN, root, CHANGE, settings_of(root), listed=kept, again="spool demo")


def git(root: Path, *words: str) -> str:
    """Run git in the repository and return its output."""
    try:
        done = subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True, timeout=30)
    except FileNotFoundError:
        raise SpoolError("the demo needs git", hint="install it, for example: apt install git") from None
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise SpoolError(f"git {words[0]} failed: {error}") from None
    return done.stdout
