"""Options as values: the fields of a struct declare a command's options, and the command gets the struct."""

from collections.abc import Callable, Iterator
from functools import wraps
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin

import click
import msgspec
from msgspec.structs import fields

from spool.cli.options.groups import GroupedOption

if TYPE_CHECKING:  # only commands that need settings import them
    from spool.domain.loop.settings import Layer

_Kind = TypeVar("_Kind", bound="Flags")
_Function = TypeVar("_Function", bound=Callable[..., Any])


class Flags(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a command: a field is an option, or a group of options. Only `takes` makes one."""


class Flag:
    """The declaration of an option, in the place of a field's default: `model: str | None = agent("--model", …)`.

    The field's type says what click reads: a bool is a switch, a tuple is repeatable, a Literal is a choice.
    """

    def __init__(self, group: str, names: tuple[str, ...], more: dict[str, Any]) -> None:
        self.group = group
        self.names = names
        self.more = more


def option_of(group: str) -> Callable[..., Any]:
    """Return what declares options below one heading of the help."""

    def declare(*names: str, **more: Any) -> Flag:
        return Flag(group, names, more)

    return declare


def takes(kind: type[Flags]) -> Callable[[_Function], Callable[..., Any]]:
    """Add the options of a struct to a command, and call it with that struct as `options`."""

    def decorate(function: _Function) -> Callable[..., Any]:
        @wraps(function)
        def command(**given: Any) -> Any:
            options = _built(kind, given)
            return function(**given, options=options)

        for name, hint, flag in reversed(list(_declared(kind))):
            settings = {**_read_as(hint), **flag.more}
            click.option(*flag.names, name, cls=GroupedOption, group=flag.group, **settings)(command)
        return command

    return decorate


def given_settings(options: Flags) -> "list[Layer]":
    """Return the settings among the options, each with its flag as origin."""
    from spool.domain.loop.settings import NAMES, Layer

    found = {name: (flag, value) for name, flag, value in _values(options) if name in NAMES}
    return [
        Layer(flag.names[0].partition("/")[0], {name: value})
        for name, (flag, value) in found.items()
        if value not in (None, ())
    ]


def _declared(kind: type[Flags]) -> Iterator[tuple[str, Any, Flag]]:
    """Yield the options of a struct and of its groups: name, type and declaration."""
    for field in fields(kind):
        if isinstance(field.default, Flag):
            yield field.name, field.type, field.default
        else:
            yield from _declared(field.type)


def _built(kind: type[_Kind], given: dict[str, Any]) -> _Kind:
    """Make a struct of what click has read, and take that away from `given`."""
    return kind(
        **{
            field.name: given.pop(field.name) if isinstance(field.default, Flag) else _built(field.type, given)
            for field in fields(kind)
        }
    )


def _values(options: Flags) -> Iterator[tuple[str, Flag, Any]]:
    for field in fields(options):
        value = getattr(options, field.name)
        if isinstance(value, Flags):
            yield from _values(value)
        else:
            yield field.name, field.default, value


def _read_as(hint: Any) -> dict[str, Any]:
    """Return how click reads an option of this type."""
    optional = NoneType in get_args(hint)
    kind = next(one for one in get_args(hint) if one is not NoneType) if optional else hint
    if kind is bool:
        return {"is_flag": True, **({"default": None} if optional else {})}
    if get_origin(kind) is tuple:
        return {"multiple": True, **_read_as(get_args(kind)[0])}
    if get_origin(kind) is Literal:
        return {"type": click.Choice(get_args(kind))}
    return {"type": kind} if kind in (int, float) else {}
