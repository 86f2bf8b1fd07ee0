"""Encodes values as JSON, even with invalid UTF-8 from file names or the environment."""

from typing import Any, TypeVar

import msgspec

from spool.decoders import converted

_Value = TypeVar("_Value", bound=msgspec.Struct)
_ENCODER = msgspec.json.Encoder()


def encoded(value: msgspec.Struct) -> bytes:
    """Return a value as JSON; invalid UTF-8 becomes U+FFFD."""
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        return _ENCODER.encode(_readable(msgspec.to_builtins(value)))


def _readable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if isinstance(value, list | tuple):
        return [_readable(one) for one in value]
    if isinstance(value, dict):
        return {_readable(key): _readable(one) for key, one in value.items()}
    return value


def exactly(value: msgspec.Struct) -> bytes:
    """Return a value as JSON from which `restored` makes the same value, invalid UTF-8 included."""
    import json

    return json.dumps(msgspec.to_builtins(value)).encode("ascii")


def restored(data: bytes, kind: type[_Value]) -> _Value:
    """Return the value that `exactly` encoded; raise a ValueError if the data are damaged."""
    import json  # unlike msgspec's reader, it takes the halves of surrogate pairs

    return converted(json.loads(data), kind)
