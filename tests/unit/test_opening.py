"""Files are opened in one place: without waiting, by type, bounded. No module opens them another way."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "spool"
READING_AND_WRITING = {"read_text", "read_bytes", "write_text", "write_bytes"}
OPENING = {("os", "open"), ("io", "open"), ("os", "mkfifo"), ("shutil", "copyfile")}
MODES = {first + more for first in "rwax" for more in ("", "b", "+", "b+", "+b", "t")}

ALLOWED = {
    "nofollow.py": "the one place",
    "host/state/files.py": "a temporary file in a folder's descriptor, and the descriptor of an opened file",
    "host/external_command.py": "a temporary file's descriptor",
    "app/loops/log_files.py": "the descriptor of an opened file",
    "app/loops/following.py": "the descriptor of an opened file",
    "app/loops/given_file.py": "a descriptor that the user's shell has opened, by its name",
    "cli/commands/watch/report.py": "the person names the file to write now",
    "cli/commands/check/checkpoint.py": "the person names the file to write now",
    "cli/edge.py": "/dev/null",
    "app/observing/observers.py": "/dev/null",
    "host/agents/supervisor.py": "/dev/null",
    "host/agents/control_group.py": "/dev/null, and what the kernel shows of control groups",
    "host/agents/memory.py": "/proc",
    "host/agents/pid_namespace.py": "/proc",
    "host/agents/sweep.py": "/proc",
    "host/runner/identity.py": "/proc",
    "host/git/checkpoints/record/mounts.py": "/proc",
    "host/git/checkpoints/record/open_files.py": "/proc",
    "host/git/checkpoints/record/quick_check.py": "a folder, by O_DIRECTORY",
    "host/git/checkpoints/record/ignored.py": "a new file, by O_EXCL",
    "host/git/checkpoints/restore/tree.py": "makes a pipe that was there before, and opens none",
    "host/git/checkpoints/restore/displaced_files.py": "makes a pipe that was there before, and opens none",
    "host/gates/recorded_trees.py": "a new file in a private checkout that was made just now",
    "app/machine/agents.py": "a new file in a temporary folder",
    "app/machine/demo_repository.py": "a new file in a new folder",
    "app/machine/extras.py": "the package's own metadata",
    "testing/player.py": "the scripted agent: it plays what an agent does to files",
    "reporters/python/spool_pytest_results.py": "runs in the user's Python, without Spool",
}


def others(source: str) -> Iterator[str]:
    """Yield the calls in a module that open a file."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in READING_AND_WRITING:
            yield f"{node.lineno}: {ast.unparse(node)}"
        if not isinstance(node, ast.Call):
            continue
        match node.func:
            case ast.Name("open"):
                yield f"{node.lineno}: {ast.unparse(node)}"
            case ast.Attribute(ast.Name(module), name) if (module, name) in OPENING:
                yield f"{node.lineno}: {ast.unparse(node)}"
            case ast.Attribute(_, "open") if any(word.arg in ("encoding", "mode") for word in node.keywords) or (
                node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value in MODES
            ):
                yield f"{node.lineno}: {ast.unparse(node)}"


def test_files_are_opened_in_one_place() -> None:
    found = {str(path.relative_to(SOURCE)): list(others(path.read_text())) for path in SOURCE.rglob("*.py")}
    opening = {name: calls for name, calls in found.items() if calls}
    assert {name: calls for name, calls in opening.items() if name not in ALLOWED} == {}
    assert set(ALLOWED) - set(opening) == set(), "listed, but opens nothing"


def test_other_ways_to_open_a_file_are_found() -> None:
    ways = (
        'open("x")',
        'os.open("x", 0)',
        'Path("x").read_text()',
        "p.read_bytes()",
        'p.write_text("")',
        'p.write_bytes(b"")',
        'p.open("rb")',
        'p.open(mode="w")',
        'p.open(encoding="utf-8")',
        'io.open("x")',
        "map(Path.read_bytes, paths)",
    )
    assert [way for way in ways if not list(others(way))] == []
    assert list(others("keeper.open(base, left); log.open(); webbrowser.open(url)")) == []
