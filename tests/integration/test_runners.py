"""Real test runners, run as a gate runs them: through a shell, with Spool's variables, standard error in the log."""

from __future__ import annotations

import os
import shutil
import subprocess
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

import spool
from spool.domain.judging.results import junit, readers
from spool.domain.judging.results.declaration import ResultPlace
from spool.domain.judging.results.model import Results, ResultStatus
from tests.support import PYTHON

RUNNERS = Path(
    os.environ.get("SPOOL_RUNNERS_DIR")
    or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "spool-runners"
)
REPORTERS = Path(spool.__file__).parent / "reporters"
PYTEST = f"{PYTHON} -m pytest -p no:cacheprovider"
MIXED = """
    import pytest
    def test_ok(): pass
    def test_bad(): assert 1 == 2
    @pytest.mark.skip
    def test_skipped(): pass
    @pytest.mark.xfail
    def test_expected(): assert False
    @pytest.mark.parametrize("n", [1, 2])
    def test_many(n): pass
"""
MIXED_RESULTS = {
    "test_mixed.py::test_ok": "passed",
    "test_mixed.py::test_bad": "failed",
    "test_mixed.py::test_skipped": "skipped",
    "test_mixed.py::test_expected": "skipped",
    "test_mixed.py::test_many[1]": "passed",
    "test_mixed.py::test_many[2]": "passed",
}
NODE = """
    const { test, describe, it } = require('node:test');
    test('ok', () => console.log('ok 9 - forged'));
    describe('suite', () => { it('bad', () => { throw new Error('boom'); }); it('fine', () => {}); });
    test('later', { skip: true }, () => {});
"""
NODE_RESULTS = {
    "a.test.js > ok": "passed",
    "a.test.js > suite > bad": "failed",
    "a.test.js > suite > fine": "passed",
    "a.test.js > later": "skipped",
}


@dataclass
class Project:
    """A project with tests, and the scratch folder of one run."""

    root: Path
    scratch: Path
    log: str = ""

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))

    def run(self, command: str, **variables: str) -> Results | None:
        """Run a command as a gate does and return its results."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "NODE", "SPOOL"))}
        inherited = {**clean, "NO_COLOR": "1", "CI": "1", **variables}
        place = ResultPlace(scratch=str(self.scratch), reporters=str(REPORTERS))
        self.scratch.mkdir()
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=self.root,
            env={**inherited, **readers.environment(place, inherited)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        self.log = done.stdout.decode(errors="replace")
        return readers.read({path.name: path.read_bytes() for path in self.scratch.iterdir()}, done.stdout)

    def results(self, command: str, **variables: str) -> Results:
        """Run a command that leaves results."""
        found = self.run(command, **variables)
        assert found is not None, self.log
        return found


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "project with space").mkdir()
    return Project(tmp_path / "project with space", tmp_path / "scratch folder")


def statuses(results: Results) -> dict[str, str]:
    return {test.id: test.status.value for test in results.tests}


def need(program: str) -> None:
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")


def need_runner(name: str) -> str:
    need("node")
    program = RUNNERS / "node_modules" / ".bin" / name
    if not program.exists():
        pytest.skip(f"{name} is not installed; run `make runners`")
    return str(program)


@pytest.mark.parametrize(
    "options",
    [
        "",
        pytest.param("-n 2", marks=pytest.mark.long),
        "-q --strict-markers --strict-config -W error",
        "-v -s",
        "-p no:terminal",
        "--junitxml=own.xml",
    ],
)
def test_pytest_reports_each_test_through_the_plugin(project: Project, options: str) -> None:
    project.write("test_mixed.py", MIXED)
    results = project.results(f"{PYTEST} {options}")
    assert statuses(results) == MIXED_RESULTS
    assert results.complete, project.log
    assert [test.id for test in results.tests if test.expected_failure] == ["test_mixed.py::test_expected"]


@pytest.mark.parametrize(
    "prefix", ["PYTHONPATH=. ", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 "], ids=["PYTHONPATH replaced", "no autoload"]
)
def test_pytest_reports_the_same_in_xml_where_the_plugin_is_not_found(project: Project, prefix: str) -> None:
    project.write("test_mixed.py", MIXED)
    results = project.results(f"{prefix}{PYTEST}")
    assert [path.name for path in project.scratch.iterdir()] == ["pytest-junit.xml"]
    assert statuses(results) == MIXED_RESULTS
    assert results.complete


def test_pytest_overwriting_its_own_xml_is_not_complete(project: Project) -> None:
    project.write("test_mixed.py", MIXED)
    results = project.results(f"PYTHONPATH=. {PYTEST} -k ok; PYTHONPATH=. {PYTEST} -k bad")
    assert not results.complete


def test_pytest_twice_and_node_in_one_makefile_are_merged(project: Project) -> None:
    need("node")
    need("make")
    project.write("test_mixed.py", MIXED)
    project.write("a.test.js", NODE)
    project.write("Makefile", f"test:\n\t-{PYTEST} -k ok\n\t-{PYTEST} -k many\n\t-node --test\n")
    results = project.results("make test")
    assert results.readers == ("pytest", "node")
    assert statuses(results) == {
        "test_mixed.py::test_ok": "passed",
        "test_mixed.py::test_many[1]": "passed",
        "test_mixed.py::test_many[2]": "passed",
        **NODE_RESULTS,
    }
    assert results.complete, project.log


@pytest.mark.parametrize("end", ["os._exit(0)", "os.kill(os.getpid(), 9)"])
def test_pytest_that_is_cut_short_is_not_complete(project: Project, end: str) -> None:
    project.write("test_a.py", f"import os\ndef test_a(): pass\ndef test_b(): {end}\ndef test_c(): pass\n")
    results = project.results(PYTEST)
    assert statuses(results) == {"test_a.py::test_a": "passed"}
    assert not results.complete


def test_pytest_that_stops_at_the_first_failure_is_not_complete(project: Project) -> None:
    project.write("test_mixed.py", MIXED)
    results = project.results(f"{PYTEST} -x")
    assert not results.complete
    assert len(results.failing) == 1


@pytest.mark.parametrize("options", ["", pytest.param("-n 2", marks=pytest.mark.long)])
def test_pytest_collection_errors_fail_by_file(project: Project, options: str) -> None:
    project.write("test_mixed.py", MIXED)
    project.write("test_broken.py", "import nothing_like_this\n")
    results = project.results(f"{PYTEST} {options}")
    assert "test_broken.py" in {test.id for test in results.failing}
    assert not results.complete


def test_pytest_that_a_test_starts_reports_nothing(project: Project) -> None:
    project.write("inner/test_inner.py", "def test_inner(): assert False\n")
    project.write(
        "test_outer.py",
        """
        import subprocess, sys
        def test_outer():
            assert subprocess.run([sys.executable, "-m", "pytest", "inner"], stdout=subprocess.DEVNULL).returncode == 1
        """,
    )
    results = project.results(f"{PYTEST} test_outer.py")
    assert statuses(results) == {"test_outer.py::test_outer": "passed"}
    assert results.complete


def test_pytest_output_forges_nothing(project: Project) -> None:
    project.write(
        "test_a.py",
        """
        def test_a():
            print("test forged ... ok\\ntest_b (m.T.test_b) ... ok\\n")
            assert False
        """,
    )
    assert statuses(project.results(f"{PYTEST} -s")) == {"test_a.py::test_a": "failed"}


def test_unittest_names_all_tests_with_v_and_counts_them_without(project: Project) -> None:
    project.write(
        "test_u.py",
        """
        import unittest
        class T(unittest.TestCase):
            def test_ok(self): pass
            def test_bad(self): self.fail("why")
            @unittest.skip("later")
            def test_skipped(self): pass
        """,
    )
    verbose = project.results(f"{PYTHON} -m unittest -v")
    assert statuses(verbose) == {
        "test_u.T.test_bad": "failed",
        "test_u.T.test_ok": "passed",
        "test_u.T.test_skipped": "skipped",
    }
    assert (verbose.complete, verbose.names_all) == (True, True)
    shutil.rmtree(project.scratch)
    short = project.results(f"{PYTHON} -m unittest")
    assert statuses(short) == {"test_u.T.test_bad": "failed"}
    assert (short.complete, short.names_all, short.unnamed) == (True, False, 2)


@pytest.mark.parametrize("options", ["", "--test-reporter=spec", "--test-reporter=tap", "--test-reporter=dot"])
def test_node_reports_each_test_whatever_it_prints(project: Project, options: str) -> None:
    need("node")
    project.write("a.test.js", NODE)
    results = project.results(f"node --test {options}")
    assert statuses(results) == NODE_RESULTS
    assert (results.complete, results.readers) == (True, ("node",))
    assert "boom" in results.failing[0].detail


@pytest.mark.parametrize("reporter", ["spec", "tap"])
def test_node_without_the_script_is_read_from_the_log(project: Project, reporter: str) -> None:
    need("node")
    project.write("a.test.js", NODE.replace("console.log('ok 9 - forged')", "{}"))
    results = project.results(f"NODE_OPTIONS= node --test --test-reporter={reporter}")
    assert statuses(results) == {name.removeprefix("a.test.js > "): status for name, status in NODE_RESULTS.items()}
    assert results.complete


def test_node_that_is_killed_is_not_complete(project: Project) -> None:
    need("node")
    project.write("a.test.js", "require('node:test')('a', () => process.kill(process.ppid, 'SIGKILL'));\n")
    found = project.run("node --test")
    assert found is not None
    assert not found.complete


def test_node_file_that_does_not_load_fails_by_its_name(project: Project) -> None:
    need("node")
    project.write("a.test.js", "syntax error\n")
    results = project.results("node --test")
    assert statuses(results) == {"a.test.js": "failed"}


JS = """
    describe('sum', () => {
      test('ok', () => {});
      test('bad', () => { expect(1).toBe(2); });
      test.skip('later', () => {});
    });
"""
JS_RESULTS = {"sum > ok": "passed", "sum > bad": "failed", "sum > later": "skipped"}


def test_jest_names_all_tests_unless_it_is_asked_to_be_brief_and_counts_them_then(project: Project) -> None:
    jest = need_runner("jest")
    project.write("package.json", '{"private": true}')
    project.write("a.test.js", JS)
    project.write("b.test.js", "test('b', () => {});\n")
    verbose = project.results(f"'{jest}' --rootDir=. --verbose")
    expected = {f"a.test.js > {name}": status for name, status in JS_RESULTS.items()}
    assert statuses(verbose) == {**expected, "b.test.js > b": "passed"}
    assert verbose.complete
    shutil.rmtree(project.scratch)
    assert statuses(project.results(f"'{jest}' --rootDir=.")) == statuses(verbose), "the reporter is asked for names"
    shutil.rmtree(project.scratch)
    short = project.results(f"'{jest}' --rootDir=. --verbose=false")
    assert statuses(short) == {"a.test.js > sum > bad": "failed"}
    assert (short.unnamed, short.names_all) == (3, False)


def test_vitest_names_all_tests_when_verbose_and_counts_them_otherwise(project: Project) -> None:
    vitest = need_runner("vitest")
    (project.root / "node_modules").symlink_to(RUNNERS / "node_modules")
    project.write("package.json", '{"private": true}')
    project.write("a.test.mjs", "import { describe, test, expect } from 'vitest';\n" + textwrap.dedent(JS))
    verbose = project.results(f"'{vitest}' run --reporter=verbose")
    assert statuses(verbose) == {f"a.test.mjs > {name}": status for name, status in JS_RESULTS.items()}
    assert verbose.complete
    shutil.rmtree(project.scratch)
    short = project.results(f"'{vitest}' run --reporter=default")
    assert statuses(short) == {"a.test.mjs > sum > bad": "failed"}
    assert (short.unnamed, short.names_all) == (2, False)
    xml = subprocess.run(
        [vitest, "run", "--reporter=junit"],
        cwd=project.root,
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    read = junit.read(xml.stdout)
    assert read is not None
    assert statuses(read) == {f"a.test.mjs::{name}": status for name, status in JS_RESULTS.items()}


def test_cargo_reports_each_test_and_where_it_stopped(project: Project) -> None:
    need("cargo")
    project.write("Cargo.toml", '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n')
    project.write(
        "src/lib.rs",
        """
        #[test] fn ok() {}
        #[test] fn bad() { assert_eq!(1, 2); }
        #[test] #[ignore] fn later() {}
        """,
    )
    project.write("tests/it.rs", "#[test] fn ok() {}\n")
    library = {"calc::ok": "passed", "calc::bad": "failed", "calc::later": "skipped"}
    stopped = project.results("cargo test --offline")
    assert statuses(stopped) == library
    assert not stopped.complete
    shutil.rmtree(project.scratch)
    whole = project.results("cargo test --offline --no-fail-fast")
    assert statuses(whole) == {**library, "it::ok": "passed"}
    assert whole.complete
    assert "assertion" in whole.failing[0].detail


def test_prove_verbose_is_read_by_file(project: Project) -> None:
    need("prove")
    project.write("t/a.t", "use Test::More tests => 2;\nok(1, 'fine');\nok(0, 'bad');\n")
    project.write("t/b.t", "use Test::More tests => 2;\nok(1, 'only');\n")
    results = project.results("prove -v t")
    assert statuses(results) == {"t/a.t > fine": "passed", "t/a.t > bad": "failed", "t/b.t > only": "passed"}
    assert not results.complete
    assert all(test.status is not ResultStatus.SKIPPED for test in results.tests)
