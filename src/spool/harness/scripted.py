"""An agent that plays a script: no model, no key. For the demo, for tests, and for trying out settings.

It prints Spool's own stream events, one JSON object per line; any program may use this format.
"""

import sys
from collections.abc import Iterable

import msgspec

from spool.decoders import decoder_of
from spool.domain.agent.invocation import AgentOptions, Invocation, Stdin, Traits
from spool.domain.agent.stream import StreamEvent
from spool.engine.ports import Decoder
from spool.harness.decoding import LineDecoder, read_json

DEFAULT_SCRIPT = ".spool/script.toml"


class ScriptedOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[harnesses.scripted]` table of the settings."""

    script: str = DEFAULT_SCRIPT


_TRAITS = Traits(
    program=sys.executable,
    install="included in Spool",
    model=False,
    json=True,
    tokens=True,
    cost=True,
    usage_so_far=True,
    reads_prompt=False,
    needs=(__file__.rsplit("/", 2)[0],),  # an editable installation is not beside its Python
)


class Scripted:
    """The harness for a script in TOML or JSON; `spool.testing.player` describes the format."""

    name = "scripted"

    def __init__(self, options: ScriptedOptions) -> None:
        self._options = options
        self.traits = msgspec.structs.replace(_TRAITS, requires=options.script)

    def invoke(self, options: AgentOptions) -> Invocation:  # noqa: ARG002 - a script has none
        """Return the command that plays the script; -P keeps the working tree's own modules from being imported."""
        return Invocation(
            argv=(sys.executable, "-P", "-m", "spool.testing.player", self._options.script), stdin=Stdin.PROMPT
        )

    def decoder(self) -> Decoder:
        """Return a fresh decoder."""
        return LineDecoder(NativeEvents(), mixed=True)


_DECODE = decoder_of(StreamEvent)


class NativeEvents:
    """The translator for Spool's own stream events."""

    def event(self, line: bytes) -> Iterable[StreamEvent] | None:
        """Translate one line; anything but a stream event is plain text."""
        found = read_json(_DECODE, line)
        return None if found is None else (found,)

    def end(self, stderr: str, side: str = "") -> Iterable[StreamEvent]:  # noqa: ARG002 - the protocol's signature
        """Return nothing: a script has no required end."""
        return ()
