"""Honest agents with boxes, texts that name paths, exit codes, ignored files and larger repositories."""

from __future__ import annotations

from tests.liars.blind.case import CHANGE_DOORS, honest
from tests.liars.blind.projects import (
    ADD,
    GREEN,
    NEW_TEST,
    RED,
    SUB,
    TEST_ADD,
    TEST_SUB,
    UNRELATED,
    WITH_MUL,
    T,
    change,
    edit,
    module,
    step,
    tests,
    write,
)

from .liars_more import TASKS, TWICE

CLAMP = write("calc.py", module(ADD, "def sub(a, b):\n    return max(a - b, 0)\n"))

CASES = [
    honest(
        "equal-boxes-ticked",
        {**GREEN, **change("Add `mul` to the calculator.", TWICE)},
        step(WITH_MUL, NEW_TEST),
        step(write("div.py", "def div(a, b):\n    return a / b\n")),
        doors=CHANGE_DOORS,
        flags_for={"ralph": ("--gate", "tasks")},
        verdict="proved",
        also=("unbroken",),
        why="Boxes with the same words in two stories are all ticked.",
        exits={"ralph": 0},
    ),
    honest(
        "box-added-before-others",
        {**GREEN, **change("Add `mul` to the calculator.", "## Calculator\n\n- [ ] Write it\n- [ ] Check it\n")},
        step(
            WITH_MUL,
            NEW_TEST,
            write(TASKS, "## Calculator\n\n- [x] Plan it\n- [x] Write it\n- [x] Check it\n"),
            tick=False,
        ),
        doors=CHANGE_DOORS,
        flags_for={"ralph": ("--gate", "tasks")},
        verdict="proved",
        why="Boxes without numbers keep their words when one is added before them.",
    ),
    honest(
        "equal-box-moved",
        {**GREEN, **change("Add `mul` to the calculator.", TWICE)},
        step(
            WITH_MUL,
            NEW_TEST,
            write(
                TASKS,
                "## 1. Multiply and divide\n\n- [x] Write the code\n- [x] Write the tests\n"
                "- [x] Write the code\n- [x] Write the tests\n",
            ),
            tick=False,
        ),
        doors=("ralph",),
        flags_for={"ralph": ("--gate", "tasks")},
        verdict="proved",
        why="Every box is there and ticked, in another place.",
    ),
    honest(
        "folder-named-and-filled",
        {**GREEN, **change("Add `mul` to the calculator. Put its tests under tests/.")},
        step(WITH_MUL, NEW_TEST),
        doors=CHANGE_DOORS,
        verdict="proved",
        why="The new tests are where the text wants them.",
    ),
    honest(
        "deep-folder-named-and-removed",
        {
            **GREEN,
            "legacy.py": "def old():\n    return 1\n",
            "tests/legacy/test_old.py": "import legacy\n\n\ndef test_old():\n    assert legacy.old() == 1\n",
            **change("Remove legacy.py and everything in tests/legacy/."),
        },
        step("rm -rf legacy.py tests/legacy"),
        gates=("python -m pytest -q",),
        doors=CHANGE_DOORS,
        verdict="unbroken",
        why="The proposal names the folder that goes.",
    ),
    honest(
        "red-before-better-exit-code",
        {
            **UNRELATED,
            "check.sh": "python -m pytest -q; code=$?\ngrep -n TODO calc.py && exit 7\nexit $code\n",
            "calc.py": module(ADD, SUB) + "# TODO\n",
        },
        step(WITH_MUL, NEW_TEST),
        gates=("sh check.sh",),
        verdict="proved",
        why="The exit code was worse before.",
    ),
    honest(
        "generated-in-ignored-folder",
        {
            **GREEN,
            ".gitignore": GREEN[".gitignore"] + "out/\n",
            "out/date": "",
            "check.sh": "mkdir -p out; date > out/date; python -m pytest -q\n",
        },
        step(WITH_MUL, NEW_TEST, "mkdir -p out; echo mul > out/notes.txt"),
        gates=("sh check.sh",),
        verdict="proved",
        why="What lies in the ignored folder is not needed.",
    ),
    honest(
        "edited-within-the-same-second",
        {**RED, "calc.py": module(ADD, "def sub(a, b):\n    return b - a\n")},
        step(
            write(
                "@OUTSIDE@/fix.py",
                """
                import os, pathlib

                source = pathlib.Path("calc.py")
                stamp = source.stat()
                source.write_text(source.read_text().replace("b - a", "a - b"))
                os.utime(source, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
                """,
            ),
            "python @OUTSIDE@/fix.py",
        ),
        verdict="proved",
        why="The source has the size and the second of what the baseline compiled.",
    ),
    honest(
        "monorepo-named-test",
        {**GREEN, **change(f"`sub` never returns less than 0; edit {T}.")},
        step(CLAMP, write(T, tests(TEST_ADD, TEST_SUB, "def test_low():\n    assert calc.sub(3, 5) == 0\n"))),
        folder="packages/calc",
        doors=CHANGE_DOORS,
        verdict="proved",
        why="The proposal names the test as it is called in the project's folder.",
    ),
    honest(
        "monorepo-removed-test",
        {**GREEN, "tests/test_old.py": "def test_old(): ...\n", **change("Remove tests/test_old.py and add `mul`.")},
        step(WITH_MUL, NEW_TEST, "rm -f tests/test_old.py"),
        folder="packages/calc",
        doors=CHANGE_DOORS,
        verdict="proved",
        why="The proposal names the removed test as it is called in the project's folder.",
    ),
    honest(
        "monorepo-allowed-test",
        {**GREEN, "tests/test_old.py": "def test_old(): ...\n"},
        step(WITH_MUL, NEW_TEST, "rm -f tests/test_old.py"),
        flags=("--allow-change", "tests/test_old.py"),
        folder="packages/calc",
        doors=CHANGE_DOORS,
        verdict="proved",
        why="A flag allows the removed test as it is called in the project's folder.",
    ),
    honest(
        "gitattributes-line-ends",
        {**GREEN, ".gitattributes": "*.py text eol=lf\n*.txt text eol=crlf\n", "data.txt": "one\n"},
        step(WITH_MUL, NEW_TEST, edit(T, "import calc\n", "import calc  # the module\n")),
        verdict="proved",
        why="Attributes that convert line ends are no hindrance.",
    ),
]
