"""The plugin that runs in the user's own interpreter."""

from __future__ import annotations

import ast
from pathlib import Path

import spool

SOURCE = Path(spool.__file__).parent / "reporters" / "python" / "spool_pytest_results.py"
TREE = ast.parse(SOURCE.read_text())


def test_it_imports_nothing_but_pytest_and_the_standard_library() -> None:
    names = {alias.name for node in ast.walk(TREE) if isinstance(node, ast.Import) for alias in node.names}
    assert names == {"json", "os", "time", "pytest"}
    assert not [node for node in ast.walk(TREE) if isinstance(node, ast.ImportFrom)]


def test_it_has_no_syntax_that_old_interpreters_reject() -> None:
    newer = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.AsyncFunctionDef, ast.Match)
    assert not [node for node in ast.walk(TREE) if isinstance(node, newer)]
    functions = [node for node in ast.walk(TREE) if isinstance(node, ast.FunctionDef)]
    assert not [node.name for node in functions if node.returns or any(one.annotation for one in node.args.args)]
