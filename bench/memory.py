"""How much memory the runner needs while an agent prints gigabytes."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.iteration import CHANGE, make_project

SIZES_MB = (1, 64, 1_024)
AGENT = """
import os, sys
size, line = int(os.environ["MB"]) << 20, b"x" * 99 + b"\\n"
block = line * 10_000
while size > 0:
    os.write(1, block)
    size -= len(block)
print("<promise>COMPLETE</promise>")
"""


def main() -> None:
    """Print the runner's peak memory and speed for outputs of growing size."""
    floor = 0.0
    for size in SIZES_MB:
        with tempfile.TemporaryDirectory() as folder:
            root = make_project(Path(folder))
            peak, seconds = run(root, size)
        floor = floor or peak
        speed = size / seconds
        print(f"{size:5} MiB printed: peak {peak:6.1f} MiB, {peak - floor:+5.1f} over the first; {speed:6.0f} MB/s")


def run(root: Path, size: int) -> tuple[float, float]:
    agent = root / "agent.py"
    agent.write_text(AGENT)
    config = f'[harnesses.loud]\nargv = ["{sys.executable}", "{agent}"]\n'
    (root / ".spool" / "config.toml").write_text(config)
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "spool", "ralph", "x", "-c", CHANGE, "--harness", "loud", "--max-iterations", "1"],
        cwd=root,
        env={**os.environ, "MB": str(size), "HOME": str(root)},
        stdout=subprocess.DEVNULL,
    )
    _, _, usage = os.wait4(process.pid, 0)
    return usage.ru_maxrss / 1_024, time.perf_counter() - started


if __name__ == "__main__":
    main()
