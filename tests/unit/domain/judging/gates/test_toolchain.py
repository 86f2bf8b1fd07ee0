"""How a project's tests are found."""

import pytest

from spool.domain.judging.gates.toolchain import Toolchain, toolchain_of

CASE = "import unittest\n\n\nclass Shop(unittest.TestCase):\n    def test_total(self): ...\n"


@pytest.mark.parametrize(
    ("files", "language", "test"),
    [
        ({}, "", ""),
        ({"README.md": ""}, "", ""),
        ({"Makefile": "all:\n\ttrue\n\ntest: all\n\ttrue\n"}, "", "make test"),
        ({"Makefile": "test := x\nall:\n"}, "", ""),
        ({"justfile": "test *args:\n  pytest\n", "go.mod": ""}, "Go", "just test"),
        ({"Makefile": "test:\n", "package.json": "{}"}, "JavaScript", "make test"),
        ({"package.json": '{"scripts": {"test": "vitest"}}'}, "JavaScript", "npm test"),
        ({"package.json": '{"scripts": {"test": "vitest"}}', "pnpm-lock.yaml": ""}, "JavaScript", "pnpm test"),
        ({"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'}, "JavaScript", ""),
        ({"package.json": "not json"}, "JavaScript", ""),
        ({"package.json": '{"scripts": []}'}, "JavaScript", ""),
        ({"pyproject.toml": "", "tests": ""}, "Python", "python3 -m pytest -q"),
        ({"pyproject.toml": "[tool.pytest.ini_options]"}, "Python", "python3 -m pytest -q"),
        ({"pyproject.toml": "", "tests": "", "uv.lock": ""}, "Python", "uv run pytest -q"),
        ({"shop.py": "", "test_shop.py": ""}, "Python", "python3 -m pytest -q"),
        ({"shop.py": ""}, "Python", ""),
        ({"shop.py": "", "test_shop.py": CASE}, "Python", "python3 -m unittest -v"),
        ({"shop.py": "", "shop_test.py": CASE}, "Python", "python3 -m unittest discover -v -p '*_test.py'"),
        ({"a.py": "", "tests": "", "tests/test_a.py": CASE}, "Python", "python3 -m unittest discover -v -s tests"),
        (
            {"a.py": "", "tests": "", "tests/__init__.py": "", "tests/test_a.py": CASE, "uv.lock": ""},
            "Python",
            "uv run python -m unittest -v",
        ),
        ({"test_a.py": CASE, "requirements.txt": "pytest==8\n"}, "Python", "python3 -m pytest -q"),
        ({"test_a.py": CASE, "test_b.py": "def test_b(): pass\n"}, "Python", "python3 -m pytest -q"),
        ({"test_a.py": "from unittest import mock\n\ndef test_a(): pass\n"}, "Python", "python3 -m pytest -q"),
        ({"package.json": "{}", "tests": "", "tests/test_a.py": CASE}, "JavaScript", ""),
        ({"Cargo.toml": ""}, "Rust", "cargo test"),
        ({"go.mod": ""}, "Go", "go test ./..."),
        ({"pom.xml": ""}, "Java", "mvn -q test"),
        ({"build.gradle": "", "gradlew": ""}, "Java", "./gradlew test"),
        ({"Shop.sln": ""}, ".NET", "dotnet test"),
        ({"Gemfile": "", "spec": ""}, "Ruby", "bundle exec rspec"),
        ({"composer.json": '{"scripts": {"test": "x"}}'}, "PHP", "composer test"),
    ],
)
def test_languages_and_commands(files: dict[str, str], language: str, test: str) -> None:
    assert toolchain_of(files) == Toolchain(language, test)
