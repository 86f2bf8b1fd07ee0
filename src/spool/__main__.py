"""The entry point: answers `--version` with nothing but sys loaded, and hands the rest to the command line."""

import sys


def main() -> None:
    """Run `spool` with the arguments of this process."""
    if _only_wants_version("spool"):
        return
    from spool.cli.edge import run
    from spool.cli.main import spool

    sys.exit(run(spool, "spool"))


def wt_loop() -> None:
    """Run `wt-loop` with the arguments of this process."""
    if _only_wants_version("wt-loop"):
        return
    from spool.cli.edge import run
    from spool.cli.wt.main import wt_loop as command

    sys.exit(run(command, "wt-loop"))


def _only_wants_version(name: str) -> bool:
    if sys.argv[1:] not in (["--version"], ["-V"]):
        return False
    from spool import __version__

    print(f"{name} {__version__}")
    return True


if __name__ == "__main__":
    main()
