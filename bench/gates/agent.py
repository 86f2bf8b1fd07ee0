"""Plays an agent: `agent.py PLAN TALLY CLAIM [words of the prompt]`. Stands alone, first on PATH, for every loop.

Each call is one iteration: write the step's files, note what changed, and claim completion in the words that the loop
around it expects. When the prompt names what failed, the step under `once_told` replaces the others.
"""

import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

Json = dict[str, Any]

# What loops and test runners leave behind is not the agent's work; dot folders are left out too.
NOT_WORK = {"__pycache__", "node_modules", "PROMPT.md"}


def main() -> None:
    plan = json.loads(Path(sys.argv[1]).read_text())
    tally, claim, words = Path(sys.argv[2]), sys.argv[3], sys.argv[4:]
    prompt = " ".join(words) if words else sys.stdin.read()
    number = len(tally.read_text().splitlines()) + 1 if tally.exists() else 1
    root = Path.cwd()
    before = mark(root)
    step = choose(plan, number, prompt, tally)
    for name, text in step["files"].items():
        write(root / name, text)
    entry = {
        "number": number,
        "changed": mark(root) != before,
        "claimed": step["claim"],
        "told": step.get("told", False),
    }
    source = root / plan["source"]
    entry |= {"source": source.read_text() if source.exists() else "", "at": time.time()}
    with tally.open("a") as file:
        file.write(json.dumps(entry) + "\n")
    status = root / ".ralph" / "status"
    if status.parent.is_dir():
        status.write_text("DONE" if step["claim"] else "CONTINUE")
    print(f"{step['say']} (iteration {number})\n")
    if step["claim"]:
        print(claim)


def choose(plan: Json, number: int, prompt: str, tally: Path) -> Json:
    """Return the step of this iteration; once the agent has corrected itself, it stays with the correction."""
    wiser = tally.exists() and any(json.loads(line)["told"] for line in tally.read_text().splitlines())
    heard = number > 1 and any(name in prompt for name in plan["listens_for"])
    if plan["once_told"] and (wiser or heard):
        return {**plan["once_told"], "told": True}
    steps = plan["steps"]
    chosen: Json = steps[(number - 1) % len(steps)] if plan["cycle"] else steps[min(number, len(steps)) - 1]
    return chosen


def write(path: Path, text: str | None) -> None:
    if text is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def mark(root: Path) -> str:
    """Return a digest of the work: names and texts of the project's files."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if path.is_file() and not any(part.startswith(".") or part in NOT_WORK for part in parts):
            digest.update(repr((parts, path.read_bytes())).encode())
    return digest.hexdigest()


if __name__ == "__main__":
    main()
