"""Decodes JSON into values.

msgspec 0.22 builds what it knows of a struct in steps. A second thread that meets a type half-built reads through a
null pointer, and the process ends with SIGSEGV. Observers, the screen and the page decode in threads, so all types are
built here, one at a time.
"""

from functools import cache
from threading import Lock
from typing import Any, TypeVar

import msgspec

Decoder = msgspec.json.Decoder
_Value = TypeVar("_Value")
_BUILDING = Lock()


def decoder_of(kind: Any) -> Decoder[Any]:
    """Return the decoder of a type."""
    with _BUILDING:
        return _built(kind)


def decoded(data: bytes | str, kind: type[_Value]) -> _Value:
    """Return the value in a JSON text; raise a MsgspecError if it is not of this type."""
    value: _Value = decoder_of(kind).decode(data)
    return value


def converted(found: object, kind: type[_Value], *, strict: bool = True) -> _Value:
    """Return what was read from a file or a flag as a value of this type; raise a ValidationError if it is none."""
    decoder_of(kind)
    return msgspec.convert(found, kind, strict=strict)


@cache
def _built(kind: Any) -> Decoder[Any]:
    return Decoder(kind)
