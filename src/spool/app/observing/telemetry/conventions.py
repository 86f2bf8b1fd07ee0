"""The names of OpenTelemetry's conventions for generative AI (1.41, in development), and Spool's own."""

from contextlib import suppress
from types import MappingProxyType

from spool.domain.agent.stream import Usage
from spool.domain.loop.spec import LoopSpec
from spool.errors import UsageError
from spool.harness import registry

OPERATION = "gen_ai.operation.name"
AGENT = "gen_ai.agent.name"
PROVIDER = "gen_ai.provider.name"
MODEL = "gen_ai.request.model"
CONVERSATION = "gen_ai.conversation.id"
WORKFLOW = "gen_ai.workflow.name"
TOOL = "gen_ai.tool.name"
CALL = "gen_ai.tool.call.id"
ARGUMENTS, RESULT = "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"
INPUT_MESSAGES, OUTPUT_MESSAGES = "gen_ai.input.messages", "gen_ai.output.messages"
INPUT, OUTPUT = "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"
CACHED = "gen_ai.usage.cache_read.input_tokens"
TOKEN_TYPE = "gen_ai.token.type"  # noqa: S105 - not a password
ERROR = "error.type"
INVOKE_WORKFLOW, INVOKE_AGENT, EXECUTE_TOOL = "invoke_workflow", "invoke_agent", "execute_tool"

_KNOWN = {"anthropic": "anthropic", "openai": "openai", "google": "gcp.gemini", "mistral": "mistral_ai", "xai": "x_ai"}

Attributes = dict[str, str | int | float | bool]


def provider_of(harness: str, model: str | None, tables: registry.Tables = MappingProxyType({})) -> str:
    """Return the provider of an agent's model: by the agent, else by the model's prefix, else the agent itself."""
    with suppress(UsageError):
        if provider := registry.find(harness, tables).traits.provider:
            return provider
    prefix = (model or "").partition("/")[0] if "/" in (model or "") else ""
    return _KNOWN.get(prefix) or prefix or harness


def agent_attributes(spec: LoopSpec) -> Attributes:
    """Return what every span and metric of an agent has."""
    harness, model = spec.settings.harness, spec.settings.model
    found: Attributes = {
        OPERATION: INVOKE_AGENT,
        AGENT: harness,
        PROVIDER: provider_of(harness, model, spec.settings.harnesses),
    }
    return found | ({MODEL: model} if model else {})


def usage_attributes(usage: Usage) -> Attributes:
    """Return the tokens as the conventions count them: those read from a cache are input tokens too."""
    found: Attributes = {}
    if usage.tokens_in is not None or usage.tokens_cached is not None:
        found[INPUT] = (usage.tokens_in or 0) + (usage.tokens_cached or 0)
    if usage.tokens_out is not None:
        found[OUTPUT] = usage.tokens_out
    if usage.tokens_cached is not None:
        found[CACHED] = usage.tokens_cached
    return found
