"""The way in: answers `--version` with nothing but sys loaded, and hands the rest to the command line."""

import sys


def main() -> None:
    """Run `spool` with the arguments of this process."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from spool import __version__

        print(f"spool {__version__}")
        return
    from spool.cli.main import run

    sys.exit(run())


if __name__ == "__main__":
    main()
