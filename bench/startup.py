"""How long the quick commands take, as ratios to starting Python at all."""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 15
CHANGE = "001-01_bench"


def main() -> None:
    """Print the medians and their ratios."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        change = root / ".spool" / "changes" / CHANGE
        change.mkdir(parents=True)
        (change / "proposal.md").write_text("# Bench\n")
        commands = {
            "python -c pass": ["-c", "pass"],
            "python -c 'import click, msgspec'": ["-c", "import click, msgspec"],
            "spool --version": ["-m", "spool", "--version"],
            "spool ralph --help": ["-m", "spool", "ralph", "--help"],
            "spool ralph --status": ["-m", "spool", "ralph", "--status", "--change", CHANGE],
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(ROUNDS):  # in turns, so that a noisy moment hits all alike
            for name, words in commands.items():
                times[name].append(measure(words, root))
        floor = statistics.median(times["python -c pass"])
        for name, seconds in times.items():
            middle = statistics.median(seconds)
            print(f"{name:<36} {middle * 1e3:7.1f} ms  {middle / floor:5.1f} x python -c pass")


def measure(words: list[str], root: Path) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, *words], cwd=root, check=True, capture_output=True)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
