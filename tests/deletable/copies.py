"""Copies of the project without one of its parts.

A part is every folder of its name below src, tests and bench, and one line of what remains of src.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

PARTS = ("web", "fleet", "telemetry")
TOP = Path(__file__).parents[2]
CODE = ("src", "tests", "bench")
OUTSIDE = shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".*_cache", ".hypothesis", "build", "dist", "site")
"""What a copy does without."""


def copy_without(part: str, place: Path) -> list[str]:
    """Copy the project without a part to a new folder; return what was removed, the registration last."""
    shutil.copytree(TOP, place, ignore=OUTSIDE, symlinks=True)
    folders = [path for code in CODE for path in sorted((place / code).rglob(part)) if path.is_dir()]
    for folder in folders:
        shutil.rmtree(folder)
    return [*(str(folder.relative_to(place)) for folder in folders), _unregister(part, place)]


def _unregister(part: str, place: Path) -> str:
    """Remove the line that registers a part; there must be exactly one."""
    registers = re.compile(rf'^ *(?:Capability\("{part}",|"spool\.[\w.]+\.{part}\.\w+:\w+",).*\n', re.MULTILINE)
    found = [(path, line) for path in (place / "src").rglob("*.py") for line in registers.findall(path.read_text())]
    ((path, line),) = found
    path.write_text(path.read_text().replace(line, ""))
    return f"{path.relative_to(place)}: {line.strip()}"


def add_environment(place: Path) -> None:
    """Give a copy a `.venv` with the packages of this one, and with its own Spool."""
    environment = place / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    packages = Path(sysconfig.get_path("purelib"))
    own = environment / packages.relative_to(sys.prefix) / "spool.pth"
    own.write_text(
        f"{place / 'src'}\n{packages}\n"
    )  # the .pth files of these packages, Spool's among them, are not read
    for program in (Path(sys.prefix) / "bin").iterdir():
        if not (environment / "bin" / program.name).exists():
            _copy_program(program, environment / "bin" / program.name)
    (environment / ".ready").touch()


def _copy_program(program: Path, copy: Path) -> None:
    shebang = os.fsencode(f"#!{sys.prefix}/bin/python")
    content = program.read_bytes()
    if not content.startswith(shebang):
        copy.symlink_to(program)
        return
    copy.write_bytes(content.replace(os.fsencode(sys.prefix), os.fsencode(copy.parents[1]), 1))
    copy.chmod(0o755)
