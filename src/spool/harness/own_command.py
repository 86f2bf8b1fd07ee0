"""Runs any program: argv from the settings, the prompt on standard input or in a file, plain text as output.

[harnesses.mine]
argv = ["my-agent", "--task", "{prompt_file}"]
prompt = "file"            # or "stdin", the default
model_argv = ["--model", "{model}"]
allow_all_argv = ["--yes"]
"""

from typing import Literal

import msgspec

from spool.domain.agent.invocation import Stdin
from spool.errors import UsageError
from spool.harness.decoding import LineDecoder, PlainText
from spool.harness.program import Program


class CommandOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A `[harnesses.NAME]` table of the settings."""

    argv: tuple[str, ...] = ()
    prompt: Literal["stdin", "file"] = "stdin"
    model_argv: tuple[str, ...] = ()
    allow_all_argv: tuple[str, ...] = ()
    env: dict[str, str] = {}


def command(name: str, options: CommandOptions) -> Program:
    """Return the harness for a program from the settings; it treats every line as the assistant's."""
    if not options.argv:
        raise UsageError(
            f"harness '{name}' has no program to run",
            hint=f'set it in .spool/config.toml: [harnesses.{name}] argv = ["my-agent"]',
        )
    if options.prompt == "file" and not any("{prompt_file}" in word for word in options.argv):
        raise UsageError(
            f"harness '{name}' reads its prompt from a file, but its argv does not name the file",
            hint="add {prompt_file} to argv",
        )
    return Program(
        name=name,
        install=f"put '{options.argv[0]}' on PATH, or change [harnesses.{name}] in the settings",
        argv=options.argv,
        model=options.model_argv,
        allow_all=options.allow_all_argv,
        env=options.env,
        stdin=Stdin.PROMPT if options.prompt == "stdin" else Stdin.NOTHING,
        decoder=lambda: LineDecoder(PlainText()),
        json=False,
    )
