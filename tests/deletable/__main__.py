"""Deletes each part in a copy, and runs the checks and the remaining tests there.

`python -m tests.deletable [PART]... [-- PYTEST_OPTION...]`; `make deletable` runs it.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.deletable.copies import PARTS, add_environment, copy_without


def main() -> int:
    """Check every part that is named, or all of them."""
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    return max([checked(part, words[at + 1 :]) for part in words[:at] or PARTS])


def checked(part: str, options: list[str]) -> int:
    """Print what is removed and run the rest; return an exit code."""
    with tempfile.TemporaryDirectory(prefix=f"without-{part}-") as folder:
        place = Path(folder) / "spool"
        print(f"--- without {part}", *copy_without(part, place), sep="\n  ", flush=True)
        add_environment(place)
        return max(
            subprocess.run(["make", "check"], cwd=place).returncode,
            subprocess.run([place / ".venv/bin/pytest", "-q", *options], cwd=place).returncode,
        )


if __name__ == "__main__":
    sys.exit(main())
