"""Finds the files that decide about a project's tests: the tests themselves, their configuration and runners."""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

_TEST_FOLDERS = {"test", "tests", "testing", "__tests__", "__mocks__", "spec", "specs", "e2e", "t", "xt", "cypress"}
_SETTINGS_FOLDERS = {".github", ".circleci", ".gitlab", "ci", ".ci", ".cargo", ".config"}
_DATA_FOLDERS = {
    "testdata",
    "test-data",
    "test_data",
    "fixtures",
    "__fixtures__",
    "snapshots",
    "__snapshots__",
    "golden",
    "goldens",
}
"""Folders of expected data; a source file in one of them counts as source."""
_SCRIPT_FOLDERS = {"scripts", "script", "tools", "tool", "hack", "dev", "ops", "build", "make", "mk"}
_SOURCE = (
    ".py", ".pyi", ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".go", ".rs", ".java", ".kt", ".scala", ".rb",
    ".php", ".c", ".h", ".cc", ".cpp", ".hpp", ".cs", ".swift", ".ex", ".exs", ".vue", ".svelte",
)  # fmt: skip
_TESTS = (
    "test_*", "test-*", "*_test.*", "*_tests.*", "*-test.*", "*-tests.*", "*.test.*", "*.tests.*", "*.spec.*",
    "*_spec.*", "*-spec.*", "test.*", "tests.*", "*Test.*", "*Tests.*", "Test*.java", "*TestCase.java", "*IT.java",
    "*Spec.scala", "*Spec.groovy", "*Spec.kt", "*Spec.hs", "*.t", "*.bats", "*.feature", "*.robot", "*.snap",
    "testutil*", "testlib*", "testkit*", "testhelper*",
)  # fmt: skip
_SETTINGS = (
    # what configures and runs tests
    "conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "tox.toml", "setup.cfg",
    "pyproject.toml", "noxfile.py", ".coveragerc", "manage.py", "runtests*", "run_tests*", "run-tests*",
    "package.json", "jest.*", "jest-*", "vitest.*", "vitest-*", "vite.config.*", "setup-tests*", "setup-jest*",
    "karma.*", ".mocharc*", "ava.config.*", "playwright.config.*", "cypress.json", "wdio.*", ".taprc", ".nycrc*",
    ".c8rc*", ".swcrc", ".babelrc*", "babel.config.*", "tsconfig*.json", "deno.json*", "bunfig.toml", "nx.json",
    "turbo.json", "Makefile*", "makefile", "GNUmakefile", "*.mk", "*.make", "justfile", "Justfile", ".justfile",
    "Taskfile.y*ml", "Rakefile", ".rspec", "mix.exs", "build.gradle*", "settings.gradle*", "gradle.properties",
    "build.sbt", "pom.xml", "phpunit*.xml*", "Cargo.toml", "nextest.toml", "go.mod", "go.work", "CMakeLists.txt",
    "meson.build", "BUILD", "BUILD.bazel", ".bazelrc", ".gitlab-ci.yml", "Jenkinsfile", "azure-pipelines.yml",
    ".travis.yml", ".pre-commit-config.yaml", ".envrc", ".npmrc", ".python-version", ".tool-versions", "mise.toml",
    ".mise.toml", ".nvmrc", "composer.json", "*.cmake", "*.gradle", "*.rake", "*.bzl", "dodo.py", "gulpfile.*",
    "Gruntfile.*", ".yarnrc.yml", "angular.json",
    # what tells linters and type checkers what to overlook
    "ruff.toml", ".ruff.toml", "mypy.ini", ".mypy.ini", ".flake8", ".pylintrc", "pylintrc", "pyrightconfig.json",
    ".importlinter", ".eslintrc*", "eslint.config.*", ".eslintignore", "biome.json*", ".prettierrc*",
    "prettier.config.*", ".prettierignore", ".stylelintrc*", ".golangci.*", "clippy.toml", ".clippy.toml",
    "rustfmt.toml", ".rustfmt.toml", ".rubocop*.yml", ".shellcheckrc", ".markdownlint*", ".yamllint*",
    ".clang-tidy", ".clang-format", "phpstan*", "*.pth", ".isort.cfg", ".oxlintrc.json", "typos.toml",
)  # fmt: skip
_SHADOWING = (
    "sitecustomize.py", "usercustomize.py", "pytest.py", "_pytest*", "pluggy*", "iniconfig*", "exceptiongroup*",
    "unittest.py", "unittest", "nose*.py", "argparse.py", "difflib.py", "traceback.py", "inspect.py", "doctest.py",
)  # fmt: skip
"""Modules that take a test runner's place, if they stand where imports are looked for first."""
_IMPORT_ROOTS = ("src/", "lib/", "")
_METADATA = (".dist-info", ".egg-info")
"""pytest loads the plugins that a package's metadata names, wherever the path of modules finds it."""
_CACHES = (
    "__pycache__", "*.pyc", ".*cache", ".*_cache", ".tox", ".nox", ".coverage*", "htmlcov", ".hypothesis",
    "node_modules", ".venv", "venv", ".eggs", ".DS_Store", ".idea", ".vscode", "*.log", "target", "coverage",
    ".spool",
)  # fmt: skip
_SENTENCE = re.compile(r"[.;:!?](?=\s|$)|\n")
_CHANGING = re.compile(
    r"\b(?:remov|delet|drop|renam|mov(?:e|ing)|rewrit|replac|chang|edit|updat|migrat|port(?:ing)?\b|fix|refactor|restructur|"
    r"reorganis|reorganiz|split|merg|clean|adapt|adjust|convert)",
    re.IGNORECASE,
)
_REWRITING = re.compile(
    r"(?<!\bthe )(?<!\bthis )(?<!\ba )(?<!\byour )\b(?:remov|delet|drop|renam|mov(?:e|ing)\b|rewrit|replac|chang|"
    r"edit|updat|migrat|refactor|restructur|reorgani[sz]|split|merg|adapt|adjust|convert)",
    re.IGNORECASE,
)
"""Of those, what says so about a test: "fix test_a.py" may mean what it tests, and "this change" is a noun."""
_TEST_FILE = re.compile(r"(?P<path>[^\s:][^:\n]*?\.\w+)(?:::(?P<name>[^\[]*)| > )")


def decides(path: str) -> bool:
    """Whether a file is a test or decides about tests, by its name."""
    return is_test(path) or is_setting(path)


def is_test(path: str) -> bool:
    """Whether a file is a test, or what a test needs or expects, by its name."""
    *folders, name = path.split("/")
    inside = {folder.lower() for folder in folders}
    data = inside & _DATA_FOLDERS and not name.endswith(_SOURCE)
    return bool(inside & _TEST_FOLDERS or data) or _fits(path, _TESTS)


def is_setting(path: str) -> bool:
    """Whether a file chooses, configures or runs tests, by its name."""
    *folders, _ = path.split("/")
    if any(folder.lower() in _SETTINGS_FOLDERS or folder.endswith(_METADATA) for folder in folders):
        return True
    return "__pycache__" in folders or _fits(path, _SETTINGS) or _shadows(path)


def _shadows(path: str) -> bool:
    """Whether a file takes a test runner's place when it is imported: at an import root, not inside a package."""
    root = next(root for root in _IMPORT_ROOTS if path.startswith(root))
    return any(fnmatchcase(path.removeprefix(root).split("/")[0], pattern) for pattern in _SHADOWING)


def _fits(path: str, patterns: Iterable[str]) -> bool:
    *folders, name = path.split("/")
    return any(fnmatchcase(part, pattern) for part in (*folders[:1], name) for pattern in patterns)


def may_be_script(path: str) -> bool:
    """Whether a file is where projects keep the scripts that their settings run."""
    return any(folder.lower() in _SCRIPT_FOLDERS for folder in path.split("/")[:-1])


def is_cache(path: str, more: Iterable[str] = ()) -> bool:
    """Whether an ignored path is one that test runners and tools leave everywhere; `more` are other patterns."""
    return any(fnmatchcase(part, pattern) for part in path.strip("/").split("/") for pattern in (*_CACHES, *more))


def test_file(test: str) -> str:
    """Return the file that a test's id places it in; empty if it names none, or if it is a source file's doctest."""
    found = _TEST_FILE.match(test)
    if found is None:
        return ""
    path, name = found["path"], found["name"] or ""
    stem = path.rpartition("/")[2].partition(".")[0]
    return "" if "." in name or name == stem else path


def is_named(path: str, text: str) -> bool:
    """Whether a text says to change a path, or one of its folders, with a slash at its end.

    "Put the tests under tests/" says where new ones belong, "test_router.py fails" where to look, and
    `test_router.py::test_add` or `test_router.py:12` is quoted from a log: none of them allows anything. A file that is
    not a test may be named in any way.
    """
    parts = path.split("/")
    folders = ["/".join(parts[:count]) + "/" for count in range(1, len(parts))]
    sentences = _SENTENCE.split(text)
    said = [one for one in sentences if _REWRITING.search(one)] if is_test(path) else [text]
    changed = [one for one in sentences if _CHANGING.search(one)]
    return any(_stands_in(path, one) for one in said) or any(
        _stands_in(name, one) for name in folders for one in changed
    )


def _stands_in(name: str, text: str) -> bool:
    """Whether a name stands in a text by itself, not as a part of a longer path or before a place in it."""
    start = r"(?<![\w/.-])(?:\./)?"
    end = r"(?![\w-])(?!\.\w)" if name.endswith("/") else r"(?![\w/-])(?!\.\w)(?!::|:\d)"
    return re.search(start + re.escape(name) + end, text) is not None


def names_test(text: str, test: str) -> bool:
    """Whether a text names a test: by its whole id, or by its function, which is one word in the form of code."""
    name = re.split(r"::|\.| > ", test.partition("[")[0])[-1]
    is_function = re.fullmatch(r"\w*(?:_|[a-z][A-Z])\w*", name) is not None
    return _stands_in(test, text) or (is_function and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None)


def test_is_in(test: str, path: str) -> bool:
    """Whether a test's id places it in a file: by path, or as a dotted module."""
    if test.startswith((f"{path}::", f"{path} ", f"{path}:")) or test == path:
        return True
    stem = path.rpartition(".")[0].replace("/", ".")
    return bool(stem) and (f".{test}." == f".{stem}." or test.startswith(f"{stem}.") or f".{stem}." in f".{test}.")
