"""How long quick commands take, as ratios to starting Python at all."""

import sys
from functools import partial
from pathlib import Path

from bench.frame import CHANGE, Row, Stage, Took, compared, in_turns, stage, timed
from bench.peers import installed

ROUNDS = 15
_FLOOR = "python -c pass"
_WT = "from spool.__main__ import wt_loop; wt_loop()"
COMMANDS: dict[str, tuple[list[str], float]] = {
    "spool --version": (["-m", "spool", "--version"], 1.5),
    "spool ralph --help": (["-m", "spool", "ralph", "--help"], 6.0),
    "spool ralph --status": (["-m", "spool", "ralph", "--status", "--change", CHANGE], 6.0),
    "wt-loop list": (["-c", _WT, "list"], 6.0),
    "spool ps": (["-m", "spool", "ps"], 6.0),
}


def rows(*, quick: bool = False) -> list[Row]:
    """Measure each command against a bare Python, and the other loops' `--help`."""
    with stage(1) as here:
        run = partial(_run, here)
        measures = {_FLOOR: run([sys.executable, "-c", "pass"])}
        measures["import click, msgspec"] = run([sys.executable, "-c", "import click, msgspec"])
        measures |= {name: run([sys.executable, *words]) for name, (words, _) in COMMANDS.items()}
        if not quick:
            measures |= {f"{peer.name} --help": run([*peer.start, "--help"]) for peer in installed()}
        for measure in measures.values():  # compiles what is not compiled yet
            measure()
        found = in_turns(5 if quick else ROUNDS, measures)
    others = {name: values for name, values in found.items() if name not in COMMANDS}
    return [
        compared(f"{name} ÷ {_FLOOR}", aim, {**others, name: found[name]}, ours=name)
        for name, (_, aim) in COMMANDS.items()
    ]


def _run(here: Stage, words: list[str | Path]) -> "partial[Took]":
    return partial(timed, words, here.root, here.env)
