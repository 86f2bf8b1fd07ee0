"""The schemas in docs/ are those of the types, and what Spool writes fits them."""

import importlib.util
import json

import jsonschema

from tests.support import Scratch
from tests.support.schemas import FOLDER, schema


def test_the_schemas_are_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("make", FOLDER / "make.py")
    assert spec is not None
    assert spec.loader is not None
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    for name, text in make.schemas().items():
        assert (FOLDER / f"{name}.schema.json").read_text() == text, "run `make schemas`"


def test_what_a_loop_writes_fits_the_schemas(scratch: Scratch) -> None:
    scratch.script([{"say": "Hello"}, {"exit": 3}], [{"promise": "COMPLETE"}])
    scratch.ralph("Go", "--harness", "scripted")
    jsonschema.validate(scratch.load_state(), schema("state"))
    for record in scratch.history():
        jsonschema.validate(record, schema("history"))
    for event in scratch.journal():
        jsonschema.validate(event, schema("events"))
    jsonschema.validate(json.loads(scratch.ralph("--status", "--json").stdout), schema("status"))
