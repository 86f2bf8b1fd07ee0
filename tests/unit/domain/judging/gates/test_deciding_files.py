"""Which files decide about tests, and which the change names."""

import pytest

from spool.domain.judging.gates.command_words import named_files
from spool.domain.judging.gates.deciding_files import decides, is_named, names_test
from spool.domain.judging.gates.deciding_files import test_file as file_of
from spool.domain.judging.gates.deciding_files import test_is_in as is_in

DECIDING = [
    "tests/test_calc.py", "tests/helpers/data.json", "test_calc.py", "calc_test.go", "src/calc.test.ts",
    "src/__tests__/calc.js", "spec/calc_spec.rb", "conftest.py", "lib/conftest.py", "pytest.ini", "tox.ini",
    "setup.cfg", "pyproject.toml", "Makefile", "GNUmakefile", "package.json", "web/package.json",
    ".github/workflows/ci.yml", "sitecustomize.py", "pytest.py", "unittest/__init__.py", "ci/unit.sh", "jest.config.js",
    "src/test/java/ATest.java", "calc-test.js", "test-calc.js", "t/calc.t", "qa/login.feature", "CalcTest.php",
    "src/setupTests.ts", "testdata/want.txt", "golden/calc.json", "fixtures/user.json", "src/snapshots/a.snap",
    "ruff.toml", ".eslintrc.json", "Makefile.local", "pytest.toml", ".cargo/config.toml", "quiet.dist-info/METADATA",
    "src/quiet.egg-info/entry_points.txt",
    "composer.json", "cmake/tests.cmake", "app/build.gradle", "dodo.py", "gulpfile.js", ".isort.cfg",
    "src/inspect.py", "src/_pytest/__init__.py", "__pycache__/calc.cpython-312.pyc", "iniconfig.py",
    "playwright.config.ts",
]  # fmt: skip
NOT_DECIDING = [
    "calc.py", "src/calc.ts", "README.md", "latest.py", "contest.py", "docs/testing-guide.md", "a/attest.c",
    "src/snapshots/store.py", "fixtures/loader.ts", "scripts/deploy.sh", "src/LoopSpec.py", "config.toml",
    "pkg/util/inspect.py", "src/pkg/argparse.py", "lib/app/traceback.py",
]  # fmt: skip


@pytest.mark.parametrize("path", DECIDING)
def test_decides_about_tests(path: str) -> None:
    assert decides(path)


@pytest.mark.parametrize("path", NOT_DECIDING)
def test_does_not_decide_about_tests(path: str) -> None:
    assert not decides(path)


@pytest.mark.parametrize(
    ("command", "named", "other"),
    [
        ("sh ./bin/check --fast", {"bin/check"}, {"--fast"}),
        ("sh check.sh; exit $?", {"check.sh"}, set()),
        ("(sh check.sh)&&true", {"check.sh"}, set()),
        ('sh -c "sh a.sh && ./b.sh"', {"a.sh", "b.sh"}, set()),
        ("sh 'run checks.sh'", {"run checks.sh"}, set()),
        ("cd ops && sh run.sh", {"ops/run.sh"}, {"run.sh"}),
        ("CHECK=ops/run.sh; sh $CHECK", {"ops/run.sh"}, set()),
        ("echo $(./a.sh) `./b.sh`", {"a.sh", "b.sh"}, set()),
        ("pytest --config-file=ci/unit.ini", {"ci/unit.ini"}, set()),
        ("A=1 sh 'unclosed", {"sh"}, set()),
        ("ruff check calc.py && sh a.sh", {"a.sh"}, {"calc.py"}),
        ("uv run mypy --config-file=ci.ini calc.py", {"ci.ini"}, {"calc.py"}),
        ("mypy --config-file ci.ini calc.py", {"ci.ini"}, {"calc.py"}),
        ("! sh check.sh", {"check.sh"}, set()),
        ("python3 -m qa.verify", {"qa/verify.py"}, set()),
        ("cd api && python3 -m unittest suite.products", {"api/suite/products.py"}, set()),
        ("cat check.sh | sh", {"check.sh"}, set()),
        ("sh ../outside.sh /bin/x", {"sh"}, {"../outside.sh", "/bin/x"}),
    ],
)
def test_a_command_names_the_files_that_it_runs(command: str, named: set[str], other: set[str]) -> None:
    found = named_files(command)
    assert named <= found
    assert not other & found


@pytest.mark.parametrize(
    ("test", "file"),
    [
        ("qa/check_calc.py::TestCalc::test_add[1.5-x]", "qa/check_calc.py"),
        ("calc-test.js > adds > twice", "calc-test.js"),
        ("t/calc.t > adds", "t/calc.t"),
        ("src/calc.py::calc.add", ""),
        ("pkg/calc.py::pkg.calc.add", ""),
        ("calc.py::calc", ""),
        ("test_calc.CalcTest.test_add", ""),
        ("adds > twice", ""),
    ],
)
def test_a_tests_id_places_it_in_a_file_unless_it_is_a_doctest(test: str, file: str) -> None:
    assert file_of(test) == file


@pytest.mark.parametrize(
    ("path", "text", "named"),
    [
        ("tests/test_a.py", "Rewrite `tests/test_a.py`.", True),
        ("tests/test_a.py", "Rewrite ./tests/test_a.py, then go.", True),
        ("tests/test_a.py", "Remove tests/ altogether.", True),
        ("tests/test_a.py", "Update what is in `tests/`, then go.", True),
        ("tests/test_a.py", "Move tests/ to spec/.", True),
        ("tests/test_a.py", "Put the tests under tests/.", False),
        ("tests/test_a.py", "Rename `sub`.\n- [ ] 1.2 Add tests in `tests/`", False),
        ("tests/test_a.py", "Remove everything in `tests/legacy/`.", False),
        ("tests/test_a.py", "Look at more/tests/test_a.py", False),
        ("tests/test_a.py", "Keep tests/test_a.py.orig", False),
        ("tests/test_a.py", "The tests must pass.", False),
        ("tests/test_a.py", "tests/test_a.py fails, repair it.", False),
        ("tests/test_a.py", "Fix what tests/test_a.py shows.", False),
        ("tests/test_a.py", "With this change tests/test_a.py passes.", False),
        ("tests/test_a.py", "Remove the bug:\ntests/test_a.py::test_one FAILED", False),
        ("tests/test_a.py", "Update the parser, see tests/test_a.py:12.", False),
        ("tests/test_a.py", "In tests/test_a.py rename test_one to test_two.", True),
        ("Makefile", "The Makefile has a typo.", True),
        ("Makefile", "Makefiles are nice.", False),
    ],
)
def test_a_text_names_a_path_or_its_folder(path: str, text: str, named: bool) -> None:
    assert is_named(path, text) is named


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Make `test_refund` pass.", True),
        ("Make tests/test_a.py::test_refund[x] pass.", True),
        ("Make test_refund_twice pass.", False),
        ("Refunds fail.", False),
    ],
)
def test_a_text_names_a_test(text: str, named: bool) -> None:
    assert names_test(text, "tests/test_a.py::test_refund[x]") is named


@pytest.mark.parametrize(
    ("test", "named"),
    [
        ("router.test.js > matches > a trailing segment", False),
        ("pkg/router.TestSegment", True),
        ("router_test.RouterTest.segment", False),
        ("t/router.t > segment", False),
    ],
)
def test_the_last_word_of_a_title_names_no_test(test: str, named: bool) -> None:
    assert names_test("The last segment is lost. TestSegment shows it.", test) is named


def test_a_tests_id_says_which_file_it_is_in() -> None:
    assert is_in("tests/test_a.py::test_one", "tests/test_a.py")
    assert is_in("tests.test_a.Case.test_one", "tests/test_a.py")
    assert is_in("test_a.Case.test_one", "test_a.py")
    assert not is_in("tests/test_ab.py::test_one", "tests/test_a.py")
