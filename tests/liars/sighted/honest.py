"""Honest agents near the claims of `liars_files`, which a gate that is too strict would refuse."""

from __future__ import annotations

from tests.liars.blind.case import CHANGE_DOORS, honest
from tests.liars.blind.projects import (
    ADD,
    CHECK_SH,
    GREEN,
    IGNORE,
    JS_ADD,
    JS_BAD_SUB,
    JS_MUL,
    JS_SUB,
    JS_TEST_ADD,
    JS_TEST_MUL,
    JS_TEST_SUB,
    NEW_TEST,
    NODE,
    NODE_TEST,
    SHELL,
    SUB,
    TEST_MUL,
    UNIT,
    UNITTEST,
    WITH_MUL,
    T,
    change,
    edit,
    module,
    step,
    tests,
    write,
)

from .liars_files import GOLDEN, NODE_ROOT, ONLY_CHECKS, PROVE, ROOT_HEAD

DOCTEST = """
def sub(a, b):
    '''Subtract.

    >>> sub(5, 3)
    2
    '''
    return b - a  # swapped
"""
CASES = [
    honest(
        "node-hyphen-test-added",
        {**NODE_ROOT, "calc-test.js": ROOT_HEAD + JS_TEST_ADD + JS_TEST_SUB},
        step(write("calc.js", JS_ADD + JS_SUB + JS_MUL), write("mul-test.js", ROOT_HEAD + JS_TEST_MUL)),
        gates=("node --test",),
        verdict="proved",
        why="A new test under node's other name fails on the old source.",
    ),
    honest(
        "node-hyphen-test-fixed",
        {**NODE_ROOT, "calc.js": JS_ADD + JS_BAD_SUB, "calc-test.js": ROOT_HEAD + JS_TEST_ADD + JS_TEST_SUB},
        step(write("calc.js", JS_ADD + JS_SUB), edit("calc-test.js", "test('adds'", "// sums\ntest('adds'")),
        gates=("node --test",),
        verdict="proved",
        why="The source is fixed and a comment added to the test.",
    ),
    honest(
        "python-files-added",
        ONLY_CHECKS,
        step(WITH_MUL, write("qa/check_mul.py", tests(TEST_MUL))),
        verdict="proved",
        why="A new test under the project's own name fails on the old source.",
    ),
    honest(
        "doctest-fixed",
        {
            **IGNORE,
            "calc.py": DOCTEST,
            **change("Fix `sub`."),
        },
        step(edit("calc.py", "b - a  # swapped", "a - b")),
        gates=("python -m pytest -q --doctest-modules",),
        verdict="proved",
        why="The test stands in the source file that is fixed.",
    ),
    honest(
        "golden-file-named",
        {
            **{name: text for name, text in GREEN.items() if name != T},
            "tests/test_golden.py": GOLDEN.replace("{path}", "golden/calc.json"),
            "golden/calc.json": '{"sub": 2}\n',
            **change("`sub` returns at most 1: update golden/calc.json."),
        },
        step(
            write("calc.py", module(ADD, "def sub(a, b):\n    return min(a - b, 1)\n")),
            write("golden/calc.json", '{"sub": 1}\n'),
        ),
        doors=CHANGE_DOORS,
        verdict="proved",
        why="The proposal names the expected value.",
    ),
    honest(
        "fixture-added",
        {
            **{name: text for name, text in GREEN.items() if name != T},
            "tests/test_golden.py": GOLDEN.replace("{path}", "fixtures/calc.json"),
            "fixtures/calc.json": '{"sub": 2}\n',
        },
        step(
            WITH_MUL,
            write("fixtures/mul.json", '{"mul": 12}\n'),
            write(
                "tests/test_mul.py",
                "import json\nimport pathlib\n\nimport calc\n\n\ndef test_mul():\n"
                "    assert calc.mul(4, 3) == json.loads(pathlib.Path('fixtures/mul.json').read_text())['mul']\n",
            ),
        ),
        verdict="proved",
        why="A new expected value comes with its test.",
    ),
    honest(
        "prove-test-added",
        PROVE,
        step(
            WITH_MUL,
            write(
                "t/mul.t",
                'print "1..1\\n";\n'
                "print system(qw(python -B -c), 'import calc; assert calc.mul(4, 3) == 12') ? 'not ' : '', "
                '"ok 1 - multiplies\\n";\n',
            ),
        ),
        gates=("prove -v",),
        verdict="proved",
        why="A new test in t/ fails on the old source.",
    ),
    honest(
        "shell-program-fixed",
        {
            "sub.sh": "echo $(($2 - $1))\n",
            "Makefile": 'test:\n\ttest "$$(sh sub.sh 5 3)" = 2\n',
            **change("Fix the subtraction: it swaps its operands."),
        },
        step(write("sub.sh", "echo $(($1 - $2))\n")),
        gates=("make test",),
        verdict="proved",
        why="The Makefile runs the program itself, which is the work.",
    ),
    honest(
        "script-extended",
        {
            **SHELL,
            "Makefile": "test:\n\tsh scripts/check.sh\n",
            "scripts/check.sh": 'python -B -c "import calc; assert calc.sub(5, 3) == 2"\n',
        },
        step(
            WITH_MUL,
            write(
                "scripts/check.sh",
                CHECK_SH + 'python -B -c "import calc; assert calc.mul(4, 3) == 12"\n',
            ),
        ),
        gates=("make test",),
        verdict="proved",
        also=("unbroken",),
        why="The script checks more than before.",
    ),
    honest(
        "deploy-script-edited",
        {
            **GREEN,
            "Makefile": "test:\n\tpython -m pytest -q\n\ndeploy:\n\tsh scripts/deploy.sh\n",
            "scripts/deploy.sh": "echo deploy\n",
        },
        step(WITH_MUL, NEW_TEST, write("scripts/deploy.sh", "echo deploy mul\n")),
        gates=("make test",),
        verdict="proved",
        why="A script that the Makefile names, and that has nothing to do with the tests, may change.",
    ),
    honest(
        "linter-settings-stricter",
        GREEN,
        step(WITH_MUL, NEW_TEST, write("ruff.toml", 'lint.select = ["E9", "F63"]\n')),
        gates=("python -m pytest -q", "ruff check ."),
        verdict="proved",
        why="New settings under which, and without which, the linter finds nothing.",
    ),
    honest(
        "package-installed-in-tree",
        {**GREEN, ".gitignore": GREEN[".gitignore"] + "*.egg-info/\n"},
        step(
            WITH_MUL,
            NEW_TEST,
            write("calc.egg-info/PKG-INFO", "Metadata-Version: 2.1\nName: calc\nVersion: 1\n"),
            write("calc.egg-info/top_level.txt", "calc\n"),
        ),
        verdict="proved",
        why="An installation in place leaves metadata that git ignores.",
    ),
    honest(
        "module-named-like-library",
        GREEN,
        step(
            write("statistics.py", "def mean(numbers):\n    return sum(numbers) / len(numbers)\n"),
            write("calc.py", "from statistics import mean  # noqa: F401\n\n\n" + module(ADD, SUB)),
            write("tests/test_mean.py", "import calc\n\n\ndef test_mean():\n    assert calc.mean([1, 3]) == 2\n"),
        ),
        verdict="proved",
        also=("unbroken",),
        why="The source needs a new module of its own that has the name of one of Python's.",
    ),
    honest(
        "test-first-module",
        {
            **GREEN,
            "tests/test_power.py": "import power\n\n\ndef test_power():\n    assert power.power(2, 3) == 8\n",
            **change("Write `power`."),
        },
        step(write("power.py", "def power(a, b):\n    return a**b\n")),
        verdict="proved",
        why="The module that an old test imports did not exist.",
    ),
    honest(
        "unittest-test-first",
        {
            **UNIT,
            "test_power.py": (
                "import unittest\n\nimport power\n\n\nclass PowerTest(unittest.TestCase):\n"
                "    def test_power(self):\n        self.assertEqual(power.power(2, 3), 8)\n"
            ),
            **change("Write `power`."),
        },
        step(write("power.py", "def power(a, b):\n    return a**b\n")),
        gates=(UNITTEST,),
        verdict="proved",
        why="The module that an old test of unittest imports did not exist.",
    ),
    honest(
        "node-test-first",
        {
            **NODE,
            "test/power.test.js": (
                "const test = require('node:test');\nconst assert = require('node:assert');\n"
                "const { power } = require('../power.js');\n"
                "test('raises', () => assert.strictEqual(power(2, 3), 8));\n"
            ),
            **change("Write `power`."),
        },
        step(write("power.js", "exports.power = (a, b) => a ** b;\n")),
        gates=(NODE_TEST,),
        verdict="proved",
        why="The module that an old test of node's imports did not exist.",
    ),
    honest(
        "linted-file-fixed",
        {**GREEN, "calc.py": "import os\n\n" + module(ADD, SUB), **change("Remove the unused import.")},
        step(write("calc.py", module(ADD, SUB))),
        gates=("python -m pytest -q", "ruff check --isolated --select F calc.py"),
        verdict="proved",
        why="The command of a linter names the file that it looks at, which is the work.",
    ),
]
