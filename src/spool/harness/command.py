"""Runs any program: argv from the settings, the prompt on standard input or in a file, plain text as output.

[harnesses.mine]
argv = ["my-agent", "--task", "{prompt_file}"]
prompt = "file"            # or "stdin", the default
model_argv = ["--model", "{model}"]
allow_all_argv = ["--yes"]
"""

from typing import Literal

import msgspec

from spool.domain.invocation import AgentRequest, Invocation, Stdin, Traits
from spool.engine.ports import Decoder
from spool.errors import UsageError
from spool.harness.decoding import LineDecoder, PlainText


class CommandOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A `[harnesses.NAME]` table of the settings."""

    argv: tuple[str, ...] = ()
    prompt: Literal["stdin", "file"] = "stdin"
    model_argv: tuple[str, ...] = ()
    allow_all_argv: tuple[str, ...] = ()
    env: dict[str, str] = {}


class Command:
    """The harness for a program from the settings."""

    def __init__(self, name: str, options: CommandOptions) -> None:
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
        self.name = name
        self._options = options
        self.traits = Traits(
            program=options.argv[0],
            install=f"put '{options.argv[0]}' on PATH, or change [harnesses.{name}] in the settings",
            model=bool(options.model_argv),
            allow_all=bool(options.allow_all_argv),
        )

    def invoke(self, request: AgentRequest) -> Invocation:
        """Return the command, with its templates filled in."""
        options = self._options
        argv = list(options.argv)
        if request.model:
            argv += options.model_argv
        if request.allow_all:
            argv += options.allow_all_argv
        fill = {"{prompt_file}": request.prompt_path, "{model}": request.model or "", "{directory}": request.directory}
        return Invocation(
            argv=tuple(_filled(word, fill) for word in argv),
            stdin=Stdin.PROMPT if options.prompt == "stdin" else Stdin.NOTHING,
            env=options.env,
        )

    def decoder(self) -> Decoder:
        """Return a decoder that treats every line as the assistant's."""
        return LineDecoder(PlainText())


def _filled(word: str, fill: dict[str, str]) -> str:
    for name, value in fill.items():
        word = word.replace(name, value)
    return word
