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
    """Spare a quick command 2 of the 9 times that it takes of a bare Python's start.

    Imports make no garbage to collect. And msgspec prefers `typing_extensions`, if it is installed, to what the
    standard library has had since Python 3.11.
    """
    import gc

    gc.set_threshold(50_000, 10, 10)
    if "msgspec" not in sys.modules and "typing_extensions" not in sys.modules:
        sys.modules["typing_extensions"] = None  # type: ignore[assignment] # to import it is an ImportError
        import msgspec  # noqa: F401

        del sys.modules["typing_extensions"]


def _only_wants_version(name: str) -> bool:
    if sys.argv[1:] not in (["--version"], ["-V"]):
        return False
    from spool import __version__

    print(f"{name} {__version__}")
    return True


if __name__ == "__main__":
    main()
