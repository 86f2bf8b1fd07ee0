"""A person's Python: pytest and nothing else.

This project's own has plugins that each `pytest` of a gate would load as well: 0.9 s of processor time instead of 0.2.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

_NEEDED = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")


@cache
def plain_python() -> Path:
    """Return the folder of `python`, `pytest` and `ruff` in a virtual environment, made once per process."""
    top = _kept() / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(top)], check=True)
    [packages] = top.glob("lib/python*/site-packages")
    for name in _NEEDED:
        for part in {file.parts[0] for file in distribution(name).files or () if file.parts[0] != ".."}:
            (packages / part).symlink_to(str(distribution(name).locate_file(part)))
    command = top / "bin" / "pytest"
    command.write_text(
        f"#!{top / 'bin' / 'python'}\nimport sys\nfrom pytest import console_main\nsys.exit(console_main())\n"
    )
    command.chmod(0o755)
    (top / "bin" / "ruff").symlink_to(Path(sys.executable).with_name("ruff"))
    return top / "bin"


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="spool-tests-")


def _kept() -> Path:
    return Path(_folder().name)  # removed when this process ends
