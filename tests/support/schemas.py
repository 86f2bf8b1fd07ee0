"""The published schemas."""

import json
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "schemas"


def schema(name: str) -> dict[str, object]:
    loaded: dict[str, object] = json.loads((FOLDER / f"{name}.schema.json").read_text())
    return loaded
