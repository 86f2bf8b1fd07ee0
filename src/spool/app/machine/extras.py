"""How to add an optional part of Spool to the environment that it is installed in."""

import json
import shlex
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

_PACKAGE = "spool-loop"


def install_command(extra: str) -> str:
    """Return the command that installs an extra, for uv's tools, for pipx, and for any other environment."""
    try:
        found = distribution(_PACKAGE)
    except PackageNotFoundError:
        return _by_pip(".", extra)
    source, needed = _source(found), _needed(found, extra)
    if (Path(sys.prefix) / "uv-receipt.toml").is_file():
        return shlex.join(["uv", "tool", "install", *(word for name in needed for word in ("--with", name)), source])
    if (Path(sys.prefix) / "pipx_metadata.json").is_file():
        return shlex.join(["pipx", "inject", _PACKAGE, *needed])
    return _by_pip(source, extra)


def _by_pip(source: str, extra: str) -> str:
    return shlex.join([sys.executable, "-m", "pip", "install", f"{source}[{extra}]"])


def _source(found: Distribution) -> str:
    """Return the folder that Spool was installed from, else a clone: whoever owns its name in a registry is unknown."""
    origin = json.loads(found.read_text("direct_url.json") or "{}").get("url", "")
    return unquote(urlsplit(origin).path) if origin.startswith("file://") else "."


def _needed(found: Distribution, extra: str) -> list[str]:
    wanted = [line for line in found.requires or () if line.replace("'", '"').endswith(f'extra == "{extra}"')]
    return [line.partition(";")[0].strip() for line in wanted]
