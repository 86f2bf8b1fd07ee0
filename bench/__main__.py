"""Runs every benchmark: `make bench`, or `python -m bench startup` for one."""

import importlib
import pkgutil
import sys

import bench


def main() -> None:
    """Run the named benchmarks, or all."""
    found = [
        module for module in pkgutil.iter_modules(bench.__path__) if not module.ispkg
    ]  # `make bench-gates` is long
    known = [module.name for module in found if not module.name.startswith("_")]
    for name in sys.argv[1:] or known:
        print(f"--- {name}")
        importlib.import_module(f"bench.{name}").main()


if __name__ == "__main__":
    main()
