"""Writes the JSON Schemas of everything that Spool writes, from the types that write it: `make schemas`."""

import json
from pathlib import Path
from typing import Any

import msgspec

from spool.app.reporting.loop_reports import LoopReports
from spool.domain.loop.events import Event
from spool.domain.loop.loop_file import LoopFile
from spool.domain.loop.state import IterationRecord, LoopState
from spool.domain.loop.summary import SCHEMA, LoopSummary
from spool.views.loop_status import StatusJson

FOLDER = Path(__file__).parent
TYPES: dict[str, Any] = {
    "state": LoopState,
    "history": IterationRecord,
    "events": Event,
    "status": StatusJson,
    "loops": list[LoopSummary],
    "loop-state": LoopFile,
    "report": LoopReports,
}


def schemas() -> dict[str, str]:
    """Return the text of each schema file."""
    return {name: _schema(name, kind) for name, kind in TYPES.items()}


def _schema(name: str, kind: Any) -> str:
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"spool:{name}:{SCHEMA}"}
    return json.dumps(schema | msgspec.json.schema(kind), indent=2) + "\n"


if __name__ == "__main__":
    for name, text in schemas().items():
        (FOLDER / f"{name}.schema.json").write_text(text)
