"""Shows that an iteration costs the same whatever came before it: iterations, output, and other loops."""

import json
import os
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from bench.frame import CHANGE, Row, Stage, Took, busy_ratio, in_turns, middle, middle_ms, ratios, spread, stage, timed
from bench.iteration import per_iteration, spool_words

ITERATIONS = (10, 1_000, 100_000)
LOG_BYTES = (1 << 20, 10 << 30)
LOOPS = (1, 500)
COUNTS = (2, 42)
ROUNDS = 7
AIM = 1.25
"""What the largest may cost more than the smallest: the noise of a shared machine."""


def rows(*, quick: bool = False) -> list[Row]:
    """Measure iterations after long histories, beside long logs and beside many loops."""
    if quick:
        return []
    return [
        _row("iterations before it", ITERATIONS, _add_history),
        _row("bytes of logs and journal", LOG_BYTES, _lengthen_logs),
        _row("registered loops", LOOPS, _register_loops),
    ]


def _row(what: str, sizes: tuple[int, ...], grow: Callable[[Stage, Path, int], None]) -> Row:
    """Compare stages that differ in one size; each is made once, and only grows by what is measured."""
    with ExitStack() as stages:
        measures: dict[str, Callable[[], Took]] = {}
        for size in sizes:
            here = stages.enter_context(stage())
            timed(spool_words(3), here.root, here.env)
            grow(here, here.root / ".spool/.state/ralph" / CHANGE, size)
            measures[f"{size:,}"] = partial(per_iteration, here, spool_words, COUNTS)
        found = in_turns(ROUNDS, measures)
    least, most = next(iter(found.values())), list(found.values())[-1]
    each = ratios(most, least)
    shown = f"{spread(each)}; " + ", ".join(f"{name}: {middle_ms(values):.0f} ms" for name, values in found.items())
    return Row(
        figure=f"an iteration with the most ÷ the fewest {what}",
        value=middle(each),
        busy=busy_ratio(most, least),
        aim=AIM,
        shown=shown,
        bars={name: middle_ms(values) for name, values in found.items()},
    )


def _add_history(_: Stage, folder: Path, count: int) -> None:
    """Write records, events, and the three files that each iteration leaves."""
    record = json.loads((folder / "history.jsonl").read_text().splitlines()[-1])
    lines = "".join(json.dumps({**record, "iteration": number}) + "\n" for number in range(1, count + 1))
    _rewrite(folder / "history.jsonl", lines)
    _rewrite(folder / "journal.jsonl", (folder / "journal.jsonl").read_text() * (count // 5))
    state = json.loads((folder / "state.json").read_text())
    (folder / "state.json").write_text(json.dumps({**state, "iteration": count}))
    for number in range(4, count + 1):
        for suffix in ("prompt.md", "out", "err"):
            os.close(os.open(folder / "logs" / f"{number:04d}.{suffix}", os.O_CREAT | os.O_WRONLY, 0o600))


def _lengthen_logs(_: Stage, folder: Path, size: int) -> None:
    for name in ("journal.jsonl", "logs/0001.out"):
        os.truncate(folder / name, size)
        with (folder / name).open("a") as file:
            file.write("\n")


def _register_loops(here: Stage, _: Path, count: int) -> None:
    loops = Path(here.env["HOME"]) / ".local/state/spool/loops"
    known = next(path for path in sorted(loops.glob("*.json")))
    entry = json.loads(known.read_text())
    for number in range(count - 1):
        run_id = f"20260101T{number:06d}-{number:06x}"
        (loops / f"{run_id}.json").write_text(json.dumps({**entry, "run_id": run_id, "id": f"{number:06x}"}))


def _rewrite(path: Path, text: str) -> None:
    with path.open("w") as file:  # its second name, outside the tree, stays the same file
        file.write(text)
