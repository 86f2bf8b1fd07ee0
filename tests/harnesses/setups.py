"""How each agent is pointed at the model server: its own settings in a private home, with few and short retries."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

KEY = "no-real-key"
AGENTS_DIR = Path(
    os.environ.get("SPOOL_AGENTS_DIR")
    or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "spool-agents"
)
"""Where `make agents` puts the agents."""

Setup = Callable[[Path, str], dict[str, str]]
"""Writes an agent's settings into a home, for a server's address, and returns what to add to the environment."""


def agents_path() -> str:
    """Return a PATH that finds the installed agents first."""
    return f"{AGENTS_DIR / 'bin'}{os.pathsep}{os.environ['PATH']}"


def missing(name: str) -> str:
    """Return why an agent cannot be driven here, or nothing."""
    if shutil.which(name, path=agents_path()):
        return ""
    return f"{name} is neither in {AGENTS_DIR} nor on PATH; `make agents` installs it"


def _opencode(home: Path, url: str) -> dict[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": KEY},
        "models": {"test-model": {"cost": {"input": 1, "output": 2}}},
    }
    config = {
        "autoupdate": False,
        "share": "disabled",
        "enabled_providers": ["local"],
        "provider": {"local": provider},
        # What a careful person sets; `--auto` approves it again.
        "permission": {"edit": "ask", "bash": "ask"},
    }
    return {
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
    }


def _claude(home: Path, url: str) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "1",
    }


def _codex(home: Path, url: str) -> dict[str, str]:
    _write(
        home / ".codex" / "config.toml",
        f"""
        model_provider = "local"
        check_for_update_on_startup = false
        [analytics]
        enabled = false
        [features]
        plugins = false  # offline they hold up the exit for 5 s
        [model_providers.local]
        name = "Local"
        base_url = "{url}/v1"
        wire_api = "responses"
        env_key = "LOCAL_KEY"
        request_max_retries = 1
        stream_max_retries = 1
        """,
    )
    return {"LOCAL_KEY": KEY}


def _gemini(home: Path, url: str) -> dict[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "general": {"maxAttempts": 2, "disableAutoUpdate": True, "disableUpdateNag": True},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
    _write(home / ".gemini" / "settings.json", json.dumps(settings))
    return {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": KEY}


def _copilot(home: Path, url: str) -> dict[str, str]:
    return {
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_API_KEY": KEY,
        "COPILOT_MODEL": "test-model",
        "COPILOT_OFFLINE": "true",
    }


def _qwen(home: Path, url: str) -> dict[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "openai"}},
        "model": {"generationConfig": {"maxRetries": 1}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True},
    }
    _write(home / ".qwen" / "settings.json", json.dumps(settings))
    return {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": KEY}


def _pi(home: Path, url: str) -> dict[str, str]:
    models = [{"id": "test-model", "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0}}]
    provider = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": KEY, "models": models}
    _write(home / ".pi" / "agent" / "models.json", json.dumps({"providers": {"local": provider}}))
    _write(home / ".pi" / "agent" / "settings.json", json.dumps({"retry": {"maxRetries": 1, "baseDelayMs": 200}}))
    return {"PI_OFFLINE": "1", "PI_TELEMETRY": "0"}


def _aider(home: Path, url: str) -> dict[str, str]:
    return {"OPENAI_API_BASE": f"{url}/v1", "OPENAI_API_KEY": KEY, "AIDER_EDIT_FORMAT": "whole"}


SETUPS: dict[str, Setup] = {
    "opencode": _opencode,
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "copilot": _copilot,
    "qwen": _qwen,
    "pi": _pi,
    "aider": _aider,
}
MODELS = {"opencode": "local/test-model", "pi": "local/test-model", "aider": "openai/test-model"}
"""How each agent names the server's model, where it is not just `test-model`."""


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
