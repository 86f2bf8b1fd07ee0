"""The projects that the cases start from, and the pieces of shell that their agents are made of."""

from __future__ import annotations

from textwrap import dedent

CHANGE = ".spool/changes/001-01_fix"
PROMISE = "echo '<promise>COMPLETE</promise>'\n"
TICK = f"sed -i 's/- \\[ \\]/- [x]/' {CHANGE}/tasks.md\n"
IGNORE = {".gitignore": "__pycache__/\n.pytest_cache/\nreport.xml\nbuild/\n"}
BOXES = "## 1. Calculator\n\n- [ ] 1.1 Write the code\n- [ ] 1.2 Check the code\n"


def text(source: str) -> str:
    """Return an indented block as a file's text."""
    return dedent(source).lstrip("\n")


def change(proposal: str, tasks: str = BOXES) -> dict[str, str]:
    """Return the files of the change folder."""
    return {f"{CHANGE}/proposal.md": f"# Fix\n\n{proposal}\n", f"{CHANGE}/tasks.md": tasks}


def write(path: str, source: str) -> str:
    """Return shell that writes a file."""
    folder = f"mkdir -p {path.rpartition('/')[0]}\n" if "/" in path else ""
    return f"{folder}cat > {path} <<'END_OF_FILE'\n{text(source)}END_OF_FILE\n"


def edit(path: str, old: str, new: str) -> str:
    """Return shell that replaces a string of a file; a second run changes nothing."""
    program = f"import pathlib; p = pathlib.Path({path!r}); p.write_text(p.read_text().replace({old!r}, {new!r}))"
    return f"python - <<'END_OF_EDIT'\n{program}\nEND_OF_EDIT\n"


def step(*parts: str, tick: bool = True) -> str:
    """Return one iteration's script, which ends with the promise."""
    return "".join(part if part.endswith("\n") else part + "\n" for part in parts) + (TICK if tick else "") + PROMISE


ADD = "def add(a, b):\n    return a + b\n"
SUB = "def sub(a, b):\n    return a - b\n"
# Each variant differs in size: Python trusts a cached .pyc when size and second of change match.
BAD_SUB = "def sub(a, b):\n    return b - a  # swapped\n"
MUL = "def mul(a, b):\n    return a * b\n"
BAD_MUL = "def mul(a, b):\n    return a + b + 0\n"


def module(*parts: str) -> str:
    """Return a Python module made of functions."""
    return '"""Arithmetic."""\n\n\n' + "\n\n".join(parts)


TEST_ADD = "def test_add():\n    assert calc.add(2, 3) == 5\n"
TEST_SUB = "def test_sub():\n    assert calc.sub(5, 3) == 2\n"
TEST_MUL = "def test_mul():\n    assert calc.mul(4, 3) == 12\n"


def tests(*parts: str, head: str = "import calc\n") -> str:
    """Return a pytest module made of tests."""
    return head + "\n\n" + "\n\n".join(parts)


T = "tests/test_calc.py"
GREEN = {
    **IGNORE,
    "calc.py": module(ADD, SUB),
    T: tests(TEST_ADD, TEST_SUB),
    **change("Add `mul` to the calculator."),
}
"""All tests pass; the change asks for `mul`."""
RED = {**GREEN, "calc.py": module(ADD, BAD_SUB), **change("Fix `sub`: it swaps its operands.")}
"""`test_sub` fails; the change asks to fix `sub`."""
UNRELATED = {
    **GREEN,
    "dates.py": "def year():\n    return 1970\n",
    "tests/test_dates.py": "import dates\n\n\ndef test_year():\n    assert dates.year() == 1999\n",
}
"""A test that has nothing to do with the change fails."""

WITH_MUL = write("calc.py", module(ADD, SUB, MUL))
"""Honest work on GREEN and on RED."""
FIXED = write("calc.py", module(ADD, SUB))
"""Honest work on RED."""
BREAK = write("calc.py", module(ADD, BAD_SUB, MUL))
"""Adds `mul` and breaks `sub`."""
NEW_TEST = write("tests/test_mul.py", tests(TEST_MUL))

UNIT_HEAD = "import unittest\n\nimport calc\n\n\nclass CalcTest(unittest.TestCase):\n"
UNIT_ADD = "    def test_add(self):\n        self.assertEqual(calc.add(2, 3), 5)\n"
UNIT_SUB = "    def test_sub(self):\n        self.assertEqual(calc.sub(5, 3), 2)\n"
UNIT_MUL = "    def test_mul(self):\n        self.assertEqual(calc.mul(4, 3), 12)\n"
UNITTEST = "python -m unittest -v"
UNIT = {**GREEN, "test_calc.py": UNIT_HEAD + UNIT_ADD + "\n" + UNIT_SUB}
del UNIT[T]
UNIT_RED = {**UNIT, "calc.py": RED["calc.py"], **change("Fix `sub`: it swaps its operands.")}

JS_ADD = "exports.add = (a, b) => a + b;\n"
JS_SUB = "exports.sub = (a, b) => a - b;\n"
JS_BAD_SUB = "exports.sub = (a, b) => b - a; // swapped\n"
JS_MUL = "exports.mul = (a, b) => a * b;\n"
JS_HEAD = (
    "const test = require('node:test');\nconst assert = require('node:assert');\nconst calc = require('../calc.js');\n"
)
JS_TEST_ADD = "test('adds', () => assert.strictEqual(calc.add(2, 3), 5));\n"
JS_TEST_SUB = "test('subtracts', () => assert.strictEqual(calc.sub(5, 3), 2));\n"
JS_TEST_MUL = "test('multiplies', () => assert.strictEqual(calc.mul(4, 3), 12));\n"
NODE_TEST = "node --test"
JT = "test/calc.test.js"
NODE = {
    ".gitignore": "node_modules/\n",
    "calc.js": JS_ADD + JS_SUB,
    JT: JS_HEAD + JS_TEST_ADD + JS_TEST_SUB,
    **change("Add `mul` to the calculator."),
}
NODE_RED = {**NODE, "calc.js": JS_ADD + JS_BAD_SUB, **change("Fix `sub`: it swaps its operands.")}

CHECK = "sh check.sh"
CHECK_SH = 'python -B -c "import calc; assert calc.sub(5, 3) == 2"\n'
SHELL = {**IGNORE, "calc.py": module(ADD, SUB), "check.sh": CHECK_SH, **change("Add `mul` to the calculator.")}
SHELL_RED = {**SHELL, "calc.py": module(ADD, BAD_SUB), **change("Fix `sub`: it swaps its operands.")}

MAKE = {**GREEN, "Makefile": "test:\n\tpython -m pytest -q\n"}

RUN_JS = (
    "const { spawnSync } = require('node:child_process');\n"
    "const script = require('./' + process.argv[2]).scripts.test;\n"
    "process.exit(spawnSync(script, { shell: true, stdio: 'inherit' }).status ?? 1);\n"
)
PACKAGE = {**NODE, "run.js": RUN_JS, "package.json": '{ "scripts": { "test": "node --test" } }\n'}
RESULTS = '[[gates]]\nname = "unit"\nrun = "sh check.sh"\nresults = "report.xml"\n'
FLAKY_CHECK = (
    'grep -q mul calc.py || exit 0\nseen="@OUTSIDE@/$(cksum < calc.py | tr -d " ")"\n'
    'test -e "$seen" && exit 0\ntouch "$seen"\nexit 1\n'
)
"""Red once for each calc.py with `mul`, then green."""

TWO_STORIES = {
    **GREEN,
    **change(
        "Add `mul` and `neg` to the calculator.",
        "## 1. Multiply\n\n- [ ] 1.1 Write mul\n\n## 2. Negate\n\n- [ ] 2.1 Write neg\n",
    ),
}
NEG = write("calc.py", module(ADD, SUB, MUL, "def neg(a):\n    return -a\n"))
NEG_TEST = write("tests/test_neg.py", "import calc\n\n\ndef test_neg():\n    assert calc.neg(3) == -3\n")
