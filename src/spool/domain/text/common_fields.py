"""Copies the fields that two kinds of value have in common."""

from typing import Any

import msgspec


def carried(source: msgspec.Struct, kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the fields of a value that another kind has too, by name."""
    return {name: getattr(source, name) for name in kind.__struct_fields__ if name in source.__struct_fields__}
