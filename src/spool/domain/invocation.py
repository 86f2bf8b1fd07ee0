"""What a harness is asked for, and what it wants run."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec


class Traits(msgspec.Struct, frozen=True, kw_only=True):
    """What a person should know of a harness before using it."""

    program: str
    install: str
    model: bool = True
    json: bool = False
    cost: bool = False
    allow_all: bool = True
    """Whether there is something to allow: pi and aider never ask."""
    resume: bool = False
    """Whether it can go on with an earlier conversation of its own."""
    reads_prompt: bool = True
    """Whether what it does depends on what it is asked; a script's does not."""
    question_tool: str = ""
    """The tool by which this agent asks a person, if it has one; the prompt forbids it by name."""
    leavings: tuple[str, ...] = ()
    """Files that the CLI itself leaves in the working tree; they are not progress."""


class AgentRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One run of an agent, in terms that every harness understands."""

    prompt_path: str
    directory: str
    model: str | None = None
    allow_all: bool = False
    is_root: bool = False
    session: str = ""
    """The agent's own conversation to go on with; empty for a fresh start."""
    side_path: str = ""
    """Where the agent may put what does not go through its output."""


class Stdin(StrEnum):
    """What the agent finds on its standard input. It is never left open: three agents hang on that."""

    PROMPT = "prompt"
    NOTHING = "nothing"


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """What a harness wants run."""

    argv: tuple[str, ...]
    stdin: Stdin = Stdin.PROMPT
    env: Mapping[str, str] = {}
    side_file: str = ""
    """A file that the agent writes besides its output; the decoder gets to read it at the end."""
