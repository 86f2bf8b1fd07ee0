"""The options of an agent, and the command that its harness returns."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from spool.domain.agent.prices import Price
from spool.domain.agent.sign_in import SignIn


class Traits(msgspec.Struct, frozen=True, kw_only=True):
    """The features and installation of a harness."""

    program: str
    install: str
    model: bool = True
    json: bool = False
    tokens: bool = False
    """Whether it reports the tokens that it used."""
    cost: bool = False
    """Whether it reports what they cost."""
    usage_so_far: bool = False
    """Whether it reports its usage while it runs, not only at its end."""
    allow_all: bool = True
    """Whether it asks for permissions; pi and aider never do."""
    sandbox_as_root: bool = False
    """Whether it refuses allow-all as root outside a sandbox."""
    resume: bool = False
    """Whether it can continue an earlier conversation."""
    reads_prompt: bool = True
    """Whether it acts on its prompt; a script does not."""
    question_tool: str = ""
    """The tool with which this agent asks a person, if any; the prompt forbids it by name."""
    provider: str = ""
    """The provider of its models, by OpenTelemetry's name; empty if it has several."""
    requires: str = ""
    """A file without which it cannot run, relative to the working directory."""
    sign_in: SignIn | None = None
    """The test for a sign-in; None if there is none."""
    folder: str = ""
    """The pattern of what it keeps for itself in a project; like a cache, that decides about no check."""
    leavings: tuple[str, ...] = ()
    """Files that the CLI itself leaves in the working tree, which do not count as progress."""
    settings: tuple[str, ...] = ()
    """Its own settings, relative to the home directory; a sandboxed agent gets a copy."""
    credentials: tuple[str, ...] = ()
    """The files of its sign-in, relative to the home directory; a sandboxed agent may renew them."""
    needs: tuple[str, ...] = ()
    """Folders that its program reads besides its own installation; a sandboxed agent sees them."""
    env_names: tuple[str, ...] = ()
    """Variables that it reads, and prefixes of such (`OPENAI_*`); a sandboxed agent gets no others."""


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's limits on time, output and memory."""

    iteration_s: float | None = 7_200.0
    idle_s: float | None = 1_800.0
    promise_grace_s: float = 20.0
    output_bytes: int = 4 << 30
    memory_bytes: int = 0


class AgentOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The agent's options in a loop: what a harness makes a command of, and what holds for each of its runs."""

    directory: str
    model: str | None = None
    allow_all: bool = False
    in_sandbox: bool = False
    """Whether to claim a sandbox to an agent; some refuse allow-all as root elsewhere."""
    session: str = ""
    """The agent's conversation to continue; empty for a new one."""
    prompt_path: str = ""
    """Path of the prompt of one run."""
    side_path: str = ""
    """Path of the agent's side file in one run."""
    resume: bool = False
    """Whether each run continues the conversation of the one before."""
    auto_commit: bool = False
    """Whether to commit what each run leaves."""
    price: Price | None = None
    """The price of the model, for an agent that reports no cost."""
    patience: Patience = Patience()

    def continuing(self, session: str) -> "AgentOptions":
        """Return the options of the next run, in the same conversation if that is wanted."""
        return msgspec.structs.replace(self, session=session) if self.resume and session else self


class Stdin(StrEnum):
    """The agent's standard input. It is never left open: three agents hang on that."""

    PROMPT = "prompt"
    NOTHING = "nothing"


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """The command to run for an agent."""

    argv: tuple[str, ...]
    stdin: Stdin = Stdin.PROMPT
    env: Mapping[str, str] = {}
    side_file: str = ""
    """A file that the agent writes besides its output; the decoder reads it at the end."""
