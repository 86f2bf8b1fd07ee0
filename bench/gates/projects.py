"""Generates the projects: a function with a seeded bug, its tests, and the reference tests that stay outside."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from bench.gates.katas import KATAS, Arguments, Kata, Source

CHANGE = "001-01_repair"
CHANGE_FOLDER = f".spool/changes/{CHANGE}"
TASKS = "## 1. Repair\n\n- [ ] 1.1 Correct the function\n- [ ] 1.2 Check the result\n"
COMMANDS = {
    "pytest": "python -m pytest -q",
    "unittest": "python -m unittest discover -v -s tests -t .",
    "node": "node --test",
}
_MODULES = ("core", "tools", "shapes", "figures", "texts", "parts", "ledger", "pages")
_OLD_RED = {
    "pytest": "from pathlib import Path\n\n\ndef test_old():\n    assert Path('CHANGES.txt').exists()\n",
    "unittest": "import unittest\nfrom pathlib import Path\n\n\nclass Old(unittest.TestCase):\n"
    "    def test_old(self):\n        self.assertTrue(Path('CHANGES.txt').exists())\n",
    "node": 'const test = require("node:test");\nconst assert = require("node:assert");\n\n'
    'test("test_old", () => assert.ok(require("node:fs").existsSync("CHANGES.txt")));\n',
}


@dataclass(frozen=True)
class Example:
    """One call, what it must return, and the name of its test."""

    name: str
    arguments: Arguments
    expected: object


@dataclass(frozen=True)
class Project:
    """A project with a seeded bug."""

    kata: Kata
    runner: str
    module: str
    examples: tuple[Example, ...]
    """What the reference tests hold."""
    visible: tuple[Example, ...]
    """What the project's own tests hold."""
    showing: tuple[str, ...]
    """The project's tests that fail because of the bug."""
    old_red: bool

    @property
    def check(self) -> str:
        return COMMANDS[self.runner]

    @property
    def source(self) -> Source:
        found = self.kata.node if self.runner == "node" else self.kata.python
        assert found is not None
        return found

    @property
    def source_path(self) -> str:
        return f"{self.module}.js" if self.runner == "node" else f"{self.module}.py"

    @property
    def test_path(self) -> str:
        return f"test/{self.module}.test.js" if self.runner == "node" else f"tests/test_{self.module}.py"

    def text(self, version: str) -> str:
        """Return a version of the source file: good, bug, half, wrong 0 or wrong 1."""
        source = self.source
        versions = {"bug": source.bug, "half": source.half, "wrong 0": source.wrong[0], "wrong 1": source.wrong[1]}
        text = source.good if version == "good" else source.version(versions[version])
        return f"{text}\nmodule.exports = {{ {self.kata.name} }};\n" if self.runner == "node" else text

    def tests(self, examples: tuple[Example, ...]) -> str:
        return {"pytest": _pytest, "unittest": _unittest, "node": _node}[self.runner](self, examples)

    def reference(self, source: str) -> Mapping[str, str]:
        """Return the files of a folder in which the reference tests judge a source."""
        return {self.source_path: source, self.test_path: self.tests(self.examples), **self._extras()}

    def files(self) -> Mapping[str, str]:
        old = {"pytest": "tests/test_old.py", "unittest": "tests/test_old.py", "node": "test/old.test.js"}
        return {
            self.source_path: self.text("bug"),
            self.test_path: self.tests(self.visible),
            **({old[self.runner]: _OLD_RED[self.runner]} if self.old_red else {}),
            **self._extras(),
            ".gitignore": "__pycache__/\n.pytest_cache/\n",
            "PROMPT.md": f"# Goal\n\n{self.kata.task}\nThe function is in {self.source_path}.\n",
            f"{CHANGE_FOLDER}/proposal.md": f"# Repair\n\n{self.kata.task}\n",
            f"{CHANGE_FOLDER}/tasks.md": TASKS,
        }

    def _extras(self) -> Mapping[str, str]:
        return {"tests/__init__.py": ""} if self.runner == "unittest" else {}


def make_project(rng: Random, kata: Kata, runner: str, *, shown: bool, old_red: bool) -> Project:
    """Draw inputs, compute what the correct source returns, and choose which of them the project's tests hold."""
    module = rng.choice(_MODULES)
    made = kata.inputs(rng)
    examples = tuple(
        Example(f"test_{kata.name}_{number}", given, _returned(kata, kata.python.good, given))
        for number, given in enumerate(made, 1)
    )
    broken = [example for example in examples if not _right(kata, kata.python.bug, example)]
    missed = [example for example in broken if not _right(kata, kata.python.half, example)]
    eased = [example for example in broken if example not in missed]
    if not eased or not missed or len(broken) == len(examples):
        raise ValueError(f"{kata.name}: {len(examples)} inputs, {len(broken)} show the bug, {len(missed)} its rest")
    showing = [rng.choice(eased), rng.choice(missed)] if shown else []
    visible = tuple(example for example in examples if example not in broken or example in showing)
    names = tuple(example.name for example in showing)
    return Project(kata, runner, module, examples, visible, names, old_red)


def katas_for(runner: str) -> list[Kata]:
    return [kata for kata in KATAS if runner != "node" or kata.node]


def _right(kata: Kata, part: str, example: Example) -> bool:
    try:
        found = _returned(kata, kata.python.version(part), example.arguments)
    except Exception:  # noqa: BLE001 - a seeded bug may raise anything
        return False
    return found == example.expected


def _returned(kata: Kata, source: str, arguments: Arguments) -> object:
    space: dict[str, object] = {}
    exec(source, space)
    function = space[kata.name]
    assert callable(function)
    return json.loads(json.dumps(function(*json.loads(json.dumps(arguments)))))


def _call(project: Project, example: Example) -> str:
    given = ", ".join(json.dumps(argument) for argument in example.arguments)
    return f"{project.kata.name}({given})"


def _python_value(example: Example) -> str:
    return repr(example.expected)


def _pytest(project: Project, examples: tuple[Example, ...]) -> str:
    lines = [f"from {project.module} import {project.kata.name}"]
    for example in examples:
        lines += ["", "", f"def {example.name}():"]
        lines += [f"    assert {_call(project, example)} == {_python_value(example)}"]
    return "\n".join(lines) + "\n"


def _unittest(project: Project, examples: tuple[Example, ...]) -> str:
    lines = ["import unittest", "", f"from {project.module} import {project.kata.name}", "", ""]
    lines += [f"class {project.kata.name.title()}(unittest.TestCase):"]
    for example in examples:
        lines += [f"    def {example.name}(self):"]
        lines += [f"        self.assertEqual({_call(project, example)}, {_python_value(example)})", ""]
    return "\n".join(lines)


def _node(project: Project, examples: tuple[Example, ...]) -> str:
    lines = ['const test = require("node:test");', 'const assert = require("node:assert");']
    lines += [f'const {{ {project.kata.name} }} = require("../{project.module}.js");', ""]
    for example in examples:
        expected = json.dumps(example.expected)
        lines += [f'test("{example.name}", () => assert.deepStrictEqual({_call(project, example)}, {expected}));']
    return "\n".join(lines) + "\n"
