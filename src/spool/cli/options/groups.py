"""Grouped options for `--help`, and parameter types that several commands share."""

from typing import Any

import click

EXIT_CODES = (
    "Exit codes: 0 complete, 1 failed, 2 usage error, 3 iteration limit, 4 stuck, 5 done but commits failed, "
    "6 needs you, 130 interrupted."
)
_HEADINGS = (
    "Input",
    "Worktree",
    "Workspace",
    "Fleet",
    "Agent",
    "Completion and limits",
    "Checks",
    "Hook",
    "Run",
    "Terminal",
    "Output",
    "Status and context (start no loop)",
    "Options",
    "Help",
)
"""The headings of the help, in order."""


class GroupedOption(click.Option):
    """An option with a heading in the help."""

    def __init__(self, *args: Any, group: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.group = group


class GroupedCommand(click.Command):
    """A command whose help has grouped options and examples."""

    def __init__(self, *args: Any, examples: tuple[str, ...] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one section per group."""
        groups: dict[str, list[tuple[str, str]]] = {}
        rest = "Help" if any(isinstance(param, GroupedOption) for param in self.params) else "Options"
        for param in sorted(self.get_params(ctx), key=lambda param: not isinstance(param, GroupedOption)):
            row = param.get_help_record(ctx)
            if isinstance(param, click.Option) and row is not None:
                groups.setdefault(getattr(param, "group", rest), []).append(row)
        for name in sorted(groups, key=_HEADINGS.index):
            rows = groups[name]
            with formatter.section(name):
                formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, then the epilog."""
        if self.examples:
            with formatter.section("Examples"):
                for example in self.examples:
                    formatter.write(f"  {_as_typed(example, ctx)}\n")
        super().format_epilog(ctx, formatter)


def _as_typed(example: str, ctx: click.Context) -> str:
    """Return an example with the command's name as it was typed: `spool loop` for `spool ralph`."""
    own = f"{ctx.command_path.partition(' ')[0]} {ctx.command.name} "
    return f"{ctx.command_path} {example.removeprefix(own)}" if example.startswith(own) else example


class Duration(click.ParamType[float]):
    """Seconds, or `30s`, `15m`, `2h`."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse a duration into seconds."""
        from spool.domain.text.durations import seconds

        try:
            return seconds(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
