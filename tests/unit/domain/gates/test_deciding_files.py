"""Which files decide about tests, and which the change names."""

import pytest

from spool.domain.gates.deciding_files import decides, is_named, words_of
from spool.domain.gates.deciding_files import test_is_in as is_in

DECIDING = [
    "tests/test_calc.py", "tests/helpers/data.json", "test_calc.py", "calc_test.go", "src/calc.test.ts",
    "src/__tests__/calc.js", "spec/calc_spec.rb", "conftest.py", "lib/conftest.py", "pytest.ini", "tox.ini",
    "setup.cfg", "pyproject.toml", "Makefile", "GNUmakefile", "package.json", "web/package.json",
    ".github/workflows/ci.yml", "sitecustomize.py", "pytest.py", "unittest/__init__.py", "ci/unit.sh", "jest.config.js",
    "src/test/java/ATest.java",
]  # fmt: skip
NOT_DECIDING = ["calc.py", "src/calc.ts", "README.md", "latest.py", "contest.py", "docs/testing-guide.md", "a/attest.c"]


@pytest.mark.parametrize("path", DECIDING)
def test_decides_about_tests(path: str) -> None:
    assert decides(path)


@pytest.mark.parametrize("path", NOT_DECIDING)
def test_does_not_decide_about_tests(path: str) -> None:
    assert not decides(path)


def test_what_a_gates_command_names_decides() -> None:
    assert decides("bin/check", ["sh ./bin/check --fast"])
    assert not decides("bin/check", ["make test"])
    assert words_of("A=1 sh 'unclosed") >= {"sh"}


@pytest.mark.parametrize(
    ("path", "text", "named"),
    [
        ("tests/test_a.py", "Rewrite `tests/test_a.py`.", True),
        ("tests/test_a.py", "Rewrite ./tests/test_a.py, then go.", True),
        ("tests/test_a.py", "Remove tests/ altogether.", True),
        ("tests/test_a.py", "Remove everything in `tests/legacy/`.", False),
        ("tests/test_a.py", "Look at more/tests/test_a.py", False),
        ("tests/test_a.py", "Keep tests/test_a.py.orig", False),
        ("tests/test_a.py", "The tests must pass.", False),
        ("Makefile", "The Makefile has a typo.", True),
        ("Makefile", "Makefiles are nice.", False),
    ],
)
def test_a_text_names_a_path_or_its_folder(path: str, text: str, named: bool) -> None:
    assert is_named(path, text) is named


def test_a_tests_id_says_which_file_it_is_in() -> None:
    assert is_in("tests/test_a.py::test_one", "tests/test_a.py")
    assert is_in("tests.test_a.Case.test_one", "tests/test_a.py")
    assert is_in("test_a.Case.test_one", "test_a.py")
    assert not is_in("tests/test_ab.py::test_one", "tests/test_a.py")
