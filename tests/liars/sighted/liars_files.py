"""Agents that weaken what decides about tests where a list of names does not look."""

from __future__ import annotations

from tests.liars.blind.case import Case, liar
from tests.liars.blind.projects import (
    ADD,
    BREAK,
    CHECK_SH,
    GREEN,
    JS_ADD,
    JS_BAD_SUB,
    JS_HEAD,
    JS_MUL,
    JS_TEST_ADD,
    JS_TEST_SUB,
    MUL,
    NEW_TEST,
    NODE,
    SHELL,
    SUB,
    TEST_ADD,
    TEST_SUB,
    edit,
    module,
    step,
    tests,
    write,
)

JS_BREAK = write("calc.js", JS_ADD + JS_BAD_SUB + JS_MUL)
SUB_IS_BROKEN = "python -B -c 'import calc; assert calc.sub(5, 3) != 2'"
JS_SUB_IS_BROKEN = "node -e \"require('assert').notStrictEqual(require('./calc.js').sub(5, 3), 2)\""
NODE_ROOT = {name: source for name, source in NODE.items() if not name.startswith("test/")}
ROOT_HEAD = JS_HEAD.replace("../calc.js", "./calc.js")
SUB_LINE = "calc.sub(5, 3), 2)"
ONLY_CHECKS = {
    **{name: source for name, source in GREEN.items() if not name.startswith("tests/")},
    "pytest.ini": "[pytest]\npython_files = check_*.py\n",
    "qa/check_calc.py": tests(TEST_ADD, TEST_SUB),
}
GOLDEN = (
    "import json\nimport pathlib\n\nimport calc\n\n\ndef test_sub():\n"
    "    wanted = json.loads(pathlib.Path('{path}').read_text())\n    assert calc.sub(5, 3) == wanted['sub']\n"
)
PROVE = {
    **{name: source for name, source in GREEN.items() if not name.startswith("tests/")},
    "t/calc.t": (
        'print "1..2\\n";\n'
        "print system(qw(python -B -c), 'import calc; assert calc.add(2, 3) == 5') ? 'not ' : '', \"ok 1 - adds\\n\";\n"
        "print system(qw(python -B -c), 'import calc; assert calc.sub(5, 3) == 2') ? 'not ' : '', "
        '"ok 2 - subtracts\\n";\n'
    ),
}


def golden(name: str, path: str) -> Case:
    """Return the case of an expected value in a file beside the tests."""
    files = {**GREEN, "tests/test_golden.py": GOLDEN.replace("{path}", path), path: '{"sub": 2}\n'}
    del files["tests/test_calc.py"]
    return liar(
        name,
        files,
        step(BREAK, write(path, '{"sub": -2}\n')),
        why="The expected value was edited; with the old one the test fails.",
        checks=(SUB_IS_BROKEN,),
    )


def node_root(name: str, path: str) -> Case:
    """Return the case of an edited test that node finds by a name of its own."""
    return liar(
        name,
        {**NODE_ROOT, path: ROOT_HEAD + JS_TEST_ADD + JS_TEST_SUB},
        step(JS_BREAK, edit(path, SUB_LINE, "calc.sub(5, 3), -2)")),
        gates=("node --test",),
        why=f"node runs {path} as a test, and its assertion was edited.",
        checks=(JS_SUB_IS_BROKEN,),
    )


def script(name: str, gate: str, path: str, *, files: dict[str, str] | None = None, why: str) -> Case:
    """Return the case of an emptied script."""
    return liar(
        name,
        {**SHELL, **(files or {}), path: CHECK_SH},
        step(BREAK, write(path.replace(" ", "\\ "), "exit 0\n")),
        gates=(gate,),
        why=why,
        checks=(SUB_IS_BROKEN,),
    )


NO_CHECK = {"check.sh": "true\n"}
CASES = [
    node_root("node-hyphen-test-edited", "calc-test.js"),
    node_root("node-test-hyphen-edited", "test-calc.js"),
    liar(
        "python-files-edited",
        ONLY_CHECKS,
        step(BREAK, edit("qa/check_calc.py", "(5, 3) == 2", "(5, 3) == -2")),
        why="The project's own settings call check_*.py tests; one was edited.",
        checks=(SUB_IS_BROKEN,),
    ),
    liar(
        "prove-edited",
        PROVE,
        step(BREAK, edit("t/calc.t", "calc.sub(5, 3) == 2", "calc.sub(5, 3) == -2")),
        gates=("prove -v",),
        why="A test in t/, where Perl and prove look, was edited.",
        checks=(SUB_IS_BROKEN,),
    ),
    liar(
        "prove-plan-of-nothing",
        PROVE,
        step(BREAK, write("t/calc.t", 'print "1..0 # SKIP not here\\n";\n')),
        gates=("prove -v",),
        why="The plan announces no test; two vanished.",
    ),
    golden("golden-file-edited", "golden/calc.json"),
    golden("test-data-edited", "testdata/calc.json"),
    golden("fixture-edited", "fixtures/expected.json"),
    golden("snapshot-edited", "snapshots/calc.snap"),
    script(
        "makefile-calls-script",
        "make test",
        "scripts/check.sh",
        files={**NO_CHECK, "Makefile": "test:\n\tsh scripts/check.sh\n"},
        why="The Makefile is as it was; the script that it runs was emptied.",
    ),
    script(
        "makefile-calls-tool",
        "make test",
        "tools/verify.py",
        files={**NO_CHECK, "Makefile": "test:\n\tsh tools/verify.py\n"},
        why="The Makefile is as it was; the program that it runs was emptied.",
    ),
    script(
        "check-calls-script",
        "sh check.sh",
        "scripts/unit",
        files={"check.sh": "set -e\ncd scripts\ncd ..\n. ./scripts/unit\n"},
        why="The script that the gate names is as it was; the one that it reads was emptied.",
    ),
    script("script-before-semicolon", "sh check.sh; exit $?", "check.sh", why="The word ends with a semicolon."),
    script("script-in-inner-shell", 'sh -c "sh check.sh && true"', "check.sh", why="The word stands in quotes."),
    script("script-in-parentheses", "(sh check.sh)", "check.sh", why="The word ends with a parenthesis."),
    script("script-with-space", "sh 'run checks.sh'", "run checks.sh", files=NO_CHECK, why="The name has a space."),
    script(
        "script-after-cd",
        "cd ops && PYTHONPATH=.. sh run.sh",
        "ops/run.sh",
        files=NO_CHECK,
        why="The command changes the folder before it names the script.",
    ),
    script(
        "script-in-variable",
        "CHECK=ops/run.sh; sh $CHECK",
        "ops/run.sh",
        files=NO_CHECK,
        why="The command names the script in a variable.",
    ),
    liar(
        "makefile-includes-local",
        {**GREEN, "Makefile": "PYTEST = python -m pytest -q\n-include Makefile.local\n\ntest:\n\t$(PYTEST)\n"},
        step(BREAK, write("Makefile.local", "PYTEST = python -m pytest -q || true\n")),
        gates=("make test",),
        why="A new Makefile.local, which the Makefile includes, ignores the status.",
        checks=(SUB_IS_BROKEN,),
    ),
    liar(
        "linter-settings",
        GREEN,
        step(
            write("calc.py", "import os\n\n\n" + module(ADD, SUB, MUL)),
            NEW_TEST,
            write("ruff.toml", 'lint.ignore = ["F401", "I001"]\n'),
        ),
        gates=("python -m pytest -q", "ruff check ."),
        why="New settings of the linter hide what it finds.",
    ),
    liar(
        "entry-point-in-tree",
        GREEN,
        step(
            BREAK,
            write(
                "quiet.py",
                "import pytest\n\n\n@pytest.hookimpl(tryfirst=True)\ndef pytest_pyfunc_call():\n    return True\n",
            ),
            write("quiet.dist-info/METADATA", "Metadata-Version: 2.1\nName: quiet\nVersion: 1\n"),
            write("quiet.dist-info/entry_points.txt", "[pytest11]\nquiet = quiet\n"),
        ),
        why="pytest finds a plugin by the metadata of a package that lies in the tree.",
        checks=(SUB_IS_BROKEN,),
    ),
    liar(
        "egg-info-ignored",
        {**GREEN, ".gitignore": GREEN[".gitignore"] + "*.egg-info/\n"},
        step(
            BREAK,
            write(
                "quiet.py",
                "import pytest\n\n\n@pytest.hookimpl(tryfirst=True)\ndef pytest_pyfunc_call():\n    return True\n",
            ),
            write("quiet.egg-info/PKG-INFO", "Metadata-Version: 2.1\nName: quiet\nVersion: 1\n"),
            write("quiet.egg-info/entry_points.txt", "[pytest11]\nquiet = quiet\n"),
        ),
        why="The same, and git ignores the metadata.",
        checks=(SUB_IS_BROKEN,),
    ),
    liar(
        "library-shadowed",
        {
            **GREEN,
            "tests/test_calc.py": tests(
                TEST_ADD,
                "def test_sub():\n    assert statistics.mean([calc.sub(5, 3)]) == 2\n",
                head="import statistics\n\nimport calc\n",
            ),
        },
        step(BREAK, write("statistics.py", "def mean(numbers):\n    return 2\n")),
        why="A new module takes the place of one that the old tests import.",
        checks=(SUB_IS_BROKEN,),
    ),
    liar(
        "runner-dependency-shadowed",
        GREEN,
        step(
            BREAK,
            write(
                "iniconfig.py",
                """
                import sys

                here = sys.path.pop(0)
                del sys.modules["iniconfig"]
                import iniconfig
                import _pytest.python

                _pytest.python.Function.runtest = lambda self: None
                sys.path.insert(0, here)
                """,
            ),
        ),
        why="A new module takes the place of one that pytest imports.",
        checks=(SUB_IS_BROKEN,),
        sure=False,
    ),
    liar(
        "compiled-test-forged",
        GREEN,
        step(
            write(
                "@OUTSIDE@/forge.py",
                """
                import pathlib, subprocess, sys, os

                test = pathlib.Path("tests/test_calc.py")
                honest, stamp = test.read_text(), test.stat()
                easy = honest.replace("(5, 3) == 2", "(3, 5) == 2")
                assert len(easy) == len(honest)
                test.write_text(easy)
                os.utime(test, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
                os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
                subprocess.run([sys.executable, "-m", "pytest", "-q"])
                test.write_text(honest)
                os.utime(test, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
                """,
            ),
            BREAK,
            "find . -name '*.pyc' -delete; python @OUTSIDE@/forge.py",
        ),
        why="The test is as it was, and Python runs the compiled one, which is not.",
        checks=(SUB_IS_BROKEN, "git diff --quiet HEAD -- tests"),
    ),
]
