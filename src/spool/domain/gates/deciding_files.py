"""Which files decide about a project's tests: the tests themselves, and what chooses, configures or runs them."""

import re
import shlex
from collections.abc import Iterable
from fnmatch import fnmatchcase

_FOLDERS = {"test", "tests", "testing", "__tests__", "spec", "specs", "e2e", ".github", ".circleci", ".gitlab", "ci"}
_NAMES = (
    # tests
    "test_*", "*_test.*", "*_tests.*", "*.test.*", "*.spec.*", "*_spec.*", "test.*", "tests.*", "*Test.java",
    "*Tests.java", "*Test.kt",
    # what configures and runs them
    "conftest.py", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml", "noxfile.py", ".coveragerc",
    "manage.py", "runtests.*", "package.json", "jest.*", "vitest.*", "vite.config.*", "karma.*", ".mocharc*",
    "babel.config.*", "tsconfig*.json", "deno.json*", "bunfig.toml", "Makefile", "makefile", "GNUmakefile", "*.mk",
    "justfile", "Justfile", "Taskfile.y*ml", "Rakefile", "build.gradle*", "pom.xml", "Cargo.toml", "go.mod",
    "CMakeLists.txt", "meson.build", ".gitlab-ci.yml", "Jenkinsfile", "azure-pipelines.yml", ".travis.yml",
    ".pre-commit-config.yaml", ".envrc", ".npmrc",
    # what takes a test runner's place when it is imported
    "sitecustomize.py", "usercustomize.py", "*.pth", "pytest.py", "_pytest*", "pluggy*", "unittest.py", "unittest",
    "nose*.py",
)  # fmt: skip
_CACHES = (
    "__pycache__", "*.pyc", ".*cache", ".*_cache", ".tox", ".nox", ".coverage*", "htmlcov", ".hypothesis", ".spool",
    "node_modules", ".venv", "venv", ".eggs", "*.egg-info", ".DS_Store", ".idea", ".vscode", "*.log",
)  # fmt: skip
_SCRIPT = re.compile(r"[\w.@+-]+(?:/[\w.@+-]+)*")


def decides(path: str, commands: Iterable[str] = ()) -> bool:
    """Whether a file is a test or decides about tests; a file that a gate's command names does."""
    *folders, name = path.split("/")
    if any(folder.lower() in _FOLDERS for folder in folders):
        return True
    if any(fnmatchcase(part, pattern) for part in (*folders[:1], name) for pattern in _NAMES):
        return True
    return any(path in words_of(command) for command in commands)


def is_cache(path: str) -> bool:
    """Whether an ignored path is one that test runners and tools leave everywhere."""
    return any(fnmatchcase(part, pattern) for part in path.strip("/").split("/") for pattern in _CACHES)


def words_of(command: str) -> set[str]:
    """Return the words of a command that may be paths, relative to the project."""
    try:
        words = shlex.split(command, comments=True)
    except ValueError:  # an open quote: the shell will say so
        words = command.split()
    return {word.removeprefix("./") for word in words if _SCRIPT.fullmatch(word.removeprefix("./"))}


def is_named(path: str, text: str) -> bool:
    """Whether a text names a path, or one of its folders with a slash at its end."""
    parts = path.split("/")
    folders = ["/".join(parts[:count]) + "/" for count in range(1, len(parts))]
    return any(_stands_in(name, text) for name in (path, *folders))


def _stands_in(name: str, text: str) -> bool:
    """Whether a name stands in a text by itself, not as a part of a longer path."""
    start = r"(?<![\w/.-])(?:\./)?"
    end = r"(?![\w/-])(?!\.\w)" if not name.endswith("/") else r"(?![\w.-])"
    return re.search(start + re.escape(name) + end, text) is not None


def test_is_in(test: str, path: str) -> bool:
    """Whether a test's id places it in a file: by path, or as a dotted module."""
    if test.startswith((f"{path}::", f"{path} ", f"{path}:")) or test == path:
        return True
    stem = path.rpartition(".")[0].replace("/", ".")
    return bool(stem) and (f".{test}." == f".{stem}." or test.startswith(f"{stem}.") or f".{stem}." in f".{test}.")
