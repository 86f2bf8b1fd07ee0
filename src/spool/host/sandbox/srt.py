"""Anthropic's sandbox runtime, for single hosts: its proxy lets nothing else through."""

import json
import shutil
from pathlib import Path

from spool.errors import UsageError
from spool.host.sandbox.bubblewrap import View
from spool.host.state.files import replace_file

PACKAGE = "@anthropic-ai/sandbox-runtime"
_HELPERS = ("bwrap", "socat", "rg")


def find() -> str:
    """Return its program; raise a UsageError that says what to install."""
    found = shutil.which("srt")
    if found is None:
        raise UsageError("srt, which limits the hosts, is not installed", hint=f"npm install -g {PACKAGE}")
    missing = [name for name in _HELPERS if shutil.which(name) is None]
    if missing:
        raise UsageError(
            f"srt cannot run without {', '.join(missing)}", hint="install the packages bubblewrap, socat and ripgrep"
        )
    return found


def words_of(view: View, *, program: str, hosts: tuple[str, ...], settings: Path) -> list[str]:
    """Write a settings file for a view, and return the words before a sandboxed command."""
    write = sorted(map(str, view.write | set(view.swapped.values())))
    rules = {
        "network": {"allowedDomains": list(hosts), "deniedDomains": []},
        "filesystem": {
            "denyRead": [str(path) for path in view.hidden if path != Path("/run")],
            "allowRead": sorted({*map(str, view.read), *write}),
            "allowWrite": write,
            "denyWrite": [],
        },
    }
    replace_file(settings, json.dumps(rules).encode())
    return [program, "--settings", str(settings), "--"]
