"""Guesses a project's language and the command that runs its tests, from the names and texts of a few files."""

import json
import re
from collections.abc import Callable, Mapping

import msgspec

_MAKEFILES = ("Makefile", "makefile", "GNUmakefile")
READ = (*_MAKEFILES, "justfile", "package.json", "pyproject.toml", "composer.json", "requirements.txt", "tox.ini")
"""The files whose text decides, besides Python's tests; of all others the name is enough."""
TEST_FOLDERS = ("", "tests/", "test/")
"""Folders searched for Python tests, as prefixes of their names."""
_TARGET = re.compile(r"^test\s*:(?!=)", re.MULTILINE)
_RECIPE = re.compile(r"^test(?:\s[^:=]*)?:(?!=)", re.MULTILINE)
_NO_TEST = "no test specified"
_NODE = {"pnpm-lock.yaml": "pnpm test", "yarn.lock": "yarn test", "bun.lockb": "bun test", "bun.lock": "bun test"}
_PYTHON = ("pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "pytest.ini", "requirements.txt")

_UNITTEST = re.compile(r"^class \w+\([^)]*TestCase\b", re.MULTILINE)
_PYTEST = re.compile(r"^\s*(?:import|from) pytest\b|^(?:async )?def test", re.MULTILINE)

Files = Mapping[str, str]
"""The names in a project's directory, with the text of those in READ and of Python's tests."""


class Toolchain(msgspec.Struct, frozen=True):
    """A project's language and its test command; each may be empty."""

    language: str = ""
    test: str = ""


def toolchain_of(files: Files) -> Toolchain:
    """Return the language and the test command of a project; its own `make test` comes first."""
    for language, rule in _LANGUAGES.items():
        if (test := rule(files)) is not None:
            return Toolchain(language, _task_runner(files) or test)
    return Toolchain(test=_task_runner(files))


def _task_runner(files: Files) -> str:
    if any(_TARGET.search(files.get(name, "")) for name in _MAKEFILES):
        return "make test"
    return "just test" if _RECIPE.search(files.get("justfile", "")) else ""


def _python(files: Files) -> str | None:
    tests = [name for name in files if re.fullmatch(r"tests?|test_\w+\.py|\w+_test\.py|conftest\.py|pytest\.ini", name)]
    if not any(name in files for name in _PYTHON) and not any(
        name.endswith(".py") and "/" not in name for name in files
    ):
        return None
    if not tests and "pytest" not in files.get("pyproject.toml", ""):
        return ""
    runner = "uv run " if "uv.lock" in files else "poetry run " if "poetry.lock" in files else ""
    if words := _unittest(files):
        return f"{runner}python{'' if runner else '3'} -m {words}"
    return f"{runner or 'python3 -m '}pytest -q"


def is_python_test(name: str) -> bool:
    """Whether unittest or pytest takes a file for a test, by the end of its path."""
    return re.fullmatch(r"test\w*\.py|\w+_test\.py", name.rpartition("/")[2]) is not None


def _unittest(files: Files) -> str:
    """Return the words that run a project's tests by unittest; empty if they need pytest, or are not there."""
    tests = {name: text for name, text in files.items() if is_python_test(name)}
    wants_pytest = "conftest.py" in files or "tests/conftest.py" in files or "pytest.ini" in files
    if wants_pytest or any("pytest" in files.get(name, "") for name in READ) or not tests:
        return ""
    if any(_PYTEST.search(text) for text in tests.values()):
        return ""
    first = next((name for name, text in tests.items() if _UNITTEST.search(text)), "")
    if not first:
        return ""
    folder, slash, name = first.rpartition("/")
    where = f" -s {folder}" if slash and f"{folder}/__init__.py" not in files else ""
    pattern = "" if name.startswith("test") else " -p '*_test.py'"
    # With -v every test is named, so a test that vanishes is seen.
    return f"unittest discover -v{where}{pattern}" if where or pattern else "unittest -v"


def _node(files: Files) -> str | None:
    if "package.json" not in files:
        return None
    try:
        test = json.loads(files["package.json"])["scripts"]["test"]
    except (ValueError, KeyError, TypeError):
        return ""
    if not isinstance(test, str) or _NO_TEST in test:
        return ""
    return next((command for name, command in _NODE.items() if name in files), "npm test")


def _ruby(files: Files) -> str | None:
    if "Gemfile" not in files:
        return None
    return "bundle exec rspec" if "spec" in files else "bundle exec rake test" if "Rakefile" in files else ""


def _php(files: Files) -> str | None:
    if "composer.json" not in files:
        return None
    return "composer test" if '"test"' in files["composer.json"] else "vendor/bin/phpunit"


def _by_name(*rules: tuple[str, str]) -> Callable[[Files], str | None]:
    """Return a rule by the end of a file's name: its command, or None."""

    def rule(files: Files) -> str | None:
        return next((command for end, command in rules if any(name.endswith(end) for name in files)), None)

    return rule


_LANGUAGES: dict[str, Callable[[Files], str | None]] = {
    "Rust": _by_name(("Cargo.toml", "cargo test")),
    "Go": _by_name(("go.mod", "go test ./...")),
    "Java": _by_name(("mvnw", "./mvnw -q test"), ("pom.xml", "mvn -q test"), ("gradlew", "./gradlew test")),
    "Elixir": _by_name(("mix.exs", "mix test")),
    "Deno": _by_name(("deno.json", "deno test"), ("deno.jsonc", "deno test")),
    "Swift": _by_name(("Package.swift", "swift test")),
    ".NET": _by_name((".sln", "dotnet test"), (".csproj", "dotnet test")),
    "Ruby": _ruby,
    "PHP": _php,
    "Python": _python,
    "JavaScript": _node,
}
