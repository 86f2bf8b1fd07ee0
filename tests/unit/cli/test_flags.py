"""A command's options are declared by the fields of a struct, and arrive as that struct."""

from typing import Any, Literal

import click
import pytest

from spool.cli.commands.start.run import run
from spool.cli.main import spool
from spool.cli.options.flags import Flags, given_settings, option_of, takes
from spool.domain.loop.settings import Layer

agent = option_of("Agent")


class Inner(Flags, frozen=True, kw_only=True):
    model: str | None = agent("--model")
    allow_all: bool | None = agent("--allow-all/--no-allow-all")


class Outer(Flags, frozen=True, kw_only=True):
    inner: Inner
    max_retries: int | None = agent("--max-retries")
    verbose: bool = agent("--verbose", "-v")
    baseline: Literal["strict", "off"] | None = agent("--baseline")
    allow_change: tuple[str, ...] = agent("--allow-change")


@click.command()
@click.argument("name")
@takes(Outer)
def command(name: str, options: Outer) -> tuple[str, Outer]:
    """Return what was given."""
    return name, options


def given(*words: str) -> Outer:
    options: Outer
    name, options = command.main(["a", *words], standalone_mode=False)
    assert name == "a"
    return options


def test_options_arrive_as_one_value_with_its_groups() -> None:
    options = given("--model", "m", "-v", "--max-retries", "2", "--allow-change", "x", "--allow-change", "y")
    assert options == Outer(
        inner=Inner(model="m", allow_all=None),
        max_retries=2,
        verbose=True,
        baseline=None,
        allow_change=("x", "y"),
    )


@pytest.mark.parametrize("words", [("--max-retries", "x"), ("--baseline", "tolerant")])
def test_the_type_of_a_field_is_checked(words: tuple[str, ...]) -> None:
    with pytest.raises(click.BadParameter):
        given(*words)


def test_settings_are_layers_that_name_their_flags_and_leave_out_what_was_not_given() -> None:
    found = given_settings(given("--no-allow-all", "--allow-change", "x", "--verbose"))
    assert found == [Layer("--allow-all", {"allow_all": False}), Layer("--allow-change", {"allow_change": ("x",)})]
    assert given_settings(given()) == []


def every(command: click.Command) -> list[click.Parameter]:
    found: list[click.Parameter] = list(command.params)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below: Any = command.get_command(context, name)
            found += every(below)
    return found


def test_no_default_of_an_option_is_a_declaration() -> None:
    assert not [one for one in every(spool) if "Flag" in type(one.default).__name__]
    assert len(run.params) == len({one.name for one in run.params})
