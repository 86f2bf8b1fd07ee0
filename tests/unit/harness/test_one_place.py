"""What Spool knows of an agent by name is in the agent's own file."""

import ast
from collections.abc import Iterator
from pathlib import Path

import spool
from spool.harness import registry

SOURCE = Path(spool.__file__).parent
DEFAULTS = {
    ("domain/loop/settings.py", "opencode"),
    ("cli/options/loop_options.py", "opencode"),
    ("cli/options/loop_options.py", "claude"),
    ("app/starting/worktree_start.py", "claude"),
    ("cli/options/loop_options.py", "claude"),
}
"""The agents that a front door starts without being asked for one."""
OTHERS_FILES = {("host/state/loop_files.py", ".claude")}
"""Where other tools look for the state of a worktree loop."""


def words_in(path: Path) -> Iterator[str]:
    """Yield the strings of a module, without its documentation."""
    tree = ast.parse(path.read_text("utf-8"))
    said = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in said:
            yield node.value


def test_no_other_module_knows_an_agent_by_name() -> None:
    named = {
        (str(path.relative_to(SOURCE)), word)
        for path in SOURCE.rglob("*.py")
        if path.parent != SOURCE / "harness"
        for word in words_in(path)
        if word.strip("./*") in registry.AGENTS
    }
    assert named - DEFAULTS - OTHERS_FILES == set()


def test_each_agent_has_one_file_and_one_word_in_the_registry() -> None:
    for name in registry.BUILT_IN:
        harness = registry.find(name, {})
        assert (harness.name, harness.traits.program) == (name, name)
    (registered,) = (line for line in (SOURCE / "harness/registry.py").read_text().splitlines() if '"claude"' in line)
    assert registered.startswith("BUILT_IN = ")
