"""Check that a built site loads nothing from elsewhere; `make docs` runs it."""

import re
import sys
from pathlib import Path

LOADS = re.compile(
    r"""<(?:script|img|iframe|source|video|audio)\b[^>]*\bsrc=["']?(?:https?:)?//"""
    r"""|<link\b(?=[^>]*\brel=["']?(?:stylesheet|icon|preload|preconnect|modulepreload))[^>]*\bhref=["']?(?:https?:)?//"""
    r"""|url\(["']?(?:https?:)?//|@import\s""",
    re.IGNORECASE,
)


def loads(site: Path) -> list[str]:
    """Return one line for each file that loads something from elsewhere."""
    files = sorted(path for path in site.rglob("*") if path.suffix in (".html", ".css", ".svg"))
    if not any(path.name == "index.html" for path in files):
        return [f"{site} holds no site"]
    found = {path: LOADS.findall(path.read_text(encoding="utf-8")) for path in files}
    return [f"{path} loads {', '.join(elsewhere)}" for path, elsewhere in found.items() if elsewhere]


if __name__ == "__main__":
    sys.exit("\n".join(loads(Path(sys.argv[1]))) or 0)
