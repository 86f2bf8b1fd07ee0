"""An agent that plays a script: no model, no key. For the demo, for tests, and for trying out a set-up.

What it prints is Spool's own stream events, one JSON object a line, so any program may speak this format.
"""

import sys
from collections.abc import Iterable

import msgspec

from spool.domain.invocation import AgentRequest, Invocation, Stdin, Traits
from spool.domain.stream import StreamEvent
from spool.engine.ports import Decoder
from spool.harness.decoding import LineDecoder, read_json

DEFAULT_SCRIPT = ".spool/script.toml"


class ScriptedOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[harnesses.scripted]` table of the settings."""

    script: str = DEFAULT_SCRIPT


class Scripted:
    """The harness for a script in TOML or JSON; `spool.testing.player` tells its format."""

    name = "scripted"
    traits = Traits(
        program=sys.executable, install="it comes with Spool", model=False, json=True, cost=True, reads_prompt=False
    )

    def __init__(self, options: ScriptedOptions) -> None:
        self._options = options

    def invoke(self, request: AgentRequest) -> Invocation:  # noqa: ARG002 - a script needs nothing of the request
        """Play the script in this interpreter; -P keeps the working tree's own modules out of its way."""
        return Invocation(
            argv=(sys.executable, "-P", "-m", "spool.testing.player", self._options.script), stdin=Stdin.PROMPT
        )

    def decoder(self) -> Decoder:
        """Return a fresh decoder."""
        return LineDecoder(NativeEvents(), mixed=True)


_DECODE = msgspec.json.Decoder(StreamEvent)


class NativeEvents:
    """The translator of Spool's own stream events."""

    def event(self, line: bytes) -> Iterable[StreamEvent] | None:
        """Translate one line; what is no stream event is plain text."""
        found = read_json(_DECODE, line)
        return None if found is None else (found,)

    def end(self, stderr: str, side: str = "") -> Iterable[StreamEvent]:  # noqa: ARG002 - the protocol's signature
        """Nothing can be missing."""
        return ()
