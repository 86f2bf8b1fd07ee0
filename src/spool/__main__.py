"""The entry point: answers `--version` with nothing but sys loaded, and hands the rest to the command line."""

import sys


def main() -> None:
    """Run `spool` with the arguments of this process."""
    if _only_wants_version("spool"):
        return
    _start_lean()
    from spool.cli.edge import leave, run
    from spool.cli.main import spool

    leave(run(spool, "spool"))


def wt_loop() -> None:
    """Run `wt-loop` with the arguments of this process."""
    if _only_wants_version("wt-loop"):
        return
    _start_lean()
    from spool.cli.edge import leave, run
    from spool.cli.wt.main import wt_loop as command

    leave(run(command, "wt-loop"))


def _start_lean() -> None:
    """Spare a quick command a collection of garbage: imports make none."""
    from spool.shortcuts import LATE_GARBAGE

    if LATE_GARBAGE:
        import gc

        gc.set_threshold(50_000, 10, 10)


def _only_wants_version(name: str) -> bool:
    if sys.argv[1:] not in (["--version"], ["-V"]):
        return False
    from spool import __version__

    print(f"{name} {__version__}")
    return True


if __name__ == "__main__":
    main()
