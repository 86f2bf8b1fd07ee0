"""The signs of each agent's sign-in, in a home of its own; no value of a key is ever part of an answer."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from spool.domain.agent.sign_in import SignedIn, SignInState, judged
from spool.harness import registry
from spool.host.agents.sign_in_files import Signs

YES, NO, UNKNOWN = SignInState
SECRET = "sk-secret"


def look(
    home: Path, agent: str, env: Mapping[str, str], files: Mapping[str, str], *, says: bool | None = False
) -> SignedIn:
    project = home / "project"
    for name, text in files.items():
        path = project / name.removeprefix("./") if name.startswith("./") else home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    known_by = registry.find(agent, {}).traits.sign_in
    assert known_by is not None
    assert known_by.login
    return judged(known_by, Signs(known_by, env, home, project).find, lambda: says, words="its status")


NOTHING = {
    "aider": UNKNOWN,  # a model on this machine needs no key
    "claude": NO,
    "codex": NO,
    "copilot": NO,
    "gemini": NO,
    "opencode": UNKNOWN,  # its free models need none
    "pi": NO,
    "qwen": NO,
}


@pytest.mark.parametrize("agent", sorted(registry.AGENTS))
def test_a_home_without_anything(tmp_path: Path, agent: str) -> None:
    assert look(tmp_path, agent, {}, {}).answer is NOTHING[agent]


OAUTH = f'{{"access_token": "{SECRET}"}}'
FILES = [
    ("opencode", {}, {".local/share/opencode/auth.json": f'{{"openai": {{"key": "{SECRET}"}}}}'}, YES),
    ("opencode", {}, {".local/share/opencode/auth.json": "{}"}, UNKNOWN),
    ("claude", {}, {".claude/.credentials.json": f'{{"claudeAiOauth": {{"accessToken": "{SECRET}"}}}}'}, YES),
    ("claude", {}, {".claude/.credentials.json": '{"mcpOAuth": {"server": {}}}'}, NO),
    ("claude", {}, {"./.claude/settings.local.json": f'{{"env": {{"ANTHROPIC_API_KEY": "{SECRET}"}}}}'}, UNKNOWN),
    ("claude", {}, {"./.claude/settings.json": '{"permissions": {}}'}, NO),
    ("claude", {"CLAUDE_CODE_USE_BEDROCK": "1"}, {}, UNKNOWN),
    ("codex", {}, {".codex/auth.json": f'{{"OPENAI_API_KEY": null, "tokens": {OAUTH}}}'}, YES),
    ("codex", {}, {".codex/auth.json": f'{{"OPENAI_API_KEY": "{SECRET}", "tokens": null}}'}, YES),
    ("codex", {}, {".codex/auth.json": '{"OPENAI_API_KEY": null, "tokens": null}'}, NO),
    ("codex", {}, {".codex/auth.json": '{"tokens"'}, UNKNOWN),
    ("codex", {}, {".codex/config.toml": 'model_provider = "local"\n'}, UNKNOWN),
    ("codex", {}, {".codex/config.toml": 'model = "gpt-5"\n[projects."/x"]\ntrust_level = "trusted"\n'}, NO),
    ("codex", {"OPENAI_API_KEY": SECRET}, {}, UNKNOWN),
    ("gemini", {}, {".gemini/oauth_creds.json": OAUTH}, YES),
    ("gemini", {}, {".gemini/settings.json": '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'}, UNKNOWN),
    ("gemini", {}, {".gemini/settings.json": '{\n  // dark\n  "ui": {"theme": "x"}\n}'}, NO),
    ("gemini", {}, {".gemini/.env": f"export GEMINI_API_KEY='{SECRET}'\n"}, YES),
    ("gemini", {}, {".env": "# GEMINI_API_KEY=x\nGEMINI_API_KEY=\n"}, NO),
    ("gemini", {}, {"./.env": "PORT=8000\n"}, UNKNOWN),
    ("copilot", {}, {".copilot/config.json": '// Managed.\n{"loggedInUsers": [{"login": "me"}]}'}, YES),
    ("copilot", {}, {".copilot/config.json": '// Managed.\n{"firstLaunchAt": "2026"}'}, UNKNOWN),
    ("copilot", {}, {".config/gh/hosts.yml": "github.com:\n  user: me\n"}, UNKNOWN),
    ("copilot", {"COPILOT_PROVIDER_BASE_URL": "http://127.0.0.1"}, {}, YES),
    ("qwen", {"OPENAI_API_KEY": SECRET}, {".qwen/settings.json": '{"security": {"auth": {"selectedType": "a"}}}'}, YES),
    ("qwen", {"OPENAI_API_KEY": SECRET}, {}, UNKNOWN),  # the real one fails: it needs a model and a server as well
    ("qwen", {"OPENAI_API_KEY": SECRET, "OPENAI_MODEL": "m", "OPENAI_BASE_URL": "http://127.0.0.1"}, {}, YES),
    ("qwen", {}, {".qwen/oauth_creds.json": OAUTH}, UNKNOWN),
    ("pi", {}, {".pi/agent/auth.json": f'{{"anthropic": {{"key": "{SECRET}"}}}}'}, YES),
    ("pi", {}, {".pi/agent/auth.json": "{}"}, NO),  # it writes an empty one when it starts
    ("pi", {}, {".pi/agent/models.json": f'{{"providers": {{"local": {{"apiKey": "{SECRET}"}}}}}}'}, YES),
    ("pi", {}, {".pi/agent/extensions/mine.ts": "export default 1"}, UNKNOWN),
    ("pi", {"GITHUB_TOKEN": SECRET}, {}, UNKNOWN),
    ("aider", {}, {".env": f"OPENROUTER_API_KEY={SECRET}\n"}, YES),
    ("aider", {}, {".aider/oauth-keys.env": f'OPENROUTER_API_KEY="{SECRET}"\n'}, YES),
    ("aider", {}, {".aider.conf.yml": f"openai-api-key: {SECRET}\n"}, UNKNOWN),
]


@pytest.mark.parametrize(("agent", "env", "files", "expected"), FILES)
def test_what_each_agent_leaves_behind(
    tmp_path: Path, agent: str, env: dict[str, str], files: dict[str, str], expected: SignInState
) -> None:
    found = look(tmp_path, agent, env, files)
    assert found.answer is expected, found
    assert SECRET not in repr(found)


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("aider", "OPENAI_API_KEY"),
        ("claude", "ANTHROPIC_API_KEY"),
        ("codex", "CODEX_API_KEY"),
        ("copilot", "GH_TOKEN"),
        ("gemini", "GEMINI_API_KEY"),
        ("opencode", "ANTHROPIC_API_KEY"),
        ("pi", "OPENROUTER_API_KEY"),
    ],
)
def test_a_variable_is_named_without_its_value(tmp_path: Path, agent: str, name: str) -> None:
    assert look(tmp_path, agent, {name: SECRET}, {}) == SignedIn(answer=YES, by=name)
    assert look(tmp_path, agent, {name: " "}, {}).answer is NOTHING[agent]


def test_folders_that_a_variable_moves(tmp_path: Path) -> None:
    files = {"moved/auth.json": f'{{"tokens": {OAUTH}}}'}
    found = look(tmp_path, "codex", {"CODEX_HOME": str(tmp_path / "moved")}, files)
    assert (found.answer, found.by) == (YES, "tokens in ~/moved/auth.json")
    assert look(tmp_path, "codex", {"CODEX_HOME": "~/moved"}, files).answer is YES


def test_what_cannot_be_read_is_never_a_no(tmp_path: Path) -> None:
    folder = tmp_path / ".codex"
    folder.mkdir()
    (folder / "auth.json").write_bytes(b"\xff\xfe")
    assert look(tmp_path, "codex", {}, {}).reason == "~/.codex/auth.json is not UTF-8"
    (folder / "auth.json").unlink()
    os.mkfifo(folder / "auth.json")
    assert look(tmp_path, "codex", {}, {}).answer is NO  # a pipe is not opened: it would hang
    assert look(tmp_path, "codex", {}, {}, says=None).reason == "'its status' gave no answer"
