"""A harness as data: the command line of one agent CLI, word by word, and its decoder."""

import re
from collections.abc import Callable, Mapping

import msgspec

from spool.domain.agent.invocation import AgentOptions, Invocation, Stdin, Traits
from spool.domain.agent.sign_in import SignIn
from spool.domain.text.common_fields import carried
from spool.engine.ports import Decoder

_MARK = re.compile(r"\{(prompt_file|directory|model|session|side_file)\}")

PROVIDERS = (
    "ANTHROPIC_*", "OPENAI_*", "GEMINI_*", "GOOGLE_*", "OPENROUTER_*", "GROQ_*", "MISTRAL_*", "DEEPSEEK_*", "XAI_*",
    "AZURE_*", "OLLAMA_*",
)  # fmt: skip
"""The variables of agents that work with any provider."""
KEYS = (
    "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "GROQ_API_KEY", "MISTRAL_API_KEY",
    "DEEPSEEK_API_KEY", "XAI_API_KEY", "AZURE_OPENAI_API_KEY", "CEREBRAS_API_KEY", "FIREWORKS_API_KEY",
)  # fmt: skip
"""The keys of providers that each of these agents knows."""


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """The words of a command line, added in this order; each part only where the request asks for it.

    `{prompt_file}`, `{directory}`, `{model}`, `{session}` and `{side_file}` may appear anywhere in them.
    """

    name: str
    install: str
    argv: tuple[str, ...]
    side: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    allow_all: tuple[str, ...] = ()
    resume: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    sandbox_env: Mapping[str, str] = {}
    """Variables that claim a sandbox to an agent which otherwise refuses allow-all as root."""
    stdin: Stdin = Stdin.PROMPT
    decoder: Callable[[], Decoder]
    json: bool = True
    tokens: bool = False
    cost: bool = False
    usage_so_far: bool = False
    question_tool: str = ""
    provider: str = ""
    sign_in: SignIn | None = None
    folder: str = ""
    leavings: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    credentials: tuple[str, ...] = ()
    env_names: tuple[str, ...] = ()

    @property
    def traits(self) -> Traits:
        """Its features: what it has no words for, it cannot do."""
        able = {name: bool(getattr(self, name)) for name in ("model", "allow_all", "resume")}
        able["sandbox_as_root"] = bool(self.sandbox_env)
        return Traits(program=self.argv[0], **{**carried(self, Traits), **able})

    def invoke(self, options: AgentOptions) -> Invocation:
        """Return the command, with its marks filled in."""
        values = {
            "prompt_file": options.prompt_path,
            "directory": options.directory,
            "model": options.model or "",
            "session": options.session,
            "side_file": options.side_path,
        }
        words = [
            *self.argv,
            *(self.side if options.side_path else ()),
            *(self.model if options.model else ()),
            *(self.allow_all if options.allow_all else ()),
            *(self.resume if options.session else ()),
            *self.last,
        ]
        return Invocation(
            argv=tuple(_MARK.sub(lambda mark: values[mark[1]], word) for word in words),
            stdin=self.stdin,
            env={**self.env, **(self.sandbox_env if options.allow_all and options.in_sandbox else {})},
            side_file=options.side_path if self.side else "",
        )
